"""``python -m skatter``: the command line."""

from skatter.cli import main

if __name__ == "__main__":
    main()

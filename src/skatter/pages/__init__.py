"""Pages: what the HTML files of this project share.

A page is one file that needs nothing but a browser. Style and script are inside it, and its content
security policy allows these and no request at all. It is light or dark as the reader wants, can
be read without the script, and prints. Whatever comes from data is text in it, never markup.
"""

from skatter.pages.colours import page_colour
from skatter.pages.escape import json_island
from skatter.pages.files import check_path, write_page
from skatter.pages.template import read_part, render_page, require_engine

__all__ = [
    "check_path",
    "json_island",
    "page_colour",
    "read_part",
    "render_page",
    "require_engine",
    "write_page",
]

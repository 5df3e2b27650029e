"""The site: existing pages, a gallery that runs, and an API reference from docstrings.

Build it with ``sphinx-build -W --keep-going -b html docs docs/_build/html``. Nothing is fetched,
neither while it is built nor while it is read: no index of other projects, no script or font from
elsewhere, and equations are MathML.
"""

from __future__ import annotations

import sys
from pathlib import Path

import skatter

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "skatter"
author = "The skatter developers"
copyright = "The skatter developers, BSD-3-Clause"
version = release = skatter.__version__

extensions = [
    "outside_pages",
    "api_lists",
    "plain_docstrings",
    "mathml",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_extensions", "auto_examples/**/*.ipynb"]
templates_path = ["_templates"]
# Indented blocks are formulas and tables of figures; code says what language it is in.
highlight_language = "none"
# Results are written by scripts, which choose their headings.
suppress_warnings = ["myst.header"]
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate_overwrite = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("figures", "matplotlib"),
    # A picture is shown by itself, so its repr is no news.
    "ignore_repr_types": r"matplotlib\.",
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # a page that would fetch its script from elsewhere
    "abort_on_example_error": False,
}

# Pages that need the room of the list of sections on the right.
WIDE = ["accuracy", "equations", "methods", "printed", "results"]
WIDE += [f"auto_examples/{path.stem}" for path in HERE.parent.glob("examples/plot_*.py")]

html_theme = "pydata_sphinx_theme"
html_title = "skatter"
html_static_path = ["_static"]
html_css_files = ["skatter.css"]
html_favicon = "_static/mark.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "skatter",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
    },
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **dict.fromkeys(WIDE, ()),
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "quickstart": []}

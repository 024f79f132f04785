"""How the pages are built: `sphinx-build -W -b html docs docs/_build/html`, without a network."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent

project = "clustertrust"
author = "The clustertrust developers"
copyright = f"2026, {author}"
# Read, not imported: the version is known before the package has to be.
release = re.search(
    r'__version__ = "(.+)"', (ROOT / "src/clustertrust/__init__.py").read_text()
)[1]
version = release

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]

# Headings down to the third level can be linked to as page.md#their-words, as on GitHub.
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "fieldlist"]

# The pages of the cookbook are notebooks: run again when their code has changed.
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
os.environ.pop("MPLBACKEND", None)  # with a backend set, kernels would show no pictures
# Embeddings of newsgroups cannot be downloaded; without them that page shows its code alone.
if not (Path(os.environ.get("CLUSTERTRUST_DATA", "")) / "20newsgroups_minilm.npz").exists():
    nb_execution_excludepatterns = ["cookbook/documents.md"]

autodoc_member_order = "bysource"
autodoc_typehints = (
    "none"  # docstrings say types in words: what an array holds, and its shape
)
default_role = "code"  # `name` in a docstring
smartquotes = False  # "auto" is to be typed as it stands
numpydoc_show_class_members = False  # autodoc lists them
numpydoc_class_members_toctree = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"clustertrust {release}"
html_static_path = ["_static"]
html_css_files = ["clustertrust.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7db8f7",
        "color-brand-content": "#7db8f7",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_selector = (
    "div.highlight-python pre, div.highlight-sh pre, div.highlight-console pre"
)
copybutton_prompt_text = "$ "


def _as_rst(app, what, name, obj, options, lines):
    """Docstrings are written to be read in a terminal: say in reST what they mean there."""
    text = "\n".join(lines)
    if what == "module":
        # A heading inside an entry would be a section of the page, and each page would have its own
        # "References".
        text = re.sub(
            r"^(References|Notes)\n-+$", r".. rubric:: \1\n", text, flags=re.MULTILINE
        )
    # numpydoc makes [1] unique among all docstrings, and so unreadable; there is one a page, and it
    # needs no link.
    text = re.sub(r"(?:\.\. )?\[R[0-9a-f]{12}-(\d+)\]_?", r"[\1]", text)
    # |a - b| is an absolute value, not a substitution.
    lines[:] = [
        line if ">>>" in line or "``" in line else line.replace("|", r"\|")
        for line in text.split("\n")
    ]


def setup(app):
    """Register what is above; after numpydoc, which comes first by its priority."""
    app.connect("autodoc-process-docstring", _as_rst, priority=900)

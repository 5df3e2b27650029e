"""Equations as MathML, which browsers draw by themselves: no script, no font, no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def setup(app):
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}


def visit_inline(self, node):
    """Draw an equation in a line of text."""
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(self, node):
    """Draw an equation of its own."""
    self.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode

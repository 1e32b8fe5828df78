"""Blocks as Markdown, with figures as links to figures/. Pure."""

import re

from . import blocks, texts

SPECIAL = re.compile(r"([\\`*_\[\]{}|~#])")
MARKS = {"seen": "**{}**", "warning": "> **{}**", "paper": "> {}", "note": "*{}*"}


def escape(text):
    """The text so that Markdown and HTML inside it see only text."""
    text = texts.clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", text)


def page(found):
    return "\n\n".join(_block(block) for block in found) + "\n"


def _block(block):
    if isinstance(block, blocks.Heading):
        return f"{'#' * block.level} {escape(block.text)}"
    if isinstance(block, blocks.Paragraph):
        return MARKS.get(block.kind, "{}").format(escape(block.text))
    if isinstance(block, blocks.Items):
        return "\n".join(f"- {escape(text)}" for text in block.texts)
    if isinstance(block, blocks.Key):
        return "\n".join(f"- **{escape(name)}**: {escape(text)}" if text else f"- **{escape(name)}**"
                         for _, name, text in block.entries)
    if isinstance(block, blocks.Table):
        return _table(block)
    if isinstance(block, blocks.Figure):
        return f"![{escape(block.alt)}](figures/{block.name}.svg)\n\n" + _details("The numbers of this figure",
                                                                                [block.table])
    return _details(block.summary, block.blocks)


def _details(summary, inner):
    inside = "\n\n".join(_block(block) for block in inner)
    return f"<details><summary>{escape(summary)}</summary>\n\n{inside}\n\n</details>"


def _table(block):
    def row(cells):
        texts = (cell if isinstance(cell, str) else "; ".join(cell) for cell in cells)
        return f"| {' | '.join(escape(text) for text in texts)} |"
    rule = "|" + "|".join("---:" if block.is_number(place) else "---" for place in range(len(block.header))) + "|"
    return "\n".join([row(block.header), rule, *map(row, block.rows)])

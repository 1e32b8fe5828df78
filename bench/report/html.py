"""Blocks as one HTML page that needs nothing else: no network, no script. Pure."""

import html
import os

from . import blocks, texts

# Whatever a results folder holds, the page cannot load or run anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SHORT = 24  # characters of a cell that is not broken into lines
STYLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "style.css")


def escape(text):
    return html.escape(texts.clean(text), quote=True)


def page(found, drawings, style):
    """The page. `drawings`: {figure name: (wide SVG text, narrow SVG text)}, `style`: CSS."""
    title = next((escape(block.text) for block in found if isinstance(block, blocks.Heading)), "")
    body = "\n".join(_anchored(found, drawings))
    return ("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            f"<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n"
            f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")


def _anchored(found, drawings):
    """The blocks' texts, with a list of the sections in front of the first."""
    titles = [escape(block.text) for block in found if _is_section(block)]
    links = (f"<a href=\"#section-{place}\">{title}</a>" for place, title in enumerate(titles, 1))
    nav = f"<nav aria-label=\"Sections\">{' '.join(links)}</nav>"
    place = 0
    for block in found:
        if _is_section(block):
            place += 1
            yield nav if place == 1 else ""
            yield f"<h2 id=\"section-{place}\">{titles[place - 1]}</h2>"
        else:
            yield _block(block, drawings)


def _is_section(block):
    return isinstance(block, blocks.Heading) and block.level == 2


def _block(block, drawings):
    writers = {blocks.Heading: _heading, blocks.Paragraph: _paragraph, blocks.Items: _items, blocks.Key: _key,
               blocks.Table: _table}
    if isinstance(block, blocks.Details):
        inside = "\n".join(_block(inner, drawings) for inner in block.blocks)
        return f"<details><summary>{escape(block.summary)}</summary>\n{inside}\n</details>"
    if isinstance(block, blocks.Figure):
        return _figure(block, drawings)
    return writers[type(block)](block)


def _heading(block):
    return f"<h{block.level}>{escape(block.text)}</h{block.level}>"


def _paragraph(block):
    return f"<p class=\"{block.kind}\">{escape(block.text)}</p>"


def _items(block):
    return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in block.texts) + "\n</ul>"


def _key(block):
    entries = (f"<dt><span class=\"chip\" style=\"background:{colour}\"></span>{escape(name)}</dt>"
               f"<dd>{escape(text)}</dd>" for colour, name, text in block.entries)
    return "<dl class=\"key\">\n" + "\n".join(entries) + "\n</dl>"


def _cell(tag, number, cell):
    lines = (cell,) if isinstance(cell, str) else cell
    kind = "number" if number else "short" if max(map(len, lines)) <= SHORT else "long"
    return f"<{tag} class=\"{kind}\">{'<br>'.join(escape(line) for line in lines)}</{tag}>"


def _table(block):
    def row(tag, cells):
        return "<tr>" + "".join(_cell(tag, block.is_number(place), cell) for place, cell in enumerate(cells)) + "</tr>"
    body = "\n".join(row("td", cells) for cells in block.rows)
    return (f"<div class=\"scroll\"><table>\n<thead>{row('th', block.header)}</thead>\n<tbody>\n{body}\n</tbody>\n"
            "</table></div>")


def _figure(block, drawings):
    wide, narrow = drawings[block.name]
    return (f"<figure id=\"{escape(block.name)}\">\n<div class=\"wide\">{wide}</div>\n"
            f"<div class=\"narrow\">{narrow}</div>\n</figure>\n"
            f"<details><summary>The numbers of this figure</summary>\n{_table(block.table)}\n</details>")

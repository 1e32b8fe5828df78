"""gnuplot's SVG made fit for a web page: it takes its colour of text and its font from the page, its ids are unlike
those of other figures, and it says what it shows. Pure."""

import re
import xml.etree.ElementTree as ElementTree

from .. import ReportError, texts

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
HREF = f"{{{XLINK}}}href"
# The ink of canvas.INK, in all forms in which gnuplot writes it.
INK = re.compile(r"^(black|#000000|rgb\(\s*0,\s*0,\s*0\))$")
BOLD_INK = re.compile(r"^rgb\(\s*0,\s*0,\s*1\)$")
# A file that is looked at alone has no page around it.
ALONE = ("svg { color: #1b1f24; background: #ffffff; font-family: system-ui, sans-serif }"
         "@media (prefers-color-scheme: dark) { svg { color: #e6e8ea; background: #14171a } }")
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def _tag(element):
    return element.tag.rpartition("}")[2]


def refine(text, name, description):
    """The SVG as an ElementTree element; `name` makes its ids its own."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ReportError(f"figure {name}: gnuplot made no SVG: {error}") from None
    for child in list(root):
        if _tag(child) in ("title", "desc"):
            root.remove(child)
    _without_idle(root)
    _with_own_ids(root, name)
    for element in root.iter():
        _with_page_colours(element)
    for attribute in ("width", "height"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-label", texts.clean(description))
    return root


def _without_idle(root):
    """Most groups of gnuplot are empty, and the texts of labels that are a mark alone; of its definitions we use the
    point marks alone."""
    again = True
    while again:
        again = False
        for parent in list(root.iter()):
            for child in list(parent):
                idle = (_tag(child) == "filter" or _tag(child) == "g" and not len(child)
                        or _tag(child) == "text" and not "".join(child.itertext()).strip())
                if idle:
                    parent.remove(child)
                    again = True
    for element in root.iter():
        for text in ("text", "tail"):
            if not (getattr(element, text) or "").strip():
                setattr(element, text, None)


def _with_own_ids(root, name):
    used = {element.get(HREF) for element in root.iter() if element.get(HREF)}
    for parent in list(root.iter()):
        for child in list(parent):
            if _tag(parent) == "defs" and f"#{child.get('id')}" not in used:
                parent.remove(child)
    for element in root.iter():
        if element.get("id"):
            element.set("id", f"{name}-{element.get('id')}")
        if element.get(HREF):
            element.set(HREF, f"#{name}-{element.get(HREF)[1:]}")
        if "clip-path" in element.attrib:
            element.set("clip-path", element.get("clip-path").replace("url(#", f"url(#{name}-"))


def _with_page_colours(element):
    if INK.match(element.get("color", "")):
        del element.attrib["color"]
    if BOLD_INK.match(element.get("fill", "")):
        element.set("fill", "currentColor")
        element.set("font-weight", "600")
    for attribute in ("fill", "stroke"):
        if INK.match(element.get(attribute, "")):
            element.set(attribute, "currentColor")
    element.attrib.pop("font-family", None)


def inline(root):
    """The text to be put into a web page."""
    return ElementTree.tostring(root, encoding="unicode")


def alone(root):
    """The bytes of a file of its own. (In a page a title would show wherever the pointer rests.)"""
    for tag, text in (("style", ALONE), ("title", root.get("aria-label"))):
        element = ElementTree.Element(f"{{{SVG}}}{tag}")
        element.text = text
        root.insert(0, element)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)

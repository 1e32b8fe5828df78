"""Texts of others, made fit for one line of any file."""


def clean(text):
    """The text with a blank for whatever is no printable character: control characters, which XML forbids, ends of
    lines, halves of characters."""
    return "".join(character if character.isprintable() else " " for character in text)

"""The files that tar, gzip and Ghostscript work on, made anew and always the same: a folder of texts like the paper's
(97 files, 2.1 MB) and a PostScript document of 103 pages."""

import os
import random

TEXTS, TEXT_BYTES = 97, 2_100_000
PAGES = 103
WORDS, LINES_PER_PAGE, STROKES_PER_PAGE = 4000, 56, 180
SEED = 1998


def vocabulary(dice):
    """Words of syllables, the first of which are the most frequent."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    return ["".join(dice.choices(syllables, k=dice.randint(1, 4))) for _ in range(WORDS)]


def line(dice, words):
    """About 70 characters. Small numbers are drawn more often, as words are of different frequency."""
    return " ".join(words[int(WORDS * dice.random() ** 3)] for _ in range(12))


def text(dice, words, size):
    lines, length = [], 0
    while length < size:
        lines.append(line(dice, words))
        length += len(lines[-1]) + 1
    return "\n".join(lines)[:size - 1] + "\n"


def page(dice, words, number):
    """A page of text and strokes."""
    shown = [f"72 {760 - 12 * place} moveto ({line(dice, words)}) show" for place in range(LINES_PER_PAGE)]
    drawn = [f"newpath {dice.randint(0, 595)} {dice.randint(0, 842)} moveto " + " ".join(
        str(dice.randint(0, 842)) for _ in range(6)) + " curveto stroke" for _ in range(STROKES_PER_PAGE)]
    return "\n".join([f"%%Page: {number} {number}", "/Times-Roman findfont 9 scalefont setfont", *shown, *drawn,
                      "showpage"])


def document(dice, words):
    pages = [page(dice, words, number) for number in range(1, PAGES + 1)]
    return "\n".join(["%!PS-Adobe-3.0", f"%%Pages: {PAGES}", *pages, "%%EOF", ""])


def make(folder):
    """Fills the folder, which exists, with text/ and pages.ps."""
    dice = random.Random(SEED)
    words = vocabulary(dice)
    os.makedirs(os.path.join(folder, "text"), exist_ok=True)
    for place in range(TEXTS):
        with open(os.path.join(folder, "text", f"{place:03}.txt"), "w", encoding="ascii") as file:
            file.write(text(dice, words, TEXT_BYTES // TEXTS))
    with open(os.path.join(folder, "pages.ps"), "w", encoding="ascii") as file:
        file.write(document(dice, words))

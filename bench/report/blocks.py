"""What a report is made of, for html.py and markdown.py to write down. Texts are plain; a cell of a table is a text or
a tuple of texts, one per line."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclasses.dataclass(frozen=True)
class Paragraph:
    """`kind`: text, lead, seen (what the data say), paper (what the paper says), warning or note."""

    text: str
    kind: str = "text"


@dataclasses.dataclass(frozen=True)
class Items:
    texts: tuple


@dataclasses.dataclass(frozen=True)
class Key:
    """The schedulers: (colour, name, explanation) each."""

    entries: tuple


@dataclasses.dataclass(frozen=True)
class Table:
    """The first `words` columns hold text, and the last `trailing`; those between hold numbers."""

    header: tuple
    rows: tuple
    words: int = 1
    trailing: int = 0

    def is_number(self, place):
        """Whether the column holds numbers."""
        return self.words <= place < len(self.header) - self.trailing


@dataclasses.dataclass(frozen=True)
class Details:
    summary: str
    blocks: tuple


@dataclasses.dataclass(frozen=True)
class Figure:
    """`name` is unique and fit for a file name; `shape` one of draw.shapes; `alt` says what is seen, for those who
    cannot see it; `table` has its numbers."""

    name: str
    shape: object
    alt: str
    table: Table

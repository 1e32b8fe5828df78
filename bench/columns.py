"""Tables for a terminal."""


def columns(rows):
    """The rows, the first of which are headings, as lines with aligned cells."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]

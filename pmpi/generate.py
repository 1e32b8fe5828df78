#!/usr/bin/env python3
"""Makes the library's entry points from mpi_functions.table.

usage: generate.py front    TABLE OUT.h      names of the wrapped functions, for the front
       generate.py jumps    TABLE OUT.S      the exported jumps, for the front
       generate.py narrow   TABLE OUT.c      stand-ins for large-count functions, for the front
       generate.py next     TABLE OUT.h      struct mpi_next, the real functions, for the variants
       generate.py wrappers TABLE OUT.c      the entry points, for the variants
"""

import sys

from generator import front, narrow, table, variant


def main():
    makers = {"front": front.names, "jumps": front.jumps, "narrow": narrow.stand_ins,
              "next": variant.next_header, "wrappers": variant.wrappers}
    if len(sys.argv) != 4 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    functions = table.read(sys.argv[2])
    text = "\n".join(makers[sys.argv[1]](functions)) + "\n"
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The fault campaign: see tests/faults/README.md."""

import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")]

from faultkit import cli  # noqa: E402

sys.exit(cli.main())

"""python3 -m report RESULTS_DIR"""

import sys

from closed_pipe import guarded

from . import cli

sys.exit(guarded(cli.main))

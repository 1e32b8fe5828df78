"""python3 -m report RESULTS_DIR"""

import sys

from guard import guarded

from . import cli

sys.exit(guarded(cli.main))

"""python3 -m report RESULTS_DIR"""

import sys

from . import cli

sys.exit(cli.main())

"""python -m collect: the same as run.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from collect import common, run  # noqa: E402

sys.exit(common.guarded(run.main))

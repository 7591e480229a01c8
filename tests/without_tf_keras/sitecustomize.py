"""On the PYTHONPATH of child processes: they too behave as if tf_keras were not installed."""

import sys

sys.modules["tf_keras"] = None

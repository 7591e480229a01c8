"""What the present interpreter has and offers."""

import os
import tempfile
from typing import Any, Dict, List

from .interpreters import present
from .processes import Command, Ended, side_by_side
from .runs import Run


def doctor() -> Dict[str, Any]:
    """What this interpreter has and offers, found out in a process of its own.

    Returns:
        The versions of Python, numpy, TensorFlow, its Keras and tf_keras (None where there is none), "apis" (reason why
        not, or None, by API), and "backend", what `detect_backend()` says there.
    """
    found: Dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        run = Run(present(), "", os.path.join(folder, "result"), os.path.join(folder, "log"))
        commands: List[Command] = [run.command("doctor")]

        def ended(number: int, end: Ended) -> None:
            found.update(run.row(end))

        side_by_side(commands, ended)
    return found

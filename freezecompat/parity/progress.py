"""What is told of the runs while they go on: one event for each start and each end."""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, TextIO
from contextlib import contextmanager


class Event(NamedTuple):
    """A run has started or ended; as text, a line.

    Attributes:
        number: of the run, from 1.
        total: how many runs there are.
        python: version of Python.
        tensorflow: version, None as long as it is not known.
        api: what it trains under.
        status: "started", "training" once the model is built and the spec fits, or how it ended.
        seconds: how long it ran.

    Example:
        >>> print(Event(3, 12, "3.7.16", "1.15.5", "tf1-graph", "ran", 4.16))
        [ 3/12] Python 3.7.16, TensorFlow 1.15.5, tf1-graph: ran (4.2 s)
    """

    number: int
    total: int
    python: str
    tensorflow: Optional[str]
    api: str
    status: str
    seconds: Optional[float]

    def __str__(self) -> str:
        took = "" if self.seconds is None else " ({:.1f} s)".format(self.seconds)
        return "{} {}: {}{}".format(self.place, self.name, self.status, took)

    @property
    def place(self) -> str:
        """[ 3/12]"""
        return "[{:>{}}/{}]".format(self.number, len(str(self.total)), self.total)

    @property
    def name(self) -> str:
        """Python 3.7.16, TensorFlow 1.15.5, tf1-graph"""
        versions = "Python {}".format(self.python)
        if self.tensorflow is not None:
            versions += ", TensorFlow {}".format(self.tensorflow)
        return "{}, {}".format(versions, self.api)


Listener = Callable[[Event], Any]


@contextmanager
def display(stream: TextIO, quiet: bool = False) -> Iterator[Optional[Listener]]:
    """Show events: live where `stream` is a terminal and rich is installed, else a line each.

    Args:
        stream: where.
        quiet: show nothing.
    """
    if quiet:
        yield None
        return
    live = _live(stream) if stream.isatty() else None
    if live is None:
        yield _Lines(lambda line: print(line, file=stream, flush=True))
        return
    with live:
        yield _Live(live)


class _Lines:
    """A line for each run that trains, and for each that has ended.

    None is shown before one run trains, since up to then all may be found wrong: then the error is the only line.
    """

    def __init__(self, show: Callable[[str], Any]) -> None:
        self._show = show
        self._held: Optional[List[str]] = []

    def __call__(self, event: Event) -> None:
        if event.status == "started":
            return
        if self._held is None:
            self._show(str(event))
            return
        self._held.append(str(event))
        if event.status not in ("broken", "unavailable"):
            for line in self._held:
                self._show(line)
            self._held = None


def _live(stream: TextIO) -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        return None
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=stream),
        transient=True,
    )


class _Live:
    """A line that moves for each run that is going on, above it a line that stays for each that has ended."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._tasks: Dict[int, Any] = {}
        self._lines = _Lines(lambda line: progress.console.print(line, markup=False, highlight=False, soft_wrap=True))

    def __call__(self, event: Event) -> None:
        text = "{} {}".format(event.place, event.name)
        if event.status == "started":
            self._tasks[event.number] = self._progress.add_task(text, total=None)
        elif event.status == "training":
            self._progress.update(self._tasks[event.number], description=text)
        else:
            self._progress.remove_task(self._tasks.pop(event.number))
            self._lines(event)

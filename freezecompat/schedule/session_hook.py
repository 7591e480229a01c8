"""What a MonitoredSession asks of a SessionRunHook: it does not ask for its class."""

from typing import Any


class SessionHook:
    """Tells `_check_graph`, `_at_session` and `_after_run` of a training in a TF1 graph."""

    def begin(self) -> None:
        """Called before the graph is finalized."""
        self._check_graph()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called for each session that is created or recovered, when its checkpoint is restored."""
        self._at_session(session)

    def before_run(self, run_context: Any) -> None:
        """Called before each run; nothing more is to be fetched: beside the train op global_step may be read too early."""

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Called after each run."""
        self._after_run(run_context.session)

    def end(self, session: Any) -> None:
        """Called at the end."""

    def _check_graph(self) -> None:
        raise NotImplementedError

    def _at_session(self, session: Any) -> None:
        raise NotImplementedError

    def _after_run(self, session: Any) -> None:
        raise NotImplementedError

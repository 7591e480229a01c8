"""The number of steps that are taken: the optimizer's own count where it has one, else ours."""

from typing import Any

from .account import Account


class Clock:
    """Reads how many steps are taken, for one account.

    The optimizer's count may lag behind the account's by an offset: a model that is compiled anew has one that begins at 0.
    """

    def __init__(self, frozen: Any, account: Account, from_here: bool) -> None:
        self._frozen = frozen
        self._account = account
        self._counter: Any = None
        self._saved_offset = account.offset
        self.stepped = from_here  # whether the account is what this process has seen

    def steps(self, passed: int, session: Any) -> int:
        """How many steps are taken, `passed` of them since the last time as far as the caller knows."""
        found = self._frozen.steps_taken(session)
        if found is None:
            return self._account.steps + passed
        counter, value = found
        if self.stepped:
            if counter is not self._counter:
                self._account.offset = self._account.steps + passed - value
        elif value <= passed:  # the optimizer was just made, and a checkpoint may or may not be restored into it
            self._account.offset = self._account.steps + passed - value
        else:
            self._account.offset = self._saved_offset
        self._counter = counter
        return value + self._account.offset

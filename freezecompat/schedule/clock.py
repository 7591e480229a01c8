"""The number of steps that are taken: the optimizer's own count where it has one, else ours."""

from typing import Any

from .account import Account


class Clock:
    """Reads how many steps are taken, for one account.

    A count that is new goes on where the account is: a model that is compiled anew has an optimizer that counts from 0.
    """

    def __init__(self, frozen: Any, account: Account, from_here: bool) -> None:
        self._frozen = frozen
        self._account = account
        self._counter: Any = None
        self.stepped = from_here  # whether this process has seen what the account says

    def steps(self, passed: int, session: Any) -> int:
        """How many steps are taken, `passed` of them since the last time as far as the caller knows."""
        found = self._frozen.steps_taken(session)
        if found is None:
            return self._account.steps + passed
        counter, value = found
        if counter is not self._counter:
            # A checkpoint may have brought the count; an optimizer that was just made counts the steps that passed.
            if self.stepped or value <= passed:
                self._account.offset = self._account.steps + passed - value
            self._counter = counter
        return value + self._account.offset

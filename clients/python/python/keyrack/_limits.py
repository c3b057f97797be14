"""Rate limits that all processes on one store share."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING

from ._keyrack import take_limit

if TYPE_CHECKING:
    from ._app import App


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether something may be done, and what is left. True if it may."""

    #: Whether it may be done. If not, nothing was taken.
    allowed: bool
    #: How much more may be taken at once.
    remaining: int
    #: Seconds until the same would be allowed; None if it is more than the limit.
    retry_after: float | None
    #: Seconds until everything may be taken again.
    reset_after: float

    def __bool__(self) -> bool:
        return self.allowed


class Limits:
    """The rate limits of a store."""

    def __init__(self, app: App) -> None:
        self._app = app

    def take(
        self,
        name: str,
        subject: str,
        *,
        max: int,
        period: float | datetime.timedelta,
        burst: int | None = None,
        amount: int = 1,
    ) -> Verdict:
        """Takes `amount` of a limit: `max` in each `period` (seconds) for this subject.

        With `burst`, what was taken comes back evenly, and at most `burst` can be taken at once.
        """
        seconds = period.total_seconds() if isinstance(period, datetime.timedelta) else period
        return Verdict(*take_limit(self._app.rack, name, subject, max, seconds, burst, amount))

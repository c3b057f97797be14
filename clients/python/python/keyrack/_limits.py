"""Rate limits that all processes on one store share."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from . import _bridge

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


class Rate(TypedDict):
    """A number of starts in some time."""

    max: int
    per_ms: int


class NamedLimit(TypedDict, total=False):
    """A limit that jobs name. What is not set is not limited."""

    #: The most jobs with this name that may run at once.
    concurrency: int | None
    #: How many jobs with this name may start in some time.
    rate: Rate | None


class Backoff(TypedDict, total=False):
    """How long jobs wait before they are tried again."""

    kind: Literal["fixed", "linear", "exponential"]
    delay_ms: float
    max_ms: float | None
    jitter: float | None


class QueueLimits(TypedDict, total=False):
    """What limits a queue in all workers, and what its jobs do that do not say so themselves.

    The words are those of HTTP, and times are in milliseconds. None is the same as left out.
    """

    #: The most jobs that may run at once.
    concurrency: int | None
    #: How many jobs may start in some time.
    rate: Rate | None
    #: The most jobs that may run at once for one tenant.
    tenant_concurrency: int | None
    #: The same for tenants who have a limit of their own, by name.
    tenants: dict[str, int]
    #: How many jobs of one tenant may start in some time; for some, by name, another rate.
    tenant_rate: Rate | None
    tenant_rates: dict[str, Rate]
    #: How many turns a tenant has for one of others, by name; 1 by default, 100 at most.
    tenant_weights: dict[str, int]
    #: Tenants of whom no more jobs start.
    paused_tenants: list[str]
    #: Limits that jobs name, by name. They count the jobs that name them, besides the limits above.
    named: dict[str, NamedLimit]
    #: How many completed and failed jobs are kept; 100,000 by default.
    completed_max: int | None
    failed_max: int | None
    #: How long failed jobs are kept; 7 days by default.
    failed_ttl_ms: int | None
    #: How often jobs are tried again; 5 by default.
    retries: int | None
    backoff: Backoff | None
    #: How long an attempt may take.
    timeout_ms: int | None
    #: The time within which 95 % of the jobs should start; 60,000 by default.
    wait_target_ms: int | None


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
        return _verdict(self._app.call("takeLimit", _asked(name, subject, max, period, burst, amount)))

    async def take_async(
        self,
        name: str,
        subject: str,
        *,
        max: int,
        period: float | datetime.timedelta,
        burst: int | None = None,
        amount: int = 1,
    ) -> Verdict:
        """The same for asyncio."""
        asked = _asked(name, subject, max, period, burst, amount)
        return _verdict(await _bridge.call(self._app, "takeLimit", asked))


def _asked(
    name: str,
    subject: str,
    max: int,
    period: float | datetime.timedelta,
    burst: int | None,
    amount: int,
) -> dict[str, Any]:
    seconds = period.total_seconds() if isinstance(period, datetime.timedelta) else period
    limit = {"name": name, "subject": subject, "max": max, "period": seconds * 1000}
    return {**limit, "burst": burst, "amount": amount}


def _verdict(told: dict[str, Any]) -> Verdict:
    after = told["retryAfter"]
    return Verdict(
        told["allowed"],
        told["remaining"],
        None if after is None else after / 1000,
        told["resetAfter"] / 1000,
    )

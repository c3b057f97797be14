"""Schedules: tasks that run by the calendar."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Any, TypedDict, Union

from ._errors import InvalidError
from ._options import Seconds

Moment = Union[datetime.datetime, str]


class Times(TypedDict, total=False):
    """When a schedule runs: one of `cron`, `every` and `at`."""

    #: A cron expression of five fields, or six with seconds in front. It needs a `zone`.
    cron: str
    #: The time zone, such as `Europe/Berlin`.
    zone: str
    #: The time between two runs: whole seconds, or a `timedelta`.
    every: Seconds
    #: The first run of `every`; otherwise one period after the definition.
    start: Moment
    #: The one time at which it runs.
    at: Moment
    #: Missed runs that are made up for: 0 skips them, 1 (default) makes one run of all.
    catch_up: int


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A schedule as it is stored."""

    name: str
    #: The queue that its jobs are put into; None for the hot queue.
    queue: str | None
    #: When it runs, in words.
    times: str
    next_run: datetime.datetime | None
    paused: bool
    #: All of it, in the words of HTTP.
    definition: dict[str, Any]

    @staticmethod
    def of(told: dict[str, Any]) -> Schedule:
        """Reads what the native module tells."""
        at = told["nextRunAt"]
        utc = datetime.timezone.utc
        return Schedule(
            name=told["name"],
            queue=told["queue"],
            times=told["times"],
            next_run=None if at is None else datetime.datetime.fromtimestamp(at / 1000, utc),
            paused=told["paused"],
            definition=told["definition"],
        )


#: The word of HTTP for each, and how its value is written there.
_WORDS = {"cron": "cron", "zone": "zone", "start": "from", "at": "at", "catch_up": "catch_up"}


def stored_times(times: Times) -> dict[str, Any]:
    """Times in the words of HTTP."""
    words: dict[str, Any] = {}
    for name, value in times.items():
        if name == "every":
            words["every"] = _period(value)
        elif name in _WORDS:
            words[_WORDS[name]] = value.isoformat() if isinstance(value, datetime.datetime) else value
        else:
            known = ", ".join(sorted([*_WORDS, "every"]))
            raise InvalidError(f'a schedule has no "{name}"; it has {known}')
    return words


def _period(every: Any) -> str:
    seconds = every.total_seconds() if isinstance(every, datetime.timedelta) else every
    if not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise InvalidError(f"every: {every!r}; give whole seconds, or a timedelta")
    return f"{int(seconds) if seconds == int(seconds) else seconds}s"

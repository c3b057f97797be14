"""How jobs are submitted."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict

from ._errors import InvalidError
from ._handle import Handle

Seconds = float | datetime.timedelta


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unique:
    """Which other submissions are for the same job, and for how long. Times are in seconds, or a `timedelta`.

    Equal are jobs with the same arguments, or the same `key`. Give at most one of `until`, `for_`,
    `debounce` and `throttle`.
    """

    #: What equal submissions have in common, if that is no key.
    by: Literal["args", "id"] | None = None
    #: A key that equal submissions have in common: 1 to 255 bytes.
    key: str | None = None
    #: A job stands for equal ones until it has started, or ended (default).
    until: Literal["started", "ended"] | None = None
    #: A job stands for equal ones for so long after its submission.
    for_: Seconds | None = None
    #: Run when nothing equal was submitted for so long, with the arguments of the last one.
    debounce: Seconds | None = None
    #: The longest that this delays a job; 10 times `debounce` by default.
    debounce_max: Seconds | None = None
    #: Run the first job, and drop equal ones for so long.
    throttle: Seconds | None = None
    #: Do not drop them: run one more at the end of that time, with the arguments of the last one.
    fold: bool = False

    def stored(self) -> dict[str, Any]:
        """The same in the words of a stored job."""
        times = {
            "for": self.for_,
            "debounce": self.debounce,
            "debounceMax": self.debounce_max,
            "throttle": self.throttle,
        }
        words: dict[str, Any] = {
            "by": self.by,
            "key": self.key,
            "until": self.until,
            "fold": self.fold or None,
        }
        words.update((name, None if time is None else _whole_ms(time)) for name, time in times.items())
        return {name: value for name, value in words.items() if value is not None}


class Options(TypedDict, total=False):
    """How a job is submitted and run. Times are in seconds, or a `timedelta`."""

    #: Wait so long before it may run.
    delay: Seconds
    #: 10 runs next, 0 (default) in order of submission, negative later.
    priority: float
    #: How often it is tried again after a failure; 5 by default.
    retries: int
    #: How long to wait before the next attempt; 30 s by default.
    retry_delay: Seconds
    #: Wait longer with each retry: once, twice, three times `retry_delay`.
    progressive: bool
    #: How the waits grow from retry to retry; each exponential one is twice the one before.
    backoff: Literal["fixed", "linear", "exponential"]
    #: The longest wait between retries.
    retry_delay_max: Seconds
    #: The share of each wait that is left to chance, from 0 to 1.
    retry_jitter: float
    #: How long an attempt may take; then it has failed.
    timeout: Seconds
    #: Within what time it has to start; then it ends as expired.
    start_within: Seconds
    #: How long the result is kept; 30 minutes by default.
    ttl: Seconds
    #: How long the job is kept if it fails; 7 days by default.
    failed_ttl: Seconds
    #: An id of one's own; a second job with it is refused.
    id: str
    #: Submitting again with the same key gives the same job.
    key: str
    #: Which other submissions are for the same job; `True` for those with the same arguments.
    unique: Unique | bool
    #: Words by which the job is found.
    tags: Iterable[str]
    #: Run it after these jobs have ended, in whatever way.
    after: Iterable[Handle[Any] | str]
    #: Run it after all jobs that have all of its tags have ended.
    after_tags: bool
    #: The job that submits it; they are canceled together.
    parent: Handle[Any] | str
    #: On whose behalf it runs: the tenants of a queue take turns.
    tenant: str
    #: The host whose workers hear of it first.
    host: str
    #: Limits of the queue that count the job, by name: `set_queue_limits(task, named={…})`.
    limits: Iterable[str]


def _milliseconds(time: Any) -> float:
    return float(time.total_seconds() if isinstance(time, datetime.timedelta) else time) * 1000


def _whole_ms(time: Any) -> int:
    return round(_milliseconds(time))


def _unique(unique: Any) -> dict[str, Any] | None:
    if isinstance(unique, bool):
        return {} if unique else None
    if isinstance(unique, Unique):
        return unique.stored()
    raise InvalidError(f"unique: {unique!r}; give keyrack.Unique(…), True or False")


def _id(job: Any) -> str:
    return str(job.id) if isinstance(job, Handle) else str(job)


#: The word of a stored job for each option, and how its value is written there.
_WORDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "delay": ("delay", _milliseconds),
    "priority": ("priority", float),
    "retries": ("retries", int),
    "retry_delay": ("retryDelay", _milliseconds),
    "progressive": ("progressiveDelay", bool),
    "backoff": ("backoff", str),
    "retry_delay_max": ("retryDelayMax", _milliseconds),
    "retry_jitter": ("retryJitter", float),
    "timeout": ("timeout", _whole_ms),
    "start_within": ("startWithin", _whole_ms),
    "ttl": ("ttl", _whole_ms),
    "failed_ttl": ("failedTtl", _whole_ms),
    "id": ("jid", str),
    "unique": ("unique", _unique),
    "tags": ("tags", list),
    "after": ("dependencies", lambda jobs: [_id(job) for job in jobs]),
    "after_tags": ("dependenciesOnTags", bool),
    "parent": ("parent", _id),
    "tenant": ("tenant", str),
    "host": ("preferredHostname", str),
    "limits": ("limits", list),
}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuses options that do not exist."""
    for name in options:
        if name != "key" and name not in _WORDS:
            known = ", ".join(sorted([*_WORDS, "key"]))
            raise InvalidError(f'there is no option "{name}"; there are {known}')


def stored_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options in the words of a stored job, without the key."""
    words = {}
    for name, value in options.items():
        if name != "key":
            word, write = _WORDS[name]
            words[word] = write(value)
    return words

"""Exceptions. All of them are `keyrack.Error`."""

from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """Why something could not be done."""

    #: What the caller can do about it: `invalid`, `not_found`, `conflict`, `denied`, `unavailable`,
    #: `fork`, `closed`, `timeout`, `failed`, `canceled` or `internal`.
    error_class: ClassVar[str] = "internal"

    #: Whether the same call may well succeed a little later.
    is_transient: bool = False


class InvalidError(Error, ValueError):
    """A value is invalid; the message says which, and what to give."""

    error_class = "invalid"


class NotFoundError(Error, LookupError):
    """There is no such job, or none any more."""

    error_class = "not_found"


class ConflictError(Error):
    """The job is in a state in which this cannot be done, its id is taken, or a folder is in use."""

    error_class = "conflict"


class DeniedError(Error):
    """The store refused the user, the password or the command."""

    error_class = "denied"


class UnavailableError(Error):
    """The store cannot be reached, or cannot do this now."""

    error_class = "unavailable"


class ForkError(Error, RuntimeError):
    """The store was opened before the process was forked; the child has to open it again."""

    error_class = "fork"


class ClosedError(Error, RuntimeError):
    """The store was closed."""

    error_class = "closed"


class WaitTimeout(Error, TimeoutError):
    """The job has not ended in time."""

    error_class = "timeout"


class JobError(Error):
    """A job that was waited for has no result."""

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(f'the job "{job_id}" {reason}')
        self.job_id = job_id
        self.reason = reason


class JobFailed(JobError):
    """The job failed for good; `reason` has the traceback of its last attempt."""

    error_class = "failed"


class JobCanceled(JobError):
    """The job was canceled."""

    error_class = "canceled"


class Retry(Exception):
    """Raised or returned by a handler: try the job again, after `in_` seconds or its own retry delay.

    It counts as one of the job's retries.
    """

    def __init__(self, in_: float | None = None, reason: str = "the handler asked for a retry") -> None:
        super().__init__(reason)
        self.in_ = in_
        self.reason = reason


class Snooze(Exception):
    """Raised or returned by a handler: the job cannot run now; run it again in `in_` seconds.

    It is no failure, and uses up no retry.
    """

    def __init__(self, in_: float) -> None:
        super().__init__(f"snoozed for {in_} s")
        self.in_ = in_


class Fatal(Exception):
    """Raised or returned by a handler: the job has failed, and trying it again would not help."""


class Cancel(Exception):
    """Raised or returned by a handler: cancel the job, with its children."""


_CLASSES: dict[str, type[Error]] = {
    kind.error_class: kind
    for kind in (
        InvalidError,
        NotFoundError,
        ConflictError,
        DeniedError,
        UnavailableError,
        ForkError,
        ClosedError,
    )
}


def error_of(error_class: str, message: str, is_transient: bool) -> Error:
    """The exception for an error of the native module."""
    error = _CLASSES.get(error_class, Error)(message)
    error.is_transient = is_transient
    return error

"""What jobs log."""

from __future__ import annotations

import dataclasses
import datetime
import logging
from typing import Any, Literal

from ._job import CURRENT

LogLevel = Literal["trace", "debug", "info", "warn", "error"]


@dataclasses.dataclass(frozen=True)
class LogLine:
    """A line of a job's log."""

    #: Its number: 0 for the first line of the job.
    n: int
    at: datetime.datetime
    level: LogLevel
    #: The attempt that wrote it.
    attempt: int
    text: str


class LogHandler(logging.Handler):
    """Writes what a handler logs to the log of its job: `logging.getLogger().addHandler(LogHandler())`.

    Records from outside of jobs are left to other handlers.
    """

    def emit(self, record: logging.LogRecord) -> None:
        job = CURRENT.get(None)
        if job is None:
            return
        try:
            job.log(_level(record.levelno), self.format(record))
        except Exception:
            self.handleError(record)


def _level(number: int) -> LogLevel:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    if number >= logging.INFO:
        return "info"
    return "debug" if number >= logging.DEBUG else "trace"


def log_line(told: dict[str, Any]) -> LogLine:
    """Reads a line of the native module."""
    at = datetime.datetime.fromtimestamp(told["at"] / 1000, datetime.timezone.utc)
    return LogLine(told["n"], at, told["level"], told["attempt"], told["text"])

"""Rollups of event values: sums, counts, trends and more, by hour, day and so on."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from . import _bridge
from ._errors import InvalidError

if TYPE_CHECKING:
    from ._app import App

Interval = Literal["seconds", "minutes", "hours", "days", "weeks", "months", "years"]

Calculation = Literal[
    "sum",
    "count",
    "average",
    "standard_deviation",
    "linear_regression",
    "min",
    "max",
    "median",
    "percentile_90",
    "percentile_95",
    "percentile_99",
    "distinct_count",
    "rate",
]

#: A number without loss; a float is the shortest decimal number that reads back the same.
Number = int | float | Decimal


@dataclasses.dataclass(frozen=True)
class RollupEvent:
    """A value of a key, and what is to be calculated from the values of that key.

    Two events of one key in the same second are one value, of which the last counts, unless the
    setting `duplicates` of the project says otherwise.
    """

    #: What is measured, such as revenue.
    dimension: str
    #: One thing of it, such as a shop.
    key: str
    value: Number
    #: How long one bucket is.
    interval: Interval | Iterable[Interval]
    calculation: Calculation | Iterable[Calculation]
    #: When it happened, with a time zone; now, by the clock of the store, unless given.
    at: datetime.datetime | None = None

    def stored(self) -> dict[str, Any]:
        """The same in the words of HTTP."""
        if self.at is not None and self.at.utcoffset() is None:
            raise InvalidError(f"at: {self.at} has no time zone; give one, such as datetime.timezone.utc")
        return {
            "dimension": self.dimension,
            "key": self.key,
            "value": str(self.value),
            "created_at": None if self.at is None else self.at.strftime("%Y-%m-%d %H:%M:%S %z"),
            "interval": _words(self.interval),
            "calculation": _words(self.calculation),
        }


@dataclasses.dataclass(frozen=True)
class Point:
    """One bucket of a series."""

    #: The time at which it begins.
    bucket: str
    #: Its result; None for a bucket without values.
    value: Decimal | None


def _words(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


class Rollups:
    """The rollups of one project of an account."""

    def __init__(self, app: App, account: str, project: str) -> None:
        self._app = app
        self._scope = {"account": account, "project": project}

    def record(
        self,
        dimension: str,
        key: str,
        value: Number,
        *,
        interval: Interval | Iterable[Interval],
        calculation: Calculation | Iterable[Calculation],
        at: datetime.datetime | None = None,
    ) -> None:
        """Takes in a value. When this returns, the results are those of all values, this one among them."""
        self.record_many([RollupEvent(dimension, key, value, interval, calculation, at)])

    def record_many(self, events: Iterable[RollupEvent]) -> None:
        """Takes in many values. If one is invalid, none is taken."""
        self._app.call("recordEvents", self._recorded(events))

    async def record_many_async(self, events: Iterable[RollupEvent]) -> None:
        """The same for asyncio."""
        await _bridge.call(self._app, "recordEvents", self._recorded(events))

    def result(
        self, dimension: str, key: str, calculation: Calculation, interval: Interval
    ) -> dict[str, Decimal]:
        """A result: the value of each bucket, oldest first, or of each statistic. Empty if there is none."""
        asked = self._asked(dimension, key, calculation, interval)
        return _numbers(self._app.call("readResult", asked))

    async def result_async(
        self, dimension: str, key: str, calculation: Calculation, interval: Interval
    ) -> dict[str, Decimal]:
        """The same for asyncio."""
        asked = self._asked(dimension, key, calculation, interval)
        return _numbers(await _bridge.call(self._app, "readResult", asked))

    def series(
        self,
        dimension: str,
        key: str,
        calculation: Calculation,
        interval: Interval,
        *,
        points: int = 100,
    ) -> list[Point]:
        """The last buckets of a result in order, those without values among them."""
        asked = {**self._asked(dimension, key, calculation, interval), "points": points}
        return [_point(told) for told in self._app.call("readSeries", asked)]

    def _recorded(self, events: Iterable[RollupEvent]) -> dict[str, Any]:
        return {**self._scope, "events": [event.stored() for event in events]}

    def _asked(self, dimension: str, key: str, calculation: str, interval: str) -> dict[str, Any]:
        asked = {"dimension": dimension, "key": key, "calculation": calculation, "interval": interval}
        return {**self._scope, **asked}


def _numbers(told: dict[str, str]) -> dict[str, Decimal]:
    return {name: Decimal(value) for name, value in told.items()}


def _point(told: dict[str, Any]) -> Point:
    value = told["value"]
    return Point(told["bucket"], None if value is None else Decimal(value))

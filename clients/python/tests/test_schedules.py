"""Tasks that run by the calendar, on every store."""

from __future__ import annotations

import datetime
import queue
import threading
from typing import Any

import pytest

import keyrack
from keyrack.testing import Clock

from conftest import until


def test_a_worker_runs_schedules_without_a_server(app: keyrack.App) -> None:
    runs: queue.SimpleQueue[None] = queue.SimpleQueue()

    @app.task
    def tick() -> None:
        runs.put(None)

    tick.schedule("tick", every=1)
    with app.worker():
        for _ in range(2):
            runs.get(timeout=20)


def test_arguments_of_a_schedule_are_given_by_name(app: keyrack.App) -> None:
    seen: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @app.task
    def greet(name: str, day: datetime.date, copies: int = 1) -> None:
        seen.put((name, day, copies))

    @app.task
    def count(numbers: dict[str, int]) -> None:
        seen.put(numbers)

    @app.task
    async def weekly(*, kind: str = "short") -> None:
        seen.put(kind)

    daily: keyrack.Times = {"cron": "0 6 * * *", "zone": "Europe/Berlin"}
    greet.schedule("greet", {"name": "Ada", "day": datetime.date(2026, 1, 31)}, **daily)
    count.schedule("count", {"a": 1}, **daily)
    weekly.schedule("weekly", {"kind": "long"}, every=datetime.timedelta(days=7))
    expected = {
        "greet": ("Ada", datetime.date(2026, 1, 31), 1),
        "count": {"a": 1},
        "weekly": "long",
    }
    with app.worker():
        for name, value in expected.items():
            app.run_schedule(name)
            assert seen.get(timeout=20) == value
        # What is no object, or one among others, is given by place as ever.
        greet.submit("Bob", datetime.date(2026, 2, 1)).wait(20)
        count.submit({"b": 2}).wait(20)
    assert [seen.get(), seen.get()] == [("Bob", datetime.date(2026, 2, 1), 1), {"b": 2}]


def test_schedules_are_listed_changed_paused_and_deleted(app: keyrack.App) -> None:
    @app.task(queue="mail/send")
    def send(to: str) -> None: ...

    def only() -> keyrack.Schedule:
        [schedule] = app.schedules()
        return schedule

    at = datetime.datetime(2099, 12, 24, 18, tzinfo=datetime.timezone.utc)
    send.schedule("mail", {"to": "ada"}, at=at)
    assert (only().name, only().queue, only().next_run) == ("mail", "mail/send", at)
    assert only().definition["kwargs"] == {"to": "ada"}
    send.schedule("mail", {"to": "bob"}, cron="30 6 * * MON", zone="UTC", catch_up=0)
    assert (only().times, only().definition["catch_up"]) == ("cron 30 6 * * MON in UTC", 0)
    app.pause_schedule("mail")
    assert only().paused
    app.resume_schedule("mail")
    assert not only().paused
    app.unschedule("mail")
    assert app.schedules() == []
    with pytest.raises(keyrack.NotFoundError, match='no recurring job "mail"'):
        app.unschedule("mail")


def test_a_schedule_that_could_not_run_is_refused(app: keyrack.App) -> None:
    @app.task
    def send(to: str) -> None: ...

    def refused(arguments: Any, **times: Any) -> str:
        with pytest.raises(keyrack.InvalidError) as caught:
            send.schedule("mail", arguments, **times)
        return str(caught.value)

    assert "missing a required argument: 'to'" in refused({}, every=60)
    assert "unexpected keyword argument 'too'" in refused({"to": "ada", "too": 1}, every=60)
    assert "are an object, not ['ada']" in refused(["ada"], every=60)
    ada = {"to": "ada"}
    assert '"every" is "0.5s"' in refused(ada, every=0.5)
    assert "every: '1h'" in refused(ada, every="1h")
    assert '"zone" is missing' in refused(ada, cron="* * * * *")
    assert "and only one" in refused(ada)
    assert 'has no "minutes"' in refused(ada, minutes=[1])
    assert app.schedules() == []


def test_a_clock_that_a_test_moves_runs_schedules(
    keyrack_app: keyrack.App, keyrack_clock: Clock
) -> None:
    runs: list[int] = []
    lock = threading.Lock()

    @keyrack_app.task
    def hourly() -> None:
        with lock:
            runs.append(1)

    with keyrack_app.worker():
        hourly.schedule("hourly", every=datetime.timedelta(hours=1))
        for n in (1, 2):
            keyrack_clock.advance(3600)
            until(lambda: len(runs) == n)

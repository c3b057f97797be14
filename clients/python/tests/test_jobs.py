"""Submitting and running jobs, on every store."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import until

import keyrack


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


@dataclasses.dataclass
class Picture:
    name: str
    size: Size
    color: Color = Color.RED
    taken: datetime.datetime | None = None
    others: list[Size] = dataclasses.field(default_factory=list)


def test_a_job_runs_and_its_result_comes_back(app: keyrack.App) -> None:
    @app.task(queue="mail", retries=5)
    def send(to: str, copies: int = 1) -> int:
        return len(to) * copies

    waiting = send.submit("a@b.c")
    assert waiting.status() == "queued"
    with app.worker():
        assert waiting.wait(20) == 5
        assert send.submit("a@b.c", copies=3).wait(20) == 15
        assert send.submit("a@b.c", 2).wait(20) == 10
    info = waiting.info()
    assert (info.status, info.queue, info.data, info.attempts) == ("completed", "mail", ["a@b.c"], 1)
    assert send("ab") == 2, "a call of the task is a call of the function"


@pytest.mark.parametrize(
    "value",
    [
        "grüße 🎉 \u0000 \u2028 \"quoted\" \\",
        2**53 + 1,
        -(2**64) - 1,
        10**40,
        0.1,
        1e300,
        None,
        True,
        [],
        {},
        {"z": [1, {"ä": None}], "a": ""},
    ],
    ids=repr,
)
def test_values_come_back_as_they_were(keyrack_app: keyrack.App, value: Any) -> None:
    @keyrack_app.task(retries=0)
    def echo(value: Any) -> Any:
        return value

    with keyrack_app.worker():
        assert echo.submit(value).wait(20) == value


def test_numbers_and_texts_survive_every_store(app: keyrack.App) -> None:
    @app.task(retries=0)
    def echo(value: Any) -> Any:
        return value

    values = [2**53 + 1, 2**64 + 1, "naïve 日本 🎉", {"b": 1, "a": [2**60 + 1]}]
    with app.worker():
        assert [handle.wait(20) for handle in echo.submit_many(values)] == values
        # An empty list among others is what Lua would make an object of.
        assert echo.submit([[], {}]).wait(20) == [[], {}]


def test_annotations_make_arguments_and_results(keyrack_app: keyrack.App) -> None:
    seen: list[Any] = []

    @keyrack_app.task(retries=0)
    def grow(picture: Picture, by: tuple[int, ...], *, id: uuid.UUID, note: str = "") -> Picture:
        seen.append((by, id, note))
        return dataclasses.replace(picture, size=Size(picture.size.width * by[0]))

    picture = Picture("cat", Size(3), taken=datetime.datetime(2026, 1, 2, 3), others=[Size(1, 2)])
    number = uuid.uuid4()
    with keyrack_app.worker():
        grown = grow.submit(picture, (2, 3), id=number).wait(20)
    assert grown == dataclasses.replace(picture, size=Size(6))
    assert seen == [((2, 3), number, "")]


def test_pydantic_models_are_arguments_and_results(keyrack_app: keyrack.App) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        number: int
        when: datetime.date

    def ship(order: Order) -> Order:
        assert isinstance(order.when, datetime.date)
        return order.model_copy(update={"number": order.number + 1})

    ship.__annotations__ = {"order": Order, "return": Order}
    task = keyrack_app.task(ship)
    with keyrack_app.worker():
        shipped = task.submit(Order(number=1, when=datetime.date(2026, 1, 2))).wait(20)
    assert shipped == Order(number=2, when=datetime.date(2026, 1, 2))


def test_coroutines_run_side_by_side(app: keyrack.App) -> None:
    meeting = asyncio.Barrier(50) if hasattr(asyncio, "Barrier") else None

    @app.task(retries=0)
    async def meet(n: int) -> int:
        if meeting is not None:
            await meeting.wait()
        assert keyrack.current_job().queue == "meet"
        return n

    with app.worker():
        handles = meet.submit_many(range(50))
        assert [handle.wait(20) for handle in handles] == list(range(50))


def test_plain_functions_run_side_by_side(app: keyrack.App) -> None:
    meeting = threading.Barrier(16)

    @app.task(retries=0)
    def meet(n: int) -> int:
        meeting.wait(20)
        return n

    with app.worker():
        handles = meet.submit_many(range(32))
        assert [handle.wait(30) for handle in handles] == list(range(32))


def test_a_slow_job_among_quick_ones_holds_up_no_other(keyrack_app: keyrack.App) -> None:
    may_end = threading.Event()
    in_slow = threading.Event()

    @keyrack_app.task(retries=0, concurrency=4)
    def mixed(n: int) -> int:
        if n == 500:
            in_slow.set()
            may_end.wait(30)
        return n

    with keyrack_app.worker():
        handles = mixed.submit_many(range(1000))
        assert in_slow.wait(30)
        others = [handle.wait(30) for n, handle in enumerate(handles) if n != 500]
        assert len(others) == 999
        assert handles[500].status() in ("running", "queued")
        may_end.set()
        assert handles[500].wait(20) == 500


def test_many_jobs_are_each_run_once(app: keyrack.App) -> None:
    seen: list[int] = []

    @app.task(retries=0)
    def note(n: int) -> None:
        seen.append(n)

    handles = note.submit_many((n,) for n in range(2000))
    assert len({handle.id for handle in handles}) == 2000
    with app.worker():
        for handle in handles:
            assert handle.wait(30) is None
    assert sorted(seen) == list(range(2000))


def test_an_error_has_its_traceback_as_reason(app: keyrack.App) -> None:
    @app.task(retries=0)
    def break_plain() -> None:
        raise ValueError("grüße")

    @app.task(retries=0)
    async def break_async() -> None:
        raise ValueError("grüße")

    with app.worker():
        for task in (break_plain, break_async):
            with pytest.raises(keyrack.JobFailed) as failed:
                task.submit().wait(20)
            reason = failed.value.reason
            assert "ValueError: grüße\n\nTraceback" in reason
            assert "test_jobs.py" in reason and "_work.py" not in reason


def test_a_failed_job_is_tried_again(app: keyrack.App) -> None:
    attempts: list[int] = []

    @app.task(retries=3, retry_delay=0)
    def flaky() -> str:
        attempts.append(keyrack.current_job().attempt)
        if len(attempts) < 3:
            raise OSError("not yet")
        return "at last"

    with app.worker():
        assert flaky.submit().wait(20) == "at last"
    assert attempts == [1, 2, 3]


def test_retry_fatal_and_cancel_say_how_to_go_on(app: keyrack.App) -> None:
    seen: list[str] = []

    @app.task(retries=5, retry_delay=60)
    def choose(word: str) -> str:
        seen.append(word)
        if word == "fatal":
            raise keyrack.Fatal("hopeless")
        if word == "cancel":
            raise keyrack.Cancel
        if seen.count("retry") < 2:
            raise keyrack.Retry(in_=0)
        return "done"

    with app.worker():
        assert choose.submit("retry").wait(20) == "done"
        with pytest.raises(keyrack.JobFailed, match="hopeless"):
            choose.submit("fatal").wait(20)
        with pytest.raises(keyrack.JobCanceled):
            choose.submit("cancel").wait(20)
    assert seen.count("fatal") == 1 and seen.count("cancel") == 1


def test_cancel_reaches_a_plain_handler(app: keyrack.App) -> None:
    reasons: list[str | None] = []
    begun, ended = threading.Event(), threading.Event()

    @app.task(retries=0)
    def wait_for_stop() -> None:
        job = keyrack.current_job()
        begun.set()
        until(lambda: job.canceled)
        reasons.append(job.stop_reason)
        ended.set()
        job.check()

    with app.worker():
        handle = wait_for_stop.submit()
        assert begun.wait(20)
        assert handle.cancel() == [handle.id]
        assert ended.wait(20)
        with pytest.raises(keyrack.JobCanceled):
            handle.wait(20)
    assert reasons == ["canceled"]


def test_cancel_reaches_a_coroutine(app: keyrack.App) -> None:
    begun, canceled = threading.Event(), threading.Event()

    @app.task(retries=0)
    async def wait_for_stop() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            canceled.set()
            raise

    with app.worker():
        handle = wait_for_stop.submit()
        assert begun.wait(20)
        handle.cancel()
        assert canceled.wait(20)
        assert handle.status() == "canceled"


def test_options_reach_the_job(app: keyrack.App) -> None:
    order: list[str] = []

    @app.task(queue="steps/run", concurrency=1, tags=["nightly"])
    def run(name: str) -> None:
        order.append(name)

    first = run.submit("first")
    high = run.options(priority=10).submit("high")
    after = run.options(after=[high.id, first], priority=10).submit("after")
    later = run.options(delay=datetime.timedelta(hours=1), tenant="acme", tags=["x"]).submit("later")
    assert first.info().tags == ["nightly"]
    assert (later.info().tags, later.info().tenant, later.status()) == (["x"], "acme", "new")
    with app.worker():
        for handle in (first, high, after):
            handle.wait(20)
    assert order == ["high", "first", "after"]
    child = run.options(parent=later).submit("child")
    assert later.cancel() == [child.id, later.id]
    later.retry()
    assert later.status() != "canceled"


def test_a_key_submits_one_job(app: keyrack.App) -> None:
    @app.task
    def charge(amount: int) -> None: ...

    keyed = charge.options(key="order 7")
    assert keyed.submit(5).id == keyed.submit(5).id != charge.submit(5).id
    with pytest.raises(keyrack.ConflictError, match="idempotency key"):
        keyed.submit(6)
    with pytest.raises(keyrack.ConflictError):
        charge.options(id="mine").submit(1)
        charge.options(id="mine").submit(1)


def test_duplicates_are_left_out_if_asked_for(app: keyrack.App) -> None:
    seen: list[str] = []

    @app.task(skip_duplicates=True, retries=0)
    def index(page: str) -> int:
        seen.append(page)
        return len(page)

    with app.worker():
        assert index.submit("home").wait(20) == 4
        second = index.submit("home")
        assert second.wait(20) == 4
        assert second.status() == "duplicate"
    assert seen == ["home"]


def test_a_job_tells_how_far_it_is(app: keyrack.App) -> None:
    @app.task(retries=0)
    def count() -> int:
        for percent in (0, 50, 100):
            keyrack.current_job().report(percent)
        return 100

    with app.worker():
        assert count.submit().wait(20) == 100


def test_an_attempt_may_take_so_long(keyrack_app: keyrack.App) -> None:
    reasons: list[str | None] = []
    ended = threading.Event()

    @keyrack_app.task(retries=0, time_limit=0.2)
    def forever() -> None:
        job = keyrack.current_job()
        until(lambda: job.canceled)
        reasons.append(job.stop_reason)
        ended.set()

    with keyrack_app.worker():
        with pytest.raises(keyrack.JobFailed, match="timed out after 200 ms"):
            forever.submit().wait(20)
        assert ended.wait(20)
    assert reasons == ["timeout"]


def test_what_runs_when_a_worker_stops_is_finished(app: keyrack.App) -> None:
    begun = threading.Event()
    may_end = threading.Event()

    @app.task(retries=0)
    def last(n: int) -> int:
        begun.set()
        may_end.wait(20)
        return n

    worker = app.worker(concurrency=1).start()
    handles = last.submit_many([1, 2])
    assert begun.wait(20)
    threading.Timer(0.1, may_end.set).start()
    worker.stop()
    assert handles[0].wait(20) == 1
    assert handles[1].status() == "queued", "it waits for another worker"


@pytest.fixture
def no_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    monkeypatch.delenv("KEYRACK_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    yield


def test_errors_say_what_to_do(no_store: None) -> None:
    with keyrack.open("memory") as app:
        with pytest.raises(keyrack.NotFoundError):
            app.job("none").status()
        with pytest.raises(keyrack.WaitTimeout) as late:
            app.task(lambda: None).submit().wait(0)
        assert isinstance(late.value, TimeoutError)
        with pytest.raises(keyrack.InvalidError, match="no option"):
            app.task(queue="x", bogus=1)  # type: ignore[call-overload]

        @app.task
        def one(value: object) -> None: ...

        with pytest.raises(keyrack.InvalidError, match="queue \"one\" has a task"):
            app.task(queue="one")(print)
        for value in (object(), float("nan"), "\ud800"):
            with pytest.raises(keyrack.InvalidError, match="JSON"):
                one.submit(value)
        with pytest.raises(TypeError):
            one.submit()  # type: ignore[call-arg]
        with pytest.raises(keyrack.InvalidError, match="priority"):
            one.options(priority=99).submit(1)
        with pytest.raises(keyrack.InvalidError, match="1048576"):
            one.submit("x" * 2**21)
        with pytest.raises(keyrack.InvalidError, match="no task has the queue"):
            app.worker(["nobody"])
    with pytest.raises(keyrack.UnavailableError) as down:
        keyrack.open("redis://127.0.0.1:1")
    assert down.value.is_transient and isinstance(down.value, keyrack.Error)
    with pytest.raises(keyrack.InvalidError):
        keyrack.open("mysql://host")


def test_a_folder_keeps_jobs_and_has_one_owner(tmp_path: Any) -> None:
    def note(n: int) -> int:
        return n + 1

    with keyrack.open(tmp_path / "data") as app:
        handle = app.task(note).submit(1)
        with pytest.raises(keyrack.ConflictError):
            keyrack.open(tmp_path / "data")
    with keyrack.open(tmp_path / "data") as app:
        app.task(note)
        with app.worker():
            assert app.job(handle.id).wait(20) == 2


def test_asyncio_submits_and_waits_without_threads(app: keyrack.App) -> None:
    @app.task(retries=0)
    def double(n: int) -> int:
        return 2 * n

    async def main() -> list[int]:
        handles = await asyncio.gather(*(double.submit_async(n) for n in range(200)))
        handles += await double.submit_many_async(range(200, 300))
        waits = asyncio.gather(*(handle.wait_async(20) for handle in handles))
        with pytest.raises(keyrack.NotFoundError):
            await app.job("none").status_async()
        return await waits

    before = threading.active_count()
    with app.worker():
        assert asyncio.run(main()) == [2 * n for n in range(300)]
    until(lambda: threading.active_count() <= before)

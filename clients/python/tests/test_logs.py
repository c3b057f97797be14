"""What jobs log, how far they are, the limits that they name, and queues that share a worker's places."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from conftest import until

import keyrack


def test_a_job_logs_and_others_read_it(app: keyrack.App) -> None:
    @app.task(retries=1, retry_delay=0)
    def work(n: int) -> int:
        job = keyrack.current_job()
        job.log(f"attempt {job.attempt}", "debug")
        if job.attempt == 1:
            raise RuntimeError("no")
        job.log("grüße\n日本")
        return n

    with app.worker():
        handle = work.submit(1)
        handle.wait(20)
    told = [(line.n, line.attempt, line.level, line.text) for line in handle.logs()]
    assert told == [(0, 1, "debug", "attempt 1"), (1, 2, "debug", "attempt 2"), (2, 2, "info", "grüße\n日本")]
    assert asyncio.run(handle.logs_async()) == handle.logs() == list(handle.follow_logs())
    with pytest.raises(keyrack.NotFoundError):
        app.job(handle.id[:-1] + "_").logs()


def test_logs_are_followed_while_a_job_runs(app: keyrack.App) -> None:
    go_on = threading.Event()

    @app.task(retries=0)
    def work() -> None:
        keyrack.current_job().log("first")
        assert go_on.wait(20)
        keyrack.current_job().log("last", "warn")

    async def follow(handle: keyrack.Handle[None]) -> list[str]:
        seen = []
        async for line in handle.follow_logs_async():
            seen.append(line.text)
            go_on.set()
        return seen

    with app.worker():
        assert asyncio.run(follow(work.submit())) == ["first", "last"]


def test_logging_reaches_the_log_of_the_job(app: keyrack.App) -> None:
    logger = logging.getLogger("keyrack.test")
    logger.setLevel(logging.DEBUG)
    handler = keyrack.LogHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger.addHandler(handler)

    @app.task(retries=0)
    async def coroutine(name: str) -> None:
        await asyncio.sleep(0)
        logger.warning("hello %s", name)

    @app.task(retries=0)
    def plain() -> None:
        logger.debug("low")
        try:
            raise ValueError("bad")
        except ValueError:
            logger.exception("high")

    try:
        logger.info("outside of jobs, this goes nowhere")
        with app.worker():
            handles = [coroutine.submit("ada"), coroutine.submit("bob")]
            of_plain = plain.submit()
            app.gather([*handles, of_plain], timeout=20)
    finally:
        logger.removeHandler(handler)
    told = [[(line.level, line.text) for line in handle.logs()] for handle in handles]
    assert told == [[("warn", "keyrack.test: hello ada")], [("warn", "keyrack.test: hello bob")]]
    debug, error = of_plain.logs()
    assert (debug.level, error.level) == ("debug", "error") and "ValueError: bad" in error.text


def test_a_level_that_there_is_not_is_refused(app: keyrack.App) -> None:
    @app.task(retries=0)
    def work() -> None:
        keyrack.current_job().log("text", "loud")  # type: ignore[arg-type]

    with app.worker(), pytest.raises(keyrack.JobFailed, match='level: "loud" is no level'):
        work.submit().wait(20)


def test_progress_is_stored_with_its_message(app: keyrack.App) -> None:
    @app.task(retries=0)
    def work() -> None:
        keyrack.current_job().report(10, "reading")
        keyrack.current_job().report({"percent": 50}, "writing")

    with app.events(work) as events, app.worker():
        handle = work.submit()
        heard = [events.get(timeout=20) for _ in range(4)]
        handle.wait(20)
    assert [(event.progress, event.message) for event in heard if event.type == "progress"] == [
        (10, "reading"),
        ({"percent": 50}, "writing"),
    ]
    progress = handle.info().progress
    assert progress is not None
    assert (progress.value, progress.message, progress.attempt) == ({"percent": 50}, "writing", 1)
    assert work.submit().info().progress is None


def test_jobs_that_name_a_limit_share_it(app: keyrack.App) -> None:
    running: set[str] = set()
    most = [0]
    lock = threading.Lock()
    seen_other = threading.Event()

    @app.task(retries=0)
    def work(kind: str) -> None:
        with lock:
            running.add(keyrack.current_job().id)
            of_kind = len(running)
            most[0] = max(most[0], of_kind)
        if kind == "other":
            seen_other.set()
        else:
            # One of the others runs beside, and no second one of these.
            assert seen_other.wait(20)
        with lock:
            running.discard(keyrack.current_job().id)

    app.set_queue_limits(work, named={"gpu": {"concurrency": 1}})
    assert app.queue_limits(work)["named"]["gpu"]["concurrency"] == 1
    limited = work.options(limits=["gpu"])
    handles = [limited.submit("gpu") for _ in range(5)] + [work.submit("other")]
    with app.worker():
        app.gather(handles, timeout=20)
    assert most[0] <= 2
    assert handles[0].info().status == "completed"
    with pytest.raises(keyrack.InvalidError, match="limits"):
        work.options(limits=[str(n) for n in range(11)]).submit("gpu")


def test_tasks_share_the_places_of_a_worker_by_weight(app: keyrack.App) -> None:
    order: list[str] = []

    @app.task(queue="heavy", weight=3, retries=0)
    def heavy() -> None:
        order.append("heavy")

    @app.task(queue="light", retries=0)
    def light() -> None:
        order.append("light")

    handles = [task.submit() for task in (heavy, light) for _ in range(20)]
    with app.worker(shared_concurrency=1):
        app.gather(handles, timeout=20)
    assert 11 <= order[:20].count("heavy") <= 17, order
    for wrong in (0, 101):
        bad = keyrack.App("memory")
        bad.task(weight=wrong)(print)
        with pytest.raises(keyrack.InvalidError, match="weight"):
            bad.worker().start()
    with pytest.raises(keyrack.InvalidError, match="shared_concurrency"):
        app.worker(shared_concurrency=0)


def test_a_batch_of_lines_does_not_get_lost_at_the_end_of_a_job(app: keyrack.App) -> None:
    @app.task(retries=0)
    def work() -> None:
        for n in range(1200):
            keyrack.current_job().log(str(n))

    with app.worker():
        handle = work.submit()
        handle.wait(20)
        until(lambda: len(handle.logs()) == 1000)
    assert [line.text for line in handle.logs()] == [str(n) for n in range(200, 1200)]

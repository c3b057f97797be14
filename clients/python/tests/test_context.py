"""The context that a worker opens for its handlers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest
from conftest import until

import keyrack
from keyrack.testing import inline


class Database:
    """Something that has to be opened and closed."""

    def __init__(self) -> None:
        self.is_open = True
        self.rows: list[str] = []


OPENED: list[Database] = []


@pytest.fixture(autouse=True)
def none_opened() -> None:
    OPENED.clear()


def connect() -> Iterator[Database]:
    database = Database()
    OPENED.append(database)
    yield database
    database.is_open = False


async def connect_async() -> AsyncIterator[Database]:
    await asyncio.sleep(0)
    database = Database()
    OPENED.append(database)
    yield database
    await asyncio.sleep(0)
    database.is_open = False


def test_a_worker_opens_a_context_and_closes_it_after_the_last_job(app: keyrack.App) -> None:
    app.context = contextlib.contextmanager(connect)

    @app.task(context=True, retries=0)
    def insert(database: Database, row: str, copies: int = 1) -> int:
        assert database.is_open
        database.rows.extend([row] * copies)
        return len(database.rows)

    @app.task(retries=0)
    def other(n: int) -> int:
        return n

    @app.task(context=True, retries=0)
    async def count(database: Database) -> bool:
        await asyncio.sleep(0)
        return database is OPENED[0]

    handles = [insert.submit("a"), insert.submit("b", copies=2)]
    assert handles[1].info().data == ["b", 2], "the context is no argument of a job"
    assert OPENED == []
    with app.worker():
        assert sorted(app.gather(handles, timeout=20))[-1] == 3
        assert other.submit(7).wait(20) == 7
        assert count.submit().wait(20) is True
        assert [database.is_open for database in OPENED] == [True]
    assert [database.is_open for database in OPENED] == [False]
    with app.worker():
        insert.submit("c").wait(20)
    assert [len(database.rows) for database in OPENED] == [3, 1], "each worker has its own"


def test_coroutines_have_a_context_of_their_event_loop(app: keyrack.App) -> None:
    app.context = connect_async

    @app.task(context=True, retries=0)
    async def insert(database: Database, row: str) -> int:
        assert database.is_open
        database.rows.append(row)
        return len(database.rows)

    with app.worker():
        app.gather(insert.submit_many(["a", "b"]), timeout=20)
    assert [(database.is_open, len(database.rows)) for database in OPENED] == [(False, 2)]

    @app.task(context=True)
    def plain(database: Database) -> None: ...

    with pytest.raises(keyrack.InvalidError, match="plain function"):
        app.worker().start()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_context_that_cannot_be_opened_stops_the_worker_before_a_job_runs(
    app: keyrack.App, is_async: bool
) -> None:
    async def fail() -> Database:
        raise RuntimeError("no database")

    def fail_at_once() -> Database:
        raise RuntimeError("no database")

    app.context = fail if is_async else fail_at_once

    @app.task(context=True)
    async def insert(database: Database) -> None: ...

    handle = insert.submit()
    with pytest.raises(RuntimeError, match="no database"):
        app.worker().start()
    assert (handle.status(), handle.info().attempts) == ("queued", 0)


def test_what_a_factory_returns_is_the_context() -> None:
    app = keyrack.App("memory", context=Database)

    @app.task(context=True)
    def insert(database: Database, row: str) -> str:
        return type(database).__name__ + row

    with inline(app):
        assert insert.submit("!").wait(20) == "Database!"
    assert insert.__wrapped__(Database(), "?") == "Database?"
    with pytest.raises(keyrack.InvalidError, match="outside of one"):
        insert("x")


def test_a_context_that_cannot_be_closed_is_told() -> None:
    @contextlib.asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        yield
        raise RuntimeError("did not close")

    app = keyrack.App("memory", context=broken)

    @app.task(context=True)
    async def work(nothing: None) -> None: ...

    with app, pytest.raises(RuntimeError, match="did not close"):
        with app.worker():
            work.submit().wait(20)


def test_a_task_that_cannot_have_a_context_is_refused() -> None:
    app = keyrack.App("memory")
    with pytest.raises(keyrack.InvalidError, match="the App has none"):
        app.task(context=True)(print)
    app.context = connect
    with pytest.raises(keyrack.InvalidError, match="first parameter"):
        app.task(context=True)(lambda: None)
    with pytest.raises(keyrack.InvalidError, match="processes"):
        app.task(context=True, processes=2)(until)  # type: ignore[call-overload]

"""What type checkers know of the package. It is checked by mypy and pyright, and never run."""

from __future__ import annotations

import datetime
from decimal import Decimal

from typing_extensions import assert_type

import keyrack

app = keyrack.App("memory", context=dict)


@app.task
def plain(name: str, copies: int = 1) -> list[str]:
    return [name] * copies


@app.task(queue="later", retries=3, limits=["gpu"], weight=2)
async def coroutine(day: datetime.date) -> int:
    return day.day


@app.task(context=True)
def with_context(database: dict[str, str], name: str) -> bytes:
    return name.encode()


@app.task(context=True)
async def coroutine_with_context(database: dict[str, str], name: str) -> float:
    return 0.5


@app.batch(queue="rows")
def batched(rows: list[int]) -> list[str]:
    return [str(row) for row in rows]


assert_type(plain.submit("a", copies=2), keyrack.Handle[list[str]])
assert_type(plain.submit("a").wait(), list[str])
assert_type(plain("a"), list[str])
assert_type(plain.options(delay=1).submit("a").wait(1), list[str])
assert_type(coroutine.submit(datetime.date.today()).wait(), int)
assert_type(with_context.submit("ada").wait(), bytes)
assert_type(coroutine_with_context.submit(name="ada").wait(), float)
assert_type(batched.submit(1).wait(), str)
assert_type(plain.submit_many(["a"]), list[keyrack.Handle[list[str]]])

plain.submit(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
plain.submit("a", 1, 2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
with_context.submit({}, "ada")  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportCallIssue]
plain.options(dealy=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
app.task(weight="2")  # type: ignore[call-overload]  # pyright: ignore

handle = plain.submit("a")
info = handle.info()
assert_type(info.progress, "keyrack.Progress | None")
assert_type(handle.logs(), list[keyrack.LogLine])
assert_type(handle.logs()[0].level, keyrack.LogLevel)
assert_type(handle.outcome, keyrack.SubmitOutcome)

shop = app.rollups("acme", "web")
assert_type(shop.result("revenue", "shop", "sum", "hours"), dict[str, Decimal])
shop.result("revenue", "shop", "summ", "hours")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
assert_type(shop.series("revenue", "shop", "sum", "hours")[0].value, "Decimal | None")
assert_type(app.entitlements.has("ada", "pro"), bool)
assert_type(app.entitlements.lookup("ada", "pro").expires_at, "datetime.datetime | None")
assert_type(app.recommendations.list("ada").items, list[keyrack.Recommendation])
with app.files.upload("photos", "a.jpg") as upload:
    assert_type(upload, keyrack.Upload)


async def asynchronous() -> None:
    assert_type(await plain.submit_async("a"), keyrack.Handle[list[str]])
    assert_type(await (await coroutine.submit_async(datetime.date.today())).wait_async(), int)
    async for line in handle.follow_logs_async():
        assert_type(line, keyrack.LogLine)

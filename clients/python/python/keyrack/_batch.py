"""Handlers that take many jobs in one call."""

from __future__ import annotations

import asyncio
import inspect
import typing
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from ._errors import Fatal, InvalidError


def batched(
    function: Callable[[list[Any]], Any], size: int, wait: float
) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    """A coroutine function of one item that calls `function` with many."""
    if size < 1:
        raise InvalidError(f"size: {size}; give at least 1")
    # Each worker has an event loop of its own.
    of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Batches] = (
        weakref.WeakKeyDictionary()
    )

    async def one(item: Any) -> Any:
        loop = asyncio.get_running_loop()
        batches = of_loops.get(loop)
        if batches is None:
            batches = of_loops[loop] = _Batches(function, size, wait)
        return await batches.add(item)

    one.__name__ = function.__name__
    one.__qualname__ = function.__qualname__
    one.__doc__ = function.__doc__
    one.__module__ = function.__module__
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # An annotation that cannot be resolved says nothing.
        hints = {}
    kinds = [typing.get_args(kind) for name, kind in hints.items() if name != "return"]
    one.__annotations__ = {"item": kinds[0][0]} if kinds and kinds[0] else {}
    return one


class _Batches:
    """The items that wait for the next call."""

    def __init__(self, function: Callable[[list[Any]], Any], size: int, wait: float) -> None:
        self._function, self._size, self._wait = function, size, wait
        self._is_async = inspect.iscoroutinefunction(function)
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._calls: set[asyncio.Task[None]] = set()

    async def add(self, item: Any) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((item, future))
        if len(self._waiting) >= self._size:
            self._start()
        elif self._timer is None:
            self._timer = loop.call_later(self._wait, self._start)
        return await future

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Whoever was canceled meanwhile is not run.
        batch = [each for each in self._waiting if not each[1].done()]
        self._waiting = []
        if batch:
            call = asyncio.ensure_future(self._call(batch))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _call(self, batch: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        items = [item for item, _ in batch]
        try:
            if self._is_async:
                results = await self._function(items)
            else:
                results = await asyncio.to_thread(self._function, items)
            results = list(results)
            if len(results) != len(items):
                raise Fatal(f"the handler got {len(items)} items and returned {len(results)} results")
        except BaseException as error:
            results = [error] * len(items)
        for (_, future), result in zip(batch, results):
            if future.done():
                continue
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)

"""Calls of the native module that asyncio waits for."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

from ._keyrack import Port

_BRIDGES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bridge] = weakref.WeakKeyDictionary()


class _Bridge:
    """All calls of one event loop that are under way. Thousands need no thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._port = Port()
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._last = 0
        loop.add_reader(self._port.fileno(), self._take)

    def start(self, call: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        self._last += 1
        number = self._last
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        call(*args, reply_to=(self._port, number))
        self._futures[number] = future
        return future

    def _take(self) -> None:
        for number, value, error in self._port.take():
            future = self._futures.pop(number)
            if future.done():
                continue  # Nobody waits for it any more.
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Makes a call of the native module without blocking the loop."""
    loop = asyncio.get_running_loop()
    bridge = _BRIDGES.get(loop)
    if bridge is None:
        bridge = _BRIDGES[loop] = _Bridge(loop)
    return await bridge.start(function, *args)

"""Calls of the native module, and how asyncio waits for them."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any

from ._codec import decode, encode
from ._keyrack import Port, Rack

if TYPE_CHECKING:
    from ._app import App

_BRIDGES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bridge] = weakref.WeakKeyDictionary()


class _Bridge:
    """All calls of one event loop that are under way. Thousands need no thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._port = Port()
        self._futures: dict[int, asyncio.Future[str]] = {}
        self._last = 0
        loop.add_reader(self._port.fileno(), self._take)

    async def call(self, rack: Rack, name: str, text: str) -> str:
        self._last += 1
        number = self._last
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._futures[number] = future
        try:
            rack.call(name, text, reply_to=(self._port, number))
            return await future
        except asyncio.CancelledError:
            # Nobody waits for it any more, so the store need not either.
            self._port.abandon(number)
            raise
        finally:
            self._futures.pop(number, None)

    def _take(self) -> None:
        for number, value, error in self._port.take():
            future = self._futures.get(number)
            if future is None or future.done():
                continue
            if error is not None:
                future.set_exception(error)
            elif value is not None:
                future.set_result(value)


async def call_text(app: App, name: str, text: str) -> str:
    """Makes a call with its arguments as JSON, without blocking the loop."""
    loop = asyncio.get_running_loop()
    bridge = _BRIDGES.get(loop)
    if bridge is None:
        bridge = _BRIDGES[loop] = _Bridge(loop)
    return await bridge.call(app.rack, name, text)


async def call(app: App, name: str, arguments: dict[str, Any]) -> Any:
    """Makes a call without blocking the loop."""
    return decode(await call_text(app, name, encode(arguments)))

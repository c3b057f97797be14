"""Fixtures for pytest: each test has a store in memory of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ._app import App

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T", bound=Callable[..., object])

    def _fixture(function: T) -> T: ...

else:
    try:
        from pytest import fixture as _fixture
    except ImportError:  # `memory` is of use without pytest.

        def _fixture(function):
            return function


@contextlib.contextmanager
def memory(app: App) -> Iterator[App]:
    """Has an app use a new store in memory until the block ends."""
    store, rack = app._store, app._rack
    app._store, app._rack = "memory", None
    try:
        yield app
    finally:
        app.close()
        app._store, app._rack = store, rack


@_fixture
def keyrack_memory() -> Iterator[Callable[[App], App]]:
    """Gives an app a new store in memory until the test ends: `app = keyrack_memory(tasks.app)`."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(memory(app))


@_fixture
def keyrack_app() -> Iterator[App]:
    """An app without tasks, with a store in memory."""
    with App("memory") as app:
        yield app

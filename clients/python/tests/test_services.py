"""Progress bars, rate limits and the fixtures, on every store."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable

import pytest

import keyrack
from keyrack.testing import memory


def run(app: keyrack.App, n: int, name: str = "import") -> str:
    """Goes through a loop, and returns what a terminal would show."""
    screen = io.StringIO()
    for _ in keyrack.track(range(n), name, app=app, file=screen, show=True):
        time.sleep(0.01)  # The work.
    return screen.getvalue()


def test_a_loop_is_shown_with_its_time(app: keyrack.App) -> None:
    shown = run(app, 20)
    assert "import [..............................] 0/20 00:00\x1b[K" in shown
    assert "[##############################] 20/20" in shown


def test_the_next_run_knows_how_long_it_takes(app: keyrack.App) -> None:
    started_at = time.monotonic()
    for _ in range(3):
        run(app, 100)
    # A sleep takes longer on a busy machine, so what it took is what to expect.
    expected = (time.monotonic() - started_at) / 300 * 200
    first_line = run(app, 200).split("\r")[1]
    shown = re.search(r"(\d+):(\d+) left", first_line)
    assert shown, first_line
    left = 60 * int(shown[1]) + int(shown[2])
    assert 0.6 * expected - 1 <= left <= 1.7 * expected + 1, (first_line, expected)


def test_a_loop_that_breaks_teaches_nothing(app: keyrack.App) -> None:
    with pytest.raises(ValueError):
        for n in keyrack.track(range(100), "broken", app=app):
            if n == 50:
                raise ValueError
    assert "left" not in run(app, 3, "broken").split("\r")[1]


def test_a_loop_goes_on_without_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    down = keyrack.App("redis://127.0.0.1:1")
    assert list(keyrack.track(iter("abc"), "letters", app=down)) == ["a", "b", "c"]


def test_a_limit_is_shared_by_all_who_take_from_it(app: keyrack.App) -> None:
    def take(subject: str = "10.0.0.1", amount: int = 1) -> keyrack.Verdict:
        return app.limits.take("search", subject, max=3, period=60, amount=amount)

    assert [take().remaining for _ in range(3)] == [2, 1, 0]
    refused = take()
    assert not refused and refused.retry_after is not None and 0 < refused.retry_after <= 60
    assert take("10.0.0.2")
    assert take("10.0.0.3", amount=4).retry_after is None, "more than the limit"
    steady = app.limits.take("burst", "me", max=1, period=60, burst=2)
    assert steady and steady.remaining == 1
    with pytest.raises(keyrack.InvalidError):
        app.limits.take("search", "me", max=0, period=60)


def test_a_test_gets_a_store_of_its_own(
    redis_url: str, keyrack_memory: Callable[[keyrack.App], keyrack.App]
) -> None:
    app = keyrack.App(redis_url)

    @app.task(retries=0)
    def double(n: int) -> int:
        return 2 * n

    with memory(app):
        assert app.url == "embedded:memory"
        with app.worker():
            assert double.submit(2).wait(20) == 4
    assert app.url.startswith("redis://")
    keyrack_memory(app)
    assert app.url == "embedded:memory"

"""The drop-in for tqdm."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
import types

import pytest

import keyrack
from keyrack import tqdm, trange


def lines(screen: io.StringIO) -> list[str]:
    return [line.strip() for line in screen.getvalue().replace("\x1b[A", "").split("\r") if line.strip()]


def test_a_loop_is_shown_as_tqdm_does(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    assert list(tqdm([1, 2, 3], "load", file=screen, app=keyrack_app, ncols=60)) == [1, 2, 3]
    shown = lines(screen)
    assert shown[0].startswith("load:   0%|") and "| 0/3 [00:00<?, ?it/s]" in shown[0]
    assert shown[-1].startswith("load: 100%|█") and "| 3/3 [00:00<00:00, " in shown[-1]
    assert len(shown[-1]) <= 60 and screen.getvalue().endswith("\n")


def test_a_bar_is_moved_on_by_hand(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    with tqdm(total=10, file=screen, app=keyrack_app, unit="B", name="copy", ascii=True) as bar:
        bar.set_description("copy")
        bar.update(4)
        bar.update()
        bar.set_postfix(loss=0.12345, epoch=2)
        assert (bar.n, len(bar), bool(bar)) == (5, 10, True)
        tqdm.write("a line", file=screen)
        bar.update(5)
    shown = lines(screen)
    assert any(line.startswith("copy:  50%|#####") and "epoch=2, loss=0.123" in line for line in shown)
    assert "a line\n" in screen.getvalue()
    assert "10/10" in shown[-1] and "B/s" in shown[-1]


def test_what_is_disabled_shows_nothing() -> None:
    screen = io.StringIO()
    bar = tqdm(range(3), file=screen, disable=True)
    assert list(bar) == [0, 1, 2]
    bar.update()
    bar.set_postfix(a=1)
    bar.close()
    assert list(tqdm(range(3), file=screen, disable=None)) == [0, 1, 2]
    assert screen.getvalue() == ""


def test_a_bar_that_is_not_left_goes_away(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    list(tqdm(range(3), file=screen, leave=False, app=keyrack_app))
    assert not screen.getvalue().endswith("\n")
    assert screen.getvalue().split("\r")[-1].strip() == ""


def test_bars_inside_of_others_stand_below(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    for _ in tqdm(range(2), "outer", file=screen, app=keyrack_app):
        for _ in tqdm(range(2), "inner", file=screen, leave=False, app=keyrack_app):
            pass
    assert "\n\rinner" in screen.getvalue()


def test_an_unknown_number_counts(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    assert list(tqdm(iter("ab"), file=screen, app=keyrack_app)) == ["a", "b"]
    assert lines(screen)[-1].startswith("2it [00:00, ")
    assert list(trange(2, file=screen, app=keyrack_app)) == [0, 1]


def test_the_next_run_knows_its_time_at_the_start(keyrack_app: keyrack.App) -> None:
    def run(n: int) -> list[str]:
        screen = io.StringIO()
        for _ in tqdm(range(n), "import", file=screen, app=keyrack_app):
            time.sleep(0.01)  # The work.
        return lines(screen)

    started_at = time.monotonic()
    for _ in range(3):
        run(60)
    # A sleep takes longer on a busy machine, so what it took is what to expect.
    expected = (time.monotonic() - started_at) / 180 * 300
    first = run(300)[0]
    shown = re.search(r"0/300 \[00:00<(\d+):(\d+),", first)
    assert shown, first
    left = 60 * int(shown[1]) + int(shown[2])
    assert 0.6 * expected - 1 <= left <= 1.7 * expected + 1, (first, expected)


def test_a_loop_that_breaks_ends_its_bar(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    with pytest.raises(ValueError):
        for n in tqdm(range(10), file=screen, app=keyrack_app):
            if n == 5:
                raise ValueError
    assert "5/10" in lines(screen)[-1]


def test_a_bar_draws_while_its_loop_runs(keyrack_app: keyrack.App) -> None:
    screen = io.StringIO()
    start = time.monotonic()
    for _ in tqdm(iter(int, 1), "busy", file=screen, app=keyrack_app):
        if time.monotonic() - start > 0.6:
            break
    assert 3 <= len(lines(screen)) <= 12


COST = """
import io, sys, time
import tqdm as theirs
import keyrack

app = keyrack.open("memory")

def cost(make, n=1_000_000):
    start = time.perf_counter()
    for _ in make(n):
        pass
    return time.perf_counter() - start

def ours(n): return keyrack.tqdm(range(n), "cost", app=app, file=io.StringIO())
def other(n): return theirs.tqdm(range(n), "cost", file=io.StringIO())
def bare(n): return range(n)

cost(ours, 1000), cost(other, 1000)
best = [min(cost(each) for _ in range(3)) for each in (ours, other, bare)]
print((best[0] - best[2]) / (best[1] - best[2]))
"""


class Cell:
    """The output of a notebook's cell: what stands at each of its places, one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[list[str]] = []

        class Handle:
            def __init__(self, place: list[str]) -> None:
                self.place = place

            def update(self, html: str) -> None:
                self.place.append(html)

        def display(html: str, display_id: bool) -> Handle:
            assert display_id
            self.shown.append([html])
            return Handle(self.shown[-1])

        # The class by which programs know a notebook from a terminal.
        shell = type("ZMQInteractiveShell", (), {})()
        ipython, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        vars(ipython).update(get_ipython=lambda: shell, display=module)
        vars(module).update(HTML=str, display=display)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", module)


def test_in_a_notebook_a_bar_is_drawn_in_its_cell(
    keyrack_app: keyrack.App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = Cell(monkeypatch)
    assert list(tqdm(range(4), "load <b>", app=keyrack_app)) == [0, 1, 2, 3]
    (place,) = cell.shown
    assert place[0].startswith('<progress value="0" max="4"></progress> <code>load &lt;b&gt;')
    assert place[-1].startswith('<progress value="4" max="4"></progress>') and "4/4" in place[-1]
    list(tqdm(range(2), leave=False, app=keyrack_app))
    assert cell.shown[1][-1] == "", "one that is not left goes away"
    bar = tqdm(app=keyrack_app)
    bar.update()
    bar.close()
    assert "max" not in cell.shown[2][-1], "of an unknown number"
    assert capsys.readouterr() == ("", "")
    screen = io.StringIO()
    list(tqdm(range(2), file=screen, app=keyrack_app))
    assert len(cell.shown) == 3 and "2/2" in screen.getvalue(), "a file is a file in a notebook too"


def test_an_iteration_costs_at_most_twice_that_of_tqdm() -> None:
    pytest.importorskip("tqdm")
    ended = subprocess.run([sys.executable, "-c", COST], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) < 2, ended.stdout

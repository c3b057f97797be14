"""The worker command: `python -m keyrack.worker MODULE:APP`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from ._app import App
from ._errors import Error

#: How often files are looked at in development.
_LOOK_S = 0.25
#: Folders that have no code of one's own.
_SKIPPED = {"__pycache__", "node_modules", "site-packages"}


def _load(target: str) -> App:
    module_name, _, name = target.partition(":")
    sys.path.insert(0, os.getcwd())
    app = getattr(importlib.import_module(module_name), name or "app")
    if not isinstance(app, App):
        raise SystemExit(f"{target} is {type(app).__name__}, not a keyrack.App")
    return app


def main(arguments: list[str] | None = None) -> None:
    """Runs the jobs of an app until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m keyrack.worker", description=main.__doc__)
    parser.add_argument("app", metavar="MODULE:APP", help="where the App is, such as mail.tasks:app")
    parser.add_argument("--queue", action="append", metavar="NAME", help="a queue; all tasks unless given")
    parser.add_argument("--concurrency", type=int, metavar="N", help="jobs of each queue at once")
    parser.add_argument("--drain", type=float, default=15, metavar="S", help="seconds to finish [15]")
    parser.add_argument("--lease", type=float, metavar="S", help="silence that loses its jobs [10]")
    parser.add_argument("--reload", action="store_true", help="start again when a .py file here changes")
    chosen = parser.parse_args(arguments)
    if chosen.reload:
        given = sys.argv[1:] if arguments is None else arguments
        return _reload([argument for argument in given if argument != "--reload"])
    try:
        app = _load(chosen.app)
        worker = app.worker(
            chosen.queue, concurrency=chosen.concurrency, drain=chosen.drain, lease=chosen.lease
        )
        names = ", ".join(chosen.queue or app.tasks)
        print(f"keyrack worker on {app.url}: {names}", file=sys.stderr, flush=True)
        worker.run()
    except Error as error:
        raise SystemExit(f"keyrack: {error}") from error


def _reload(arguments: list[str]) -> None:
    """Runs the worker in a process of its own, and another one after each change of the code."""
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopping.append(number))
    command = [sys.executable, "-m", "keyrack.worker", *arguments]
    seen = dict(_files())
    child = subprocess.Popen(command, start_new_session=True)
    while not stopping:
        time.sleep(_LOOK_S)
        now = dict(_files())
        if now != seen:
            seen = now
            print("keyrack worker: a file has changed; starting again", file=sys.stderr, flush=True)
            child.terminate()
            child.wait()
            child = subprocess.Popen(command, start_new_session=True)
    child.terminate()
    code = child.wait()
    # One that did not listen for signals yet has no jobs.
    raise SystemExit(0 if code == -signal.SIGTERM else code)


def _files() -> Iterator[tuple[str, int]]:
    """The Python files below this folder, and when each was changed."""
    for folder, folders, files in os.walk("."):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        # An environment may have any name.
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                try:
                    yield path, os.stat(path).st_mtime_ns
                except OSError:  # It was deleted in this moment.
                    pass


if __name__ == "__main__":
    main()

"""The worker command: `python -m keyrack.worker MODULE:APP`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from ._app import App
from ._errors import Error


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
    chosen = parser.parse_args(arguments)
    try:
        app = _load(chosen.app)
        worker = app.worker(chosen.queue, concurrency=chosen.concurrency, drain=chosen.drain)
        names = ", ".join(chosen.queue or app.tasks)
        print(f"keyrack worker on {app.url}: {names}", file=sys.stderr, flush=True)
        worker.run()
    except Error as error:
        raise SystemExit(f"keyrack: {error}") from error


if __name__ == "__main__":
    main()

"""Tasks for worker processes of the tests. The store is that of `KEYRACK_STORE`."""

import os
import pathlib
import time

import keyrack

app = keyrack.App()


@app.task(queue="slow")
def slow(folder: str, n: int, seconds: float) -> str:
    """Leaves a file that says who ran it, and takes its time."""
    path = pathlib.Path(folder) / f"{n}-{os.getpid()}"
    path.touch()
    time.sleep(seconds)
    return str(os.getpid())


@app.task(queue="spin", retries=0)
def spin(seconds: float) -> int:
    """Computes without a pause: short calls into C, each of which holds the GIL."""
    end, turns = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        7**200_000 % 1_000_003
        turns += 1
    return turns

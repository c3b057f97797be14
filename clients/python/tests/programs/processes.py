"""Tasks that run in processes of their own."""

import os
import pathlib
import time

import keyrack

app = keyrack.App()


@app.task(processes=2, retries=0)
def compute(n: int) -> tuple[int, int]:
    """Squares, and tells who did."""
    if n < 0:
        raise ValueError("minus")
    return n * n, os.getpid()


@app.task(processes=1, retries=0)
def die() -> None:
    """Takes its process along."""
    os._exit(3)


@app.task(processes=1, retries=0)
def forever(path: str) -> None:
    """Computes until somebody kills it."""
    pathlib.Path(path).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)

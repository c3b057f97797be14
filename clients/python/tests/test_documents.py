"""Every Python block of the guide and of the README runs, in its order."""

from __future__ import annotations

import pathlib
import re
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_the_blocks_of_a_page_run(page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv("KEYRACK_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    # A module, as a program of the reader would be: classes look their names up there.
    guide = types.ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", guide)
    for block in blocks:
        exec(compile(block, page, "exec", dont_inherit=True), guide.__dict__)

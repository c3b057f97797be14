"""Files: uploads that leave no file in a bucket that nobody knows."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any

from . import _bridge

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._app import App


@dataclasses.dataclass(frozen=True)
class WaitingFile:
    """A file that is deleted by the sweep of `keyrack serve` unless it is taken out before."""

    bucket: str
    key: str
    #: When it is to be deleted.
    at: datetime.datetime
    #: Who entered it, for people.
    hint: str | None


class Upload:
    """An upload under way, for `with` and `async with`.

    The file is entered for deletion before its first byte is stored, and taken out when the block has
    ended without an exception. Whatever goes wrong in between, a crash of the process too, leaves the
    entry, and the sweep deletes the file. As long as the block runs, the entry is moved on by Rust threads.
    """

    def __init__(self, app: App, bucket: str, key: str, hint: str | None) -> None:
        self._app = app
        self._asked = {"bucket": bucket, "key": key, "hint": hint}
        self._number: int | None = None
        #: Where the file is.
        self.bucket = bucket
        self.key = key

    def hold(self) -> None:
        """Makes sure that the file is still there; call it right before it goes on record.

        After an outage of the store that took minutes, it may have been deleted: a `NotFoundError`.
        """
        self._app.call("holdUpload", self._upload())

    async def hold_async(self) -> None:
        """The same for asyncio."""
        await _bridge.call(self._app, "holdUpload", self._upload())

    def __enter__(self) -> Self:
        self._number = self._app.call("beginUpload", self._asked)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._app.call("saveUpload" if kind is None else "abandonUpload", self._upload())

    async def __aenter__(self) -> Self:
        self._number = await _bridge.call(self._app, "beginUpload", self._asked)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        call = "saveUpload" if kind is None else "abandonUpload"
        await _bridge.call(self._app, call, self._upload())

    def _upload(self) -> dict[str, Any]:
        if self._number is None:
            raise RuntimeError("the upload has not begun; use `with`")
        return {"upload": self._number}


class Files:
    """The files of a store that wait to be deleted."""

    def __init__(self, app: App) -> None:
        self._app = app

    def upload(self, bucket: str, key: str, *, hint: str | None = None) -> Upload:
        """Guards an upload: `with app.files.upload("photos", name):`. The name should be a new one."""
        return Upload(self._app, bucket, key, hint)

    def delete(self, bucket: str, key: str, *, hint: str | None = None) -> None:
        """Asks for a file to be deleted by the next sweep. Once is as good as twice."""
        self._app.call("deleteFile", {"bucket": bucket, "key": key, "hint": hint})

    def waiting(self, max: int = 100) -> list[WaitingFile]:
        """The first files that are to be deleted, the earliest first."""
        return [_waiting(told) for told in self._app.call("waitingFiles", {"max": max})]


def _waiting(told: dict[str, Any]) -> WaitingFile:
    at = datetime.datetime.fromtimestamp(told["at"] / 1000, datetime.timezone.utc)
    return WaitingFile(told["bucket"], told["key"], at, told["hint"])

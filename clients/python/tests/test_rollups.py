"""Rollups, entitlements, recommendations and guarded uploads, on every store."""

from __future__ import annotations

import asyncio
import datetime
import json
import pathlib
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import keyrack
from keyrack.testing import advance, memory

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.timezone.utc)


def test_values_are_summed_by_the_hour(app: keyrack.App) -> None:
    shop = app.rollups("acme", "web")
    shop.record("revenue", "shop", Decimal("19.99"), interval="hours", calculation=["sum", "count"], at=NOON)
    second = [
        keyrack.RollupEvent("revenue", "shop", 1, ["hours"], ["sum"], NOON + datetime.timedelta(minutes=5)),
        keyrack.RollupEvent("revenue", "shop", 0.5, "hours", "sum", NOON + datetime.timedelta(hours=2)),
    ]
    asyncio.run(shop.record_many_async(second))
    sums = shop.result("revenue", "shop", "sum", "hours")
    assert list(sums.values()) == [Decimal("20.99"), Decimal("0.5")]
    assert asyncio.run(shop.result_async("revenue", "shop", "count", "hours")) == dict(
        zip(sums, [Decimal(2), Decimal(1)])
    )
    values = [point.value for point in shop.series("revenue", "shop", "sum", "hours")]
    assert values == [Decimal("20.99"), None, Decimal("0.5")]
    assert app.rollups("acme", "other").result("revenue", "shop", "sum", "hours") == {}


def test_of_events_with_a_bad_one_none_is_taken(app: keyrack.App) -> None:
    shop = app.rollups("acme", "web")
    good = keyrack.RollupEvent("revenue", "shop", 1, "hours", "sum")
    bad = keyrack.RollupEvent("revenue", "shop", float("nan"), "hours", "sum")
    with pytest.raises(keyrack.InvalidError, match="event 2 of 2: value"):
        shop.record_many([good, bad])
    assert shop.result("revenue", "shop", "sum", "hours") == {}
    with pytest.raises(keyrack.InvalidError, match="time zone"):
        shop.record("a", "b", 1, interval="hours", calculation="sum", at=NOON.replace(tzinfo=None))
    with pytest.raises(keyrack.InvalidError, match="interval"):
        shop.record("a", "b", 1, interval="fortnights", calculation="sum")  # type: ignore[arg-type]


class RevenueCatServer:
    """Stands in for RevenueCat, which is somebody else's service."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        server = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                assert self.headers["Authorization"] == "Bearer secret"
                entitlements = {"pro": {"expires_date": None}} if "ada" in self.path else {}
                body = json.dumps({"subscriber": {"entitlements": entitlements}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.source = keyrack.RevenueCat("secret", url=f"http://127.0.0.1:{self.http.server_port}")


@pytest.fixture
def revenue_cat() -> Iterator[RevenueCatServer]:
    server = RevenueCatServer()
    yield server
    server.http.shutdown()
    server.http.server_close()


def test_an_entitlement_is_asked_for_once_and_remembered(
    app: keyrack.App, revenue_cat: RevenueCatServer
) -> None:
    app.entitlements.configure("pro", "plus", source=revenue_cat.source)
    assert not app.entitlements.has("ada", "pro") and revenue_cat.asked == []
    with pytest.raises(keyrack.NotFoundError, match="not known"):
        app.entitlements.lookup("ada", "pro")
    for user in ("ada", "bob"):
        app.entitlements.link(user, f"of-{user}")
    found = app.entitlements.lookup("ada", "pro")
    assert found and found.origin == "source" and found.expires_at is None
    assert app.entitlements.has("ada", "pro") and not app.entitlements.has("ada", "plus")
    assert not asyncio.run(app.entitlements.has_async("bob", "pro"))
    assert len(revenue_cat.asked) == 2, "each user once"
    assert app.entitlements.lookup("ada", "pro", fresh=True).origin == "source"
    assert len(revenue_cat.asked) == 3
    with pytest.raises(keyrack.InvalidError, match="there are: pro, plus"):
        app.entitlements.has("ada", "gold")
    with pytest.raises(keyrack.ConflictError):
        app.entitlements.configure("gold")


def test_without_a_source_nobody_is_taken_to_be_entitled(
    app: keyrack.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEYRACK_REVENUE_CAT_KEY", raising=False)
    for _ in range(2):
        app.entitlements.link("ada", "of-ada")
        with pytest.raises(keyrack.UnavailableError):
            app.entitlements.has("bob", "pro")
        with pytest.raises(keyrack.UnavailableError, match="KEYRACK_REVENUE_CAT_KEY"):
            app.entitlements.has("ada", "pro")


def test_the_settings_of_the_program_say_who_knows_entitlements(
    app: keyrack.App, revenue_cat: RevenueCatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYRACK_REVENUE_CAT_URL", revenue_cat.source.url)
    monkeypatch.setenv("KEYRACK_REVENUE_CAT_KEY", "secret")
    monkeypatch.setenv("KEYRACK_ENTITLEMENTS", "plus, pro")
    app.entitlements.link("ada", "of-ada")
    assert app.entitlements.has("ada", "pro") and not app.entitlements.has("ada", "plus")


def write_tables(folder: pathlib.Path) -> pathlib.Path:
    """Three posts of alice in a challenge that is open to all, as the app's tables have them."""
    folder.mkdir(exist_ok=True)
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    (folder / "challenge.csv").write_text(
        f"id,category,is_public,duration,created_time\n7,2,1,30,{today}\n"
    )
    posts = "".join(f"{id},alice,7,{today},Ran 5 km\n" for id in (100, 101, 102))
    (folder / "post.csv").write_text("id,user_id,challenge_id,created_time,written_text\n" + posts)
    return folder


def test_recommendations_are_listed(app: keyrack.App, tmp_path: pathlib.Path) -> None:
    posts = app.recommendations
    assert posts.list("bob").items == []
    assert posts.load(write_tables(tmp_path / "tables")) == 3
    page = posts.list("bob", limit=2)
    assert len(page) == 2 and page.next_cursor is not None
    rest = asyncio.run(posts.list_async("bob", limit=2, cursor=page.next_cursor))
    assert {post.post_id for post in (*page, *rest)} == {100, 101, 102}
    first = page.items[0]
    assert (first.author_id, first.challenge_id, first.category) == ("alice", 7, 2) and first.because
    posts.shown("bob", [100, 101])
    assert posts.list("bob").items[0].post_id == 102, "what is new comes first"
    posts.hide("bob", [102])
    assert {post.post_id for post in posts.list("bob", without_posts=[100])} == {101}
    with pytest.raises(keyrack.InvalidError, match="use 1 to 500"):
        posts.list("bob", limit=0)


def test_an_upload_that_ends_is_kept_and_one_that_fails_is_swept(app: keyrack.App) -> None:
    with app.files.upload("photos", "a.jpg", hint="a test") as upload:
        (waiting,) = app.files.waiting()
        assert (waiting.bucket, waiting.key, waiting.hint) == ("photos", "a.jpg", "a test")
        upload.hold()
    assert app.files.waiting() == []
    with pytest.raises(RuntimeError, match="no room"):
        with app.files.upload("photos", "b.jpg"):
            raise RuntimeError("no room")

    async def upload_async() -> None:
        async with app.files.upload("photos", "c.jpg") as upload:
            await upload.hold_async()

    asyncio.run(upload_async())
    app.files.delete("photos", "d.jpg")
    assert [file.key for file in app.files.waiting()] == ["d.jpg", "b.jpg"], "what is due comes first"
    with pytest.raises(keyrack.ConflictError, match="has ended"):
        upload.hold()
    with pytest.raises(keyrack.InvalidError, match="bucket"):
        with app.files.upload("", "e.jpg"):
            pass


def test_a_process_that_dies_leaves_its_upload_to_the_sweep(tmp_path: pathlib.Path) -> None:
    import subprocess
    import sys

    code = "import keyrack, os, sys; keyrack.App(sys.argv[1]).files.upload('b', 'k').__enter__(); os._exit(9)"
    folder = str(tmp_path / "data")
    assert subprocess.run([sys.executable, "-c", code, folder]).returncode == 9
    with keyrack.App(folder) as app:
        assert [file.key for file in app.files.waiting()] == ["k"]


def test_an_upload_outlives_its_first_ten_minutes_when_it_is_held() -> None:
    with memory(keyrack.App("memory")) as app:
        with app.files.upload("photos", "slow.jpg") as upload:
            before = app.files.waiting()[0].at
            advance(app, 500)
            upload.hold()
            assert app.files.waiting()[0].at - before >= datetime.timedelta(seconds=499)
        assert app.files.waiting() == []

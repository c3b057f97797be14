"""What to show to whom."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _bridge

if TYPE_CHECKING:
    from ._app import App


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """A post that a user should see."""

    post_id: int
    challenge_id: int
    #: The code of its category.
    category: int
    author_id: str
    #: How well it suits the user, for comparing posts of one list.
    score: float
    #: Why it is here, as a word and as a sentence.
    reason: str
    because: str


@dataclasses.dataclass(frozen=True)
class RecommendationPage:
    """Posts for a user, the best first."""

    items: list[Recommendation]
    #: Where the next page begins; None after the last.
    next_cursor: str | None

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Recommendations:
    """The recommendations of a store."""

    def __init__(self, app: App) -> None:
        self._app = app

    def list(
        self,
        user: str,
        *,
        limit: int = 100,
        cursor: str | None = None,
        seed: int | None = None,
        categories: Iterable[int] = (),
        challenges: Iterable[int] = (),
        without_authors: Iterable[str] = (),
        without_posts: Iterable[int] = (),
    ) -> RecommendationPage:
        """Posts that a user should see next, up to 500. A user who is not known gets what is good for all.

        `seed` makes the same list again. What is given of the last four limits what is on the list.
        """
        filters = _filters(categories, challenges, without_authors, without_posts)
        asked = {"user": user, "limit": limit, "cursor": cursor, "seed": seed, **filters}
        return _page(self._app.call("recommend", asked))

    async def list_async(
        self,
        user: str,
        *,
        limit: int = 100,
        cursor: str | None = None,
        seed: int | None = None,
        categories: Iterable[int] = (),
        challenges: Iterable[int] = (),
        without_authors: Iterable[str] = (),
        without_posts: Iterable[int] = (),
    ) -> RecommendationPage:
        """The same for asyncio."""
        filters = _filters(categories, challenges, without_authors, without_posts)
        asked = {"user": user, "limit": limit, "cursor": cursor, "seed": seed, **filters}
        return _page(await _bridge.call(self._app, "recommend", asked))

    def shown(self, user: str, posts: Iterable[int]) -> None:
        """Says that a user was shown posts: others come first then."""
        self._app.call("postsShown", {"user": user, "posts": [*posts]})

    def hide(self, user: str, posts: Iterable[int]) -> None:
        """Never lists these posts to the user again."""
        self._app.call("hidePosts", {"user": user, "posts": [*posts]})

    def load(self, folder: str | os.PathLike[str]) -> int:
        """Loads what is new in the tables of a folder of CSV or NDJSON files; returns how many posts came.

        The files are those of `keyrack recommend sync`.
        """
        posts: int = self._app.call("loadRecommendations", {"folder": os.fspath(folder)})
        return posts


def _filters(
    categories: Iterable[int],
    challenges: Iterable[int],
    without_authors: Iterable[str],
    without_posts: Iterable[int],
) -> dict[str, Any]:
    return {
        "categories": [*categories],
        "challenges": [*challenges],
        "withoutAuthors": [*without_authors],
        "withoutPosts": [*without_posts],
    }


def _page(told: dict[str, Any]) -> RecommendationPage:
    items = [Recommendation(**item) for item in told["items"]]
    return RecommendationPage(items, told["next_cursor"])

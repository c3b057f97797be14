"""What users have paid for."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from . import _bridge
from ._errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from ._app import App


@dataclasses.dataclass(frozen=True)
class Entitlement:
    """Whether a user may use something. True if the user may."""

    active: bool
    #: When it ends unless it is renewed; None if it does not, or is not active.
    expires_at: datetime.datetime | None
    #: When this was found out.
    checked_at: datetime.datetime
    #: Who says so. `assumed`: the source cannot be asked and nothing is known, so for ten minutes the
    #: user is taken to be entitled.
    origin: Literal["local", "store", "source", "last_known", "assumed"]

    def __bool__(self) -> bool:
        return self.active


@dataclasses.dataclass(frozen=True)
class RevenueCat:
    """RevenueCat, which knows what users have paid for."""

    #: The secret API key of the project.
    key: str
    #: The public key of the project's Stripe app.
    stripe_key: str = ""
    url: str = "https://api.revenuecat.com"


class Entitlements:
    """The entitlements of the users of a store.

    What there are and who knows them is in the settings of the program, `KEYRACK_ENTITLEMENTS` and
    `KEYRACK_REVENUE_CAT_KEY`, unless `configure` says it. Without a source, what the store has counts.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._configured: dict[str, Any] | None = None
        self._is_used = False

    def configure(self, *names: str, source: RevenueCat | None = None) -> None:
        """Says which entitlements there are, and who knows them. Call it before the first question."""
        if self._is_used:
            raise ConflictError("the entitlements are in use already; configure them at the start")
        self._configured = _settings(names, source)

    def has(self, user: str, entitlement: str) -> bool:
        """Whether a user has an entitlement. It is asked for at most once a day, and remembered.

        Of a user who is not known to those who sell, this is False, and `lookup` a `NotFoundError`.
        """
        try:
            return self.lookup(user, entitlement).active
        except NotFoundError:
            return False

    async def has_async(self, user: str, entitlement: str) -> bool:
        """The same for asyncio."""
        try:
            return (await self.lookup_async(user, entitlement)).active
        except NotFoundError:
            return False

    def lookup(self, user: str, entitlement: str, *, fresh: bool = False) -> Entitlement:
        """The same with who says so; with `fresh`, as the source knows it now."""
        return _entitlement(self._app.call("entitlement", self._asked(user, entitlement, fresh)))

    async def lookup_async(self, user: str, entitlement: str, *, fresh: bool = False) -> Entitlement:
        """The same for asyncio."""
        asked = self._asked(user, entitlement, fresh)
        return _entitlement(await _bridge.call(self._app, "entitlement", asked))

    def link(self, user: str, revenue_cat_id: str) -> None:
        """Says by which id RevenueCat knows a user."""
        asked = {"user": user, "revenueCatId": revenue_cat_id, **self._settings()}
        self._app.call("linkCustomer", asked)

    def _asked(self, user: str, entitlement: str, fresh: bool) -> dict[str, Any]:
        return {"user": user, "entitlement": entitlement, "isForced": fresh, **self._settings()}

    def _settings(self) -> dict[str, Any]:
        if self._configured is None:
            self._configured = _of_environment()
        self._is_used = True
        return self._configured


def _settings(names: Iterable[str], source: RevenueCat | None) -> dict[str, Any]:
    told = None
    if source is not None:
        told = {"url": source.url, "key": source.key, "stripeKey": source.stripe_key}
    return {"names": list(names), "source": told}


def _of_environment() -> dict[str, Any]:
    # An empty variable is how shells and containers unset one.
    names = (os.environ.get("KEYRACK_ENTITLEMENTS") or "pro").split(",")
    key = os.environ.get("KEYRACK_REVENUE_CAT_KEY")
    source = None
    if key:
        url = os.environ.get("KEYRACK_REVENUE_CAT_URL") or RevenueCat.url
        source = RevenueCat(key, os.environ.get("KEYRACK_REVENUE_CAT_STRIPE_KEY", ""), url)
    return _settings((name.strip() for name in names), source)


def _entitlement(told: dict[str, Any]) -> Entitlement:
    expires_at = told["expiresAt"]
    return Entitlement(
        told["isActive"],
        None if expires_at is None else _time(expires_at),
        _time(told["checkedAt"]),
        told["origin"],
    )


def _time(ms: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)

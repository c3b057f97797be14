"""Values as JSON, and back by the annotations of a function."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Union

from ._errors import InvalidError

#: Makes a value of an annotated type out of what JSON gives; None if that is the value already.
Decoder = Union[Callable[[Any], Any], None]


def _plain(value: Any) -> Any:
    """A value that JSON does not know, as one that it does."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # Without importing pydantic: whoever has such a value has imported it.
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (uuid.UUID, decimal.Decimal, pathlib.PurePath)):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_ENCODER = json.JSONEncoder(
    default=_plain, ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)


def encode(value: Any) -> str:
    """A value as JSON."""
    try:
        text = _ENCODER.encode(value)
        # A lone surrogate is no text that could be stored.
        if not text.isascii():
            text.encode()
        return text
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"the value cannot be written as JSON: {error}") from error


decode = json.loads

#: Types that JSON gives as they are.
_AS_IS: frozenset[Any] = frozenset((Any, object, str, int, bool, type(None), None))

_FROM_TEXT: dict[Any, Callable[[Any], Any]] = {
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    datetime.timedelta: lambda seconds: datetime.timedelta(seconds=seconds),
    uuid.UUID: uuid.UUID,
    decimal.Decimal: decimal.Decimal,
    pathlib.Path: pathlib.Path,
    pathlib.PurePath: pathlib.PurePath,
    float: float,
}


def decoder(kind: Any) -> Decoder:
    """What makes a value of a type out of what JSON gives."""
    if isinstance(kind, str) or isinstance(kind, typing.TypeVar) or kind in _AS_IS:
        return None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return decoder(arguments[0])
    if origin is Union or origin is types.UnionType:
        return _union(arguments)
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable):
        return _each(decoder(arguments[0]), list)
    if origin in (set, frozenset):
        return _each(decoder(arguments[0]), origin)
    if origin in (dict, Mapping):
        return _values(decoder(arguments[1]))
    if origin is tuple:
        return _tuple(arguments)
    if origin is not None or not isinstance(kind, type):
        return None
    if kind in (tuple, set, frozenset):
        return kind
    if kind in _FROM_TEXT:
        return _FROM_TEXT[kind]
    if issubclass(kind, enum.Enum):
        return kind
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind)
    return getattr(kind, "model_validate", None)


def takes_object(kind: Any) -> bool:
    """Whether a value of a type can come from a JSON object. Without a type it can."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return takes_object(arguments[0])
    if origin is Union or origin is types.UnionType:
        return any(takes_object(each) for each in arguments)
    kind = kind if origin is None else origin
    if not isinstance(kind, type) or kind is type(None):
        return kind is not type(None)
    return not (kind in _NO_OBJECTS or issubclass(kind, enum.Enum))


#: Types of which no value is an object in JSON.
_NO_OBJECTS: frozenset[Any] = frozenset(
    (str, int, bool, bytes, list, tuple, set, frozenset, collections.abc.Sequence, *_FROM_TEXT)
)


def _union(kinds: tuple[Any, ...]) -> Decoder:
    decoders = [decoder(kind) for kind in kinds if kind is not type(None)]
    found = [each for each in decoders if each is not None]
    if not found:
        return None
    if len(decoders) == 1:
        return lambda value: None if value is None else found[0](value)

    def first_that_fits(value: Any) -> Any:
        if value is None or (None in decoders and not isinstance(value, (dict, list))):
            return value
        for each in found:
            try:
                return each(value)
            except (TypeError, ValueError, LookupError):
                continue
        return value

    return first_that_fits


def _each(item: Decoder, into: Callable[[Any], Any]) -> Decoder:
    if item is None:
        return None if into is list else into
    return lambda values: into([item(value) for value in values])


def _values(item: Decoder) -> Decoder:
    if item is None:
        return None
    return lambda values: {name: item(value) for name, value in values.items()}


def _tuple(kinds: tuple[Any, ...]) -> Decoder:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return _each(decoder(kinds[0]), tuple) or tuple
    items = [decoder(kind) for kind in kinds]
    return lambda values: tuple(
        value if item is None else item(value) for item, value in zip(items, values)
    )


def _dataclass(kind: type) -> Callable[[Any], Any]:
    # Made at the first use: a class may have fields of its own type.
    fields: dict[str, Decoder] = {}

    def build(value: Any) -> Any:
        if not isinstance(value, dict):
            raise InvalidError(f"{kind.__name__} is made from an object, not from {value!r}")
        if not fields:
            hints = typing.get_type_hints(kind)
            # Last, so that another thread sees all of them or none.
            fields.update({field.name: decoder(hints[field.name]) for field in dataclasses.fields(kind)})
        arguments = {}
        for name, item in value.items():
            read = fields.get(name)
            arguments[name] = item if read is None else read(item)
        return kind(**arguments)

    return build

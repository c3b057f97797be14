class KeyError_(ValueError):
    """Why something cannot be written or read. It never holds the value itself, which may be secret."""

    def __init__(self, place: str, expected: str) -> None:
        super().__init__(f'"{place}" has to be {expected}')
        self.place = place
        self.expected = expected


Raw = Union[bytes, str]
_T = TypeVar("_T")


def _bytes_of(raw: Raw) -> bytes:
    return raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else bytes(raw)


def _text_of(raw: Raw) -> str:
    try:
        return raw.encode().decode() if isinstance(raw, str) else bytes(raw).decode()
    except UnicodeError:
        raise KeyError_("value", "UTF-8") from None


class Codec(Generic[_T]):
    """How a value is written and read."""

    def __init__(self, place: str, write: Callable[[_T], bytes], read: Callable[[Raw], _T]) -> None:
        self._place, self._write, self._read = place, write, read

    def write(self, value: _T) -> bytes:
        """The bytes for Redis."""
        try:
            return self._write(value)
        except KeyError_ as error:
            raise KeyError_(self._place, error.expected) from None

    def read(self, raw: Raw) -> _T:
        """The value from Redis."""
        try:
            return self._read(raw)
        except KeyError_ as error:
            raise KeyError_(self._place, error.expected) from None

    def _at(self, place: str) -> "Codec[_T]":
        return Codec(place, self._write, self._read)

    def _fits(self, raw: Raw) -> bool:
        try:
            self._read(raw)
            return True
        except KeyError_:
            return False


_State = tuple[bool, list[tuple[int, int, int]]]


@dataclass(frozen=True)
class _Part:
    noun: str
    expected: str
    check: Callable[[str], bool]
    percent: bool
    colons: bool
    without: str
    bytes_max: int

    def fits(self, text: str) -> bool:
        try:
            length = len(text.encode())
        except UnicodeError:
            return False
        if not 1 <= length <= self.bytes_max or any(letter in text for letter in self.without):
            return False
        return self.check(text)

    def stands(self, byte: int) -> bool:
        if byte == 0x3A:
            return self.colons
        return 0x20 < byte < 0x7F and byte not in b"%{}*?[]\\^"

    def write(self, text: str) -> str:
        if not isinstance(text, str) or not self.fits(text):
            raise KeyError_(self.noun, self.expected)
        if not self.percent:
            return text
        return "".join(chr(byte) if self.stands(byte) else f"%{byte:02X}" for byte in text.encode())

    def read(self, coded: str) -> str | None:
        if not self.percent:
            return coded if self.fits(coded) else None
        out, at = bytearray(), 0
        while at < len(coded):
            byte = ord(coded[at])
            if byte == 0x25:
                digits = coded[at + 1 : at + 3]
                if not re.fullmatch("[0-9A-F]{2}", digits):
                    return None
                byte = int(digits, 16)
                if self.stands(byte):
                    return None
                at += 2
            elif not self.stands(byte):
                return None
            out.append(byte)
            at += 1
        try:
            text = out.decode()
        except UnicodeError:
            return None
        return text if self.fits(text) else None


def _is_number(low: int, high: int) -> Callable[[str], bool]:
    return lambda text: re.fullmatch("0|[1-9][0-9]*", text) is not None and low <= int(text) <= high


def _is_colons(fields: int) -> Callable[[str], bool]:
    return lambda text: len(text.split(":")) >= fields and all(text.split(":"))


def _is_uuid(text: str) -> bool:
    return re.fullmatch("[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", text) is not None


def _is_ulid(text: str) -> bool:
    return re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", text) is not None


def _is_date(text: str) -> bool:
    found = re.fullmatch("([0-9]{4})-([0-9]{2})-([0-9]{2})", text)
    if found is None:
        return False
    year, month, day = (int(number) for number in found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


_TIME = (
    r"[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?"
    r" *([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9]|[+-][0-9]{4})?"
)


def _is_time(text: str) -> bool:
    return _is_date(text[:10]) and re.fullmatch(_TIME, text[10:]) is not None


def _is_pattern(states: list[_State]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        at = {0}
        for byte in text.encode():
            at = {to for state in at for first, last, to in states[state][1] if first <= byte <= last}
        return any(states[state][0] for state in at)

    return accepts


def _is_like(forms: list[str]) -> Callable[[str], bool]:
    def same(letter: str, wanted: str) -> bool:
        if wanted == "0":
            return letter in "0123456789"
        return letter in "+-" if wanted == "±" else letter == wanted

    return lambda text: any(len(form) == len(text) and all(map(same, text, form)) for form in forms)


def _build(pieces: Sequence[str | _Part], parts: Sequence[str]) -> str:
    given = iter(parts)
    return "".join(piece if isinstance(piece, str) else piece.write(next(given)) for piece in pieces)


def _parse(pieces: Sequence[str | _Part], name: str) -> list[str] | None:
    if not pieces:
        return None if name else []
    piece, rest = pieces[0], pieces[1:]
    if isinstance(piece, str):
        return _parse(rest, name[len(piece) :]) if name.startswith(piece) else None
    for end in range(1 if rest else max(len(name), 1), len(name) + 1):
        if rest and isinstance(rest[0], str) and not name.startswith(rest[0], end):
            continue
        text = piece.read(name[:end])
        others = None if text is None else _parse(rest, name[end:])
        if text is not None and others is not None:
            return [text, *others]
    return None


def _name_of(name: Raw) -> str:
    # No key that is not UTF-8 is one of these.
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def _checked(fits: Callable[[str], bool], expected: str) -> Codec[str]:
    def read(raw: Raw) -> str:
        text = _text_of(raw)
        if not fits(text):
            raise KeyError_("value", expected)
        return text

    return Codec("value", lambda value: read(value).encode(), read)


_text = _checked(lambda _: True, "text")
_iso_time = _checked(_is_time, "a time like 2026-11-18T08:44:29Z")
_bytes: Codec[bytes] = Codec("value", bytes, _bytes_of)


def _like(forms: list[str]) -> Codec[str]:
    return _checked(_is_like(forms), "like " + " or ".join(forms))


def _id(part: _Part) -> Codec[str]:
    return _checked(part.fits, part.expected)


def _key_name(parse: Callable[[Raw], object], noun: str) -> Codec[str]:
    return _checked(lambda name: parse(name) is not None, f"the name of a {noun}")


def _converted(plain: Codec[str], write: Callable[[_T], str], read: Callable[[str], _T]) -> Codec[_T]:
    return Codec("value", lambda value: plain.write(write(value)), lambda raw: read(plain.read(raw)))


def _integer(low: int, high: int) -> Codec[int]:
    def fits(text: str) -> bool:
        return re.fullmatch("0|-?[1-9][0-9]*", text) is not None and low <= int(text) <= high

    return _converted(_checked(fits, f"a whole number from {low} to {high}"), str, int)


def _id_number(part: _Part) -> Codec[int]:
    return _converted(_id(part), str, int)


_FLOAT = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def _float_text(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else repr(float(value))


def _float(low: float, high: float, expected: str) -> Codec[float]:
    def fits(text: str) -> bool:
        return re.fullmatch(_FLOAT, text) is not None and low <= float(text) <= high

    return _converted(_checked(fits, expected), _float_text, float)


_number = _float(-sys.float_info.max, sys.float_info.max, "a finite number")
_seconds = _float(0.0, 99_999_999_999.0, "a Unix time in seconds")
_decimal: Codec[Decimal] = _converted(
    _checked(lambda text: re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) is not None, "a decimal number"),
    lambda value: format(value, "f"),
    Decimal,
)


def _boolean(no: str, yes: str) -> Codec[bool]:
    plain = _checked(lambda text: text in (no, yes), f'"{no}" or "{yes}"')
    return _converted(plain, lambda value: yes if value else no, lambda text: text == yes)


def _words(words: tuple[_T, ...]) -> Codec[_T]:
    plain = _checked(lambda text: text in words, "one of " + ", ".join(map(str, words)))
    return _converted(plain, str, lambda text: cast(_T, text))


def _join(codecs: Sequence[Codec[Any]], values: Sequence[Any]) -> bytes:
    if len(values) != len(codecs):
        raise KeyError_("value", f"{len(codecs)} values")
    return b",".join(codec.write(value) for codec, value in zip(codecs, values))


def _split(codecs: Sequence[Codec[Any]], raw: Raw) -> list[Any]:
    texts = _bytes_of(raw).split(b",")
    if len(texts) != len(codecs):
        raise KeyError_("value", f"{len(codecs)} values with commas between them")
    return [codec.read(text) for codec, text in zip(codecs, texts)]


def _list(item: Codec[_T], count: int) -> Codec[list[_T]]:
    return Codec("value", lambda values: _join([item] * count, values), lambda raw: _split([item] * count, raw))


def _tuple(*codecs: Codec[Any]) -> Codec[Any]:
    return Codec("value", lambda values: _join(codecs, values), lambda raw: tuple(_split(codecs, raw)))


def _any_of(*codecs: Codec[Any]) -> Codec[str]:
    return _checked(lambda text: any(codec._fits(text) for codec in codecs), "of another form")


def _or_empty(inner: Codec[_T]) -> Codec[_T | Literal[""]]:
    def write(value: _T | Literal[""]) -> bytes:
        return b"" if value == "" else inner.write(value)

    return Codec("value", write, lambda raw: "" if len(raw) == 0 else inner.read(raw))


class _Other(Exception):
    pass


def _shaped(schema: Any, value: Any) -> Any:
    """The value with arrays where Lua wrote empty objects."""
    if schema == "any":
        return value
    if isinstance(schema, str):
        kinds: dict[str, Any] = {"boolean": bool, "number": (int, float), "integer": int, "string": str}
        fits = isinstance(value, kinds[schema]) and (schema == "boolean" or not isinstance(value, bool))
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            raise _Other
        return value
    if "words" in schema:
        if value not in schema["words"]:
            raise _Other
        return value
    if "nullable" in schema:
        return None if value is None else _shaped(schema["nullable"], value)
    if "array" in schema or "luaArray" in schema:
        if "luaArray" in schema and value == {}:
            return []
        if not isinstance(value, (list, tuple)):
            raise _Other
        item = schema["array"] if "array" in schema else schema["luaArray"]
        return [_shaped(item, inner) for inner in value]
    if not isinstance(value, dict):
        raise _Other
    members = {name: schema["map"] for name in value} if "map" in schema else schema["object"]
    found = dict(value)
    for name, member in members.items():
        if name in found:
            found[name] = _shaped(member, found[name])
        elif name not in schema.get("optional", []):
            raise _Other
    return found


def _json(schema: Any) -> Codec[Any]:
    def check(value: Any) -> Any:
        try:
            return _shaped(schema, value)
        except _Other:
            raise KeyError_("value", "JSON of the declared shape") from None

    def read(raw: Raw) -> Any:
        try:
            value = json.loads(_text_of(raw))
        except (ValueError, RecursionError):
            raise KeyError_("value", "JSON") from None
        return check(value)

    def write(value: Any) -> bytes:
        text = json.dumps(check(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return _text_of(text).encode()

    return Codec("value", write, read)


class _Score(Generic[_T]):
    """Scores are numbers in most clients."""

    def __init__(self, codec: Codec[_T]) -> None:
        self._codec = codec._at("score")

    def write(self, value: _T) -> float:
        return float(self._codec.write(value))

    def read(self, score: float | Raw) -> _T:
        return self._codec.read(_float_text(float(score)))


def _fields(fields: Mapping[Any, Any]) -> dict[str, Raw]:
    return {_name_of(name): raw for name, raw in fields.items()}


def _need(fields: Mapping[str, Raw], name: str, codec: Codec[_T]) -> _T:
    if name not in fields:
        raise KeyError_(name, "there")
    return codec._at(name).read(fields[name])


def _find(fields: Mapping[str, Raw], name: str, codec: Codec[_T]) -> _T | None:
    return codec._at(name).read(fields[name]) if name in fields else None



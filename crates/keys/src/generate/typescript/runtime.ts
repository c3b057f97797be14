/** Why something cannot be written or read. It never holds the value itself, which may be secret. */
export class KeyError extends Error {
  constructor(
    readonly place: string,
    readonly expected: string,
  ) {
    super(`"${place}" has to be ${expected}`);
    this.name = "KeyError";
  }
}

/** What Redis clients give and take. */
export type Raw = string | Uint8Array;

/** How a value is written and read. */
export interface Codec<T> {
  write(value: T): Raw;
  read(raw: Raw): T;
}

const utf8 = new TextEncoder();

function textOf(raw: Raw): string {
  if (typeof raw === "string") return raw;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    throw new KeyError("value", "UTF-8");
  }
}

/** Whether a text may end here, and which bytes lead where. */
type State = readonly [boolean, readonly (readonly [number, number, number])[]];

interface Part {
  readonly noun: string;
  readonly expected: string;
  readonly fits: (text: string) => boolean;
  readonly percent: boolean;
  readonly colons: boolean;
  readonly without: string;
  readonly bytesMax: number;
}

function fits(part: Part, text: string): boolean {
  // A lone half of a surrogate pair is no text in UTF-8.
  if (text === "" || /\p{Surrogate}/u.test(text)) return false;
  if (utf8.encode(text).length > part.bytesMax) return false;
  return ![...part.without].some((letter) => text.includes(letter)) && part.fits(text);
}

const isNumber = (min: bigint, max: bigint) => (text: string) =>
  /^(0|[1-9][0-9]*)$/.test(text) && BigInt(text) >= min && BigInt(text) <= max;
const isColons = (fields: number) => (text: string) =>
  text.split(":").length >= fields && text.split(":").every((field) => field !== "");
const isUuid = (text: string) => /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);
const isUlid = (text: string) => /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text);

function isDate(text: string): boolean {
  const found = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (!found) return false;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}

function isTime(text: string): boolean {
  const time = /^[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)? *([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9]|[+-][0-9]{4})?$/;
  return isDate(text.slice(0, 10)) && time.test(text.slice(10));
}

const isPattern = (states: readonly State[]) => (text: string) => {
  let at = new Set([0]);
  for (const byte of utf8.encode(text)) {
    const next = new Set<number>();
    for (const state of at) {
      for (const [first, last, to] of states[state]![1]) {
        if (byte >= first && byte <= last) next.add(to);
      }
    }
    at = next;
  }
  return [...at].some((state) => states[state]![0]);
};

const isLike = (forms: readonly string[]) => (text: string) =>
  forms.some((form) => {
    const [is, wanted] = [[...text], [...form]];
    return is.length === wanted.length && is.every((letter, i) => {
      if (wanted[i] === "0") return /^[0-9]$/.test(letter);
      return wanted[i] === "±" ? letter === "+" || letter === "-" : letter === wanted[i];
    });
  });

function stands(part: Part, byte: number): boolean {
  if (byte === 0x3a) return part.colons;
  return byte > 0x20 && byte < 0x7f && !"%{}*?[]\\^".includes(String.fromCharCode(byte));
}

function writePart(part: Part, text: string): string {
  if (!fits(part, text)) throw new KeyError(part.noun, part.expected);
  if (!part.percent) return text;
  let out = "";
  for (const byte of utf8.encode(text)) {
    const hex = () => "%" + byte.toString(16).toUpperCase().padStart(2, "0");
    out += stands(part, byte) ? String.fromCharCode(byte) : hex();
  }
  return out;
}

function readPart(part: Part, coded: string): string | undefined {
  let text = coded;
  if (part.percent) {
    const bytes: number[] = [];
    for (let at = 0; at < coded.length; at++) {
      let byte = coded.charCodeAt(at);
      if (byte === 0x25) {
        const digits = coded.slice(at + 1, at + 3);
        if (!/^[0-9A-F]{2}$/.test(digits)) return undefined;
        byte = parseInt(digits, 16);
        if (stands(part, byte)) return undefined;
        at += 2;
      } else if (!stands(part, byte)) {
        return undefined;
      }
      bytes.push(byte);
    }
    try {
      text = textOf(Uint8Array.from(bytes));
    } catch {
      return undefined;
    }
  }
  return fits(part, text) ? text : undefined;
}

type Piece = string | Part;

function build(pieces: readonly Piece[], parts: readonly string[]): string {
  let next = 0;
  return pieces
    .map((piece) => (typeof piece === "string" ? piece : writePart(piece, parts[next++]!)))
    .join("");
}

function parse(pieces: readonly Piece[], name: string): string[] | undefined {
  const [piece, ...rest] = pieces;
  if (piece === undefined) return name === "" ? [] : undefined;
  if (typeof piece === "string") {
    return name.startsWith(piece) ? parse(rest, name.slice(piece.length)) : undefined;
  }
  const follows = rest[0];
  for (let end = rest.length === 0 ? Math.max(name.length, 1) : 1; end <= name.length; end++) {
    if (typeof follows === "string" && !name.startsWith(follows, end)) continue;
    const text = readPart(piece, name.slice(0, end));
    const others = text === undefined ? undefined : parse(rest, name.slice(end));
    if (text !== undefined && others) return [text, ...others];
  }
  return undefined;
}

const checked = (fits: (text: string) => boolean, expected: string): Codec<string> => {
  const check = (text: string) => {
    if (fits(text)) return text;
    throw new KeyError("value", expected);
  };
  return { write: check, read: (raw) => check(textOf(raw)) };
};

const text: Codec<string> = checked((text) => !/\p{Surrogate}/u.test(text), "text");
const decimal = checked((text) => /^-?[0-9]+(\.[0-9]+)?$/.test(text), "a decimal number");
const isoTime = checked(isTime, "a time like 2026-11-18T08:44:29Z");
const like = (forms: readonly string[]) => checked(isLike(forms), `like ${forms.join(" or ")}`);
const id = (part: Part): Codec<string> => checked((text) => fits(part, text), part.expected);
const keyName = (key: { parse(name: string): unknown }, noun: string) =>
  checked((name) => key.parse(name) !== undefined, `the name of a ${noun}`);

const bytes: Codec<Uint8Array> = {
  write: (value) => value,
  read: (raw) => (typeof raw === "string" ? utf8.encode(raw) : raw),
};

/** Whole numbers that a double cannot hold. */
const bigInteger = (min: bigint, max: bigint): Codec<bigint> => {
  const check = (value: bigint) => {
    if (typeof value === "bigint" && value >= min && value <= max) return value;
    throw new KeyError("value", `a whole number from ${min} to ${max}`);
  };
  const plain = checked((text) => /^(0|-?[1-9][0-9]*)$/.test(text), `a whole number from ${min} to ${max}`);
  return { write: (value) => check(value).toString(), read: (raw) => check(BigInt(plain.read(raw))) };
};

const integer = (min: number, max: number): Codec<number> => {
  const big = bigInteger(BigInt(min), BigInt(max));
  return {
    write: (value) => {
      if (Number.isSafeInteger(value)) return big.write(BigInt(value));
      throw new KeyError("value", `a whole number from ${min} to ${max}`);
    },
    read: (raw) => Number(big.read(raw)),
  };
};

const float = (fits: (value: number) => boolean, expected: string): Codec<number> => {
  const plain = checked((text) => /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(text), expected);
  const check = (value: number) => {
    if (Number.isFinite(value) && fits(value)) return value;
    throw new KeyError("value", expected);
  };
  return { write: (value) => String(check(value)), read: (raw) => check(Number(plain.read(raw))) };
};
const number = float(() => true, "a finite number");
const seconds = float((at) => at >= 0 && at < 1e11, "a Unix time in seconds");

const boolean = (no: string, yes: string): Codec<boolean> => {
  const plain = checked((text) => text === no || text === yes, `"${no}" or "${yes}"`);
  return { write: (value) => (value ? yes : no), read: (raw) => plain.read(raw) === yes };
};

const words = <T extends string>(words: readonly T[]): Codec<T> =>
  checked((text) => (words as readonly string[]).includes(text), `one of ${words.join(", ")}`) as unknown as Codec<T>;

const list = <T>(item: Codec<T>, count: number): Codec<T[]> => {
  const check = <V>(values: V[]) => {
    if (values.length === count) return values;
    throw new KeyError("value", `${count} values`);
  };
  return {
    write: (values) => check(values).map((value) => textOf(item.write(value))).join(","),
    read: (raw) => check(textOf(raw).split(",")).map((text) => item.read(text)),
  };
};

const tuple = <T extends readonly unknown[]>(...items: { [I in keyof T]: Codec<T[I]> }): Codec<T> => {
  const check = <V extends readonly unknown[]>(values: V) => {
    if (values.length === items.length) return values;
    throw new KeyError("value", `${items.length} values with commas between them`);
  };
  return {
    write: (values) => check(values).map((value, i) => textOf(items[i]!.write(value as never))).join(","),
    read: (raw) => check(textOf(raw).split(",")).map((text, i) => items[i]!.read(text)) as unknown as T,
  };
};

const anyOf = (...forms: Codec<never>[]): Codec<string> =>
  checked((text) => forms.some((form) => {
    try {
      form.read(text);
      return true;
    } catch {
      return false;
    }
  }), "of another form");

const orEmpty = <T>(inner: Codec<T>): Codec<T | ""> => ({
  write: (value) => (value === "" ? "" : inner.write(value as T)),
  read: (raw) => (raw.length === 0 ? "" : inner.read(raw)),
});

const idNumber = (part: Part): Codec<number> => {
  const plain = id(part);
  return { write: (value) => plain.write(String(value)), read: (raw) => Number(plain.read(raw)) };
};

const idBigInt = (part: Part): Codec<bigint> => {
  const plain = id(part);
  return { write: (value) => plain.write(String(value)), read: (raw) => BigInt(plain.read(raw)) };
};

type Schema =
  | "any" | "boolean" | "number" | "integer" | "string"
  | { readonly words: readonly string[] }
  | { readonly nullable: Schema } | { readonly array: Schema } | { readonly luaArray: Schema }
  | { readonly map: Schema }
  | { readonly object: Readonly<Record<string, Schema>>; readonly optional: readonly string[] };

/** The value with arrays where Lua wrote empty objects, or undefined if it has another shape. */
function shaped(schema: Schema, value: unknown): unknown {
  if (schema === "any") return value;
  if (schema === "integer") return typeof value === "number" && Number.isInteger(value) ? value : undefined;
  if (schema === "number") return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  if (typeof schema === "string") return typeof value === schema ? value : undefined;
  if ("words" in schema) return schema.words.includes(value as string) ? value : undefined;
  if ("nullable" in schema) return value === null ? null : shaped(schema.nullable, value);
  if ("array" in schema || "luaArray" in schema) {
    const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
    if ("luaArray" in schema && isEmpty) return [];
    if (!Array.isArray(value)) return undefined;
    const item = "array" in schema ? schema.array : schema.luaArray;
    const items = value.map((inner) => shaped(item, inner));
    return items.includes(undefined) ? undefined : items;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const found = new Map(Object.entries(value).filter(([, inner]) => inner !== undefined));
  const members: (readonly [string, Schema])[] =
    "map" in schema ? [...found.keys()].map((name) => [name, schema.map] as const) : Object.entries(schema.object);
  for (const [name, member] of members) {
    if (!found.has(name)) {
      if ("object" in schema && schema.optional.includes(name)) continue;
      return undefined;
    }
    const inner = shaped(member, found.get(name));
    if (inner === undefined) return undefined;
    found.set(name, inner);
  }
  return Object.fromEntries(found);
}

const json = <T>(schema: Schema): Codec<T> => {
  const check = (value: unknown) => {
    const found = shaped(schema, value);
    if (found === undefined) throw new KeyError("value", "JSON of the declared shape");
    return found as T;
  };
  return {
    write: (value) => JSON.stringify(check(value)),
    read: (raw) => {
      let value: unknown;
      try {
        value = JSON.parse(textOf(raw));
      } catch {
        throw new KeyError("value", "JSON");
      }
      return check(value);
    },
  };
};

function at<T>(place: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof KeyError ? new KeyError(place, error.expected) : error;
  }
}

/** A codec whose errors name the place. */
function placed<T>(place: string, codec: Codec<T>): Codec<T> {
  return { write: (value) => at(place, () => codec.write(value)), read: (raw) => at(place, () => codec.read(raw)) };
}

/** Scores are numbers in most clients. */
function score<T>(codec: Codec<T>): { write(value: T): number; read(score: number | string): T } {
  const named = placed("score", codec);
  return { write: (value) => Number(named.write(value)), read: (score) => named.read(String(Number(score))) };
}

type Names<T> = { [N in keyof T]-?: Codec<Exclude<T[N], undefined>> };

/** The fields of a hash, or of an entry of a stream. */
function fieldsOf<T extends object>(codecs: Names<T>, optional: readonly (keyof T)[]) {
  const names = Object.keys(codecs) as (keyof T & string)[];
  return {
    /** The fields for Redis. */
    write(value: T): Record<string, Raw> {
      const out: Record<string, Raw> = {};
      for (const name of names) {
        const found = value[name];
        if (found === undefined && optional.includes(name)) continue;
        if (found === undefined) throw new KeyError(name, "there");
        out[name] = at(name, () => codecs[name].write(found as never));
      }
      return out;
    },
    /** From the fields in Redis; others than the declared ones are left out. */
    read(fields: Readonly<Record<string, Raw>>): T {
      const out: Partial<T> = {};
      for (const name of names) {
        const raw = Object.hasOwn(fields, name) ? fields[name] : undefined;
        if (raw === undefined && optional.includes(name)) continue;
        if (raw === undefined) throw new KeyError(name, "there");
        out[name] = at(name, () => codecs[name].read(raw)) as T[typeof name];
      }
      return out as T;
    },
  };
}

/**
 * JSON whose integers keep all their digits: those that a number cannot hold are a `bigint`.
 *
 * Node 20 can neither write a bigint nor tell the digits of a number it has read. So such integers pass
 * through JSON as strings with a mark that nobody else knows. All other values take the quick way.
 */

import { InvalidError } from "./errors.js";

const MARK = `bigint:${crypto.randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** An integer that may be too long for a number. A false alarm costs time and nothing else. */
const MAY_BE_LONG = /\d{16}/;
/** A string, which is left alone, or a number. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d{16,}$/;

/** A value as JSON. What JSON has no word for is left out, as everywhere in JavaScript. */
export function encode(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    if (error instanceof TypeError && /BigInt/.test(error.message)) return encodeBigints(value);
    throw new InvalidError(`the value cannot be written as JSON: ${String(error)}`);
  }
}

function encodeBigints(value: unknown): string {
  try {
    const marked = JSON.stringify(value, (_, item: unknown) =>
      typeof item === "bigint" ? MARK + String(item) : item,
    );
    return marked.replace(MARKED, "$1");
  } catch (error) {
    throw new InvalidError(`the value cannot be written as JSON: ${String(error)}`);
  }
}

/** Reads JSON. */
export function decode(text: string): unknown {
  return MAY_BE_LONG.test(text) ? decodeBigints(text) : JSON.parse(text);
}

function decodeBigints(text: string): unknown {
  let n = 0;
  const marked = text.replace(TOKEN, (token) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    n += 1;
    return `"${MARK}${token}"`;
  });
  if (n === 0) return JSON.parse(text);
  return JSON.parse(marked, (_, item: unknown) =>
    typeof item === "string" && item.startsWith(MARK) ? BigInt(item.slice(MARK.length)) : item,
  );
}

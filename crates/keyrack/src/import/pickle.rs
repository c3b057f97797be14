//! Reads pickles of plain values as JSON: whatever would have to call something is refused.

use std::collections::HashMap;

/// The most bytes of JSON that are written: a value that a pickle names often is written as often.
const JSON_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most levels of lists and objects.
const DEPTH_MAX: usize = 128;

/// A value; lists and objects have the places of theirs.
enum Node {
    /// JSON text of what is no text.
    Plain(String),
    Text(String),
    List(Vec<usize>),
    Object(Vec<(usize, usize)>),
}

/// What was refused.
type Refused = &'static str;

const CUT: Refused = "the pickle is cut off";
const BROKEN: Refused = "the pickle is broken";
const UNKNOWN: Refused = "it has values that JSON has not";

/// A pickle of plain values as JSON. Tuples are lists.
pub(super) fn to_json(pickle: &[u8]) -> Result<String, Refused> {
    let mut reader = Reader {
        rest: pickle,
        nodes: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    let root = reader.run()?;
    let mut json = String::new();
    reader.write(root, 0, &mut json)?;
    Ok(json)
}

struct Reader<'a> {
    rest: &'a [u8],
    nodes: Vec<Node>,
    /// Places of nodes.
    stack: Vec<usize>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u32, usize>,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<usize, Refused> {
        loop {
            let [op] = self.take()?;
            if op == b'.' {
                return self.pop();
            }
            self.step(op)?;
        }
    }

    fn step(&mut self, op: u8) -> Result<(), Refused> {
        match op {
            0x80 => drop(self.take::<1>()?),
            // A frame only says how far to read ahead.
            0x95 => drop(self.take::<8>()?),
            b'N' => self.plain("null"),
            0x88 => self.plain("true"),
            0x89 => self.plain("false"),
            b'J' => {
                let number = i32::from_le_bytes(self.take()?);
                self.number(number.into());
            }
            b'K' => {
                let number = u8::from_le_bytes(self.take()?);
                self.number(number.into());
            }
            b'M' => {
                let number = u16::from_le_bytes(self.take()?);
                self.number(number.into());
            }
            0x8a => self.long()?,
            b'G' => self.float()?,
            0x8c => {
                let [length] = self.take()?;
                self.text(length.into())?;
            }
            b'X' => {
                let length = u32::from_le_bytes(self.take()?);
                self.text(length as usize)?;
            }
            b']' => self.push(Node::List(Vec::new())),
            b')' => self.push(Node::List(Vec::new())),
            b'}' => self.push(Node::Object(Vec::new())),
            b'(' => self.marks.push(self.stack.len()),
            0x85..=0x87 => {
                let at = self.stack.len().checked_sub((op - 0x84).into()).ok_or(BROKEN)?;
                let items = self.stack.split_off(at);
                self.push(Node::List(items));
            }
            b't' | b'l' => {
                let items = self.since_mark()?;
                self.push(Node::List(items));
            }
            b'd' => {
                let items = self.since_mark()?;
                self.push(Node::Object(Vec::new()));
                self.set(&items)?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            b'e' => {
                let items = self.since_mark()?;
                self.append(&items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(&[key, value])?;
            }
            b'u' => {
                let items = self.since_mark()?;
                self.set(&items)?;
            }
            _ => return self.remember(op),
        }
        Ok(())
    }

    /// What a pickle does with values that it names again.
    fn remember(&mut self, op: u8) -> Result<(), Refused> {
        let place = match op {
            0x94 => u32::try_from(self.memo.len()).map_err(|_| BROKEN)?,
            b'q' | b'h' => u8::from_le_bytes(self.take()?).into(),
            b'r' | b'j' => u32::from_le_bytes(self.take()?),
            _ => return Err(UNKNOWN),
        };
        if matches!(op, b'h' | b'j') {
            self.stack.push(*self.memo.get(&place).ok_or(BROKEN)?);
        } else {
            self.memo.insert(place, *self.stack.last().ok_or(BROKEN)?);
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(CUT)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, Refused> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CUT)?;
        self.rest = rest;
        Ok(taken.to_vec())
    }

    fn push(&mut self, node: Node) {
        self.stack.push(self.nodes.len());
        self.nodes.push(node);
    }

    fn pop(&mut self) -> Result<usize, Refused> {
        self.stack.pop().ok_or(BROKEN)
    }

    fn since_mark(&mut self) -> Result<Vec<usize>, Refused> {
        let mark = self.marks.pop().ok_or(BROKEN)?;
        if mark > self.stack.len() {
            return Err(BROKEN);
        }
        Ok(self.stack.split_off(mark))
    }

    fn plain(&mut self, json: &str) {
        self.push(Node::Plain(json.to_owned()));
    }

    fn number(&mut self, number: i128) {
        self.push(Node::Plain(number.to_string()));
    }

    /// A whole number of some bytes, the lowest first, with its sign in the last.
    fn long(&mut self) -> Result<(), Refused> {
        let [length] = self.take()?;
        let bytes = self.bytes(length.into())?;
        if bytes.len() > 16 {
            return Err("it has a number of more than 128 bits");
        }
        let is_negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
        let mut whole = if is_negative { [0xff; 16] } else { [0; 16] };
        whole[..bytes.len()].copy_from_slice(&bytes);
        self.number(i128::from_le_bytes(whole));
        Ok(())
    }

    fn float(&mut self) -> Result<(), Refused> {
        let number = serde_json::Number::from_f64(f64::from_be_bytes(self.take()?));
        self.push(Node::Plain(number.ok_or(UNKNOWN)?.to_string()));
        Ok(())
    }

    fn text(&mut self, length: usize) -> Result<(), Refused> {
        let bytes = self.bytes(length)?;
        // Python has texts with halves of characters, which are no UTF-8.
        let text = String::from_utf8(bytes).map_err(|_| UNKNOWN)?;
        self.push(Node::Text(text));
        Ok(())
    }

    /// Adds to the list on top.
    fn append(&mut self, items: &[usize]) -> Result<(), Refused> {
        match self.stack.last().map(|top| &mut self.nodes[*top]) {
            Some(Node::List(list)) => list.extend(items),
            _ => return Err(BROKEN),
        }
        Ok(())
    }

    /// Sets keys of the object on top: a key and a value in turn.
    fn set(&mut self, items: &[usize]) -> Result<(), Refused> {
        let (pairs, rest) = items.as_chunks::<2>();
        match self.stack.last().map(|top| &mut self.nodes[*top]) {
            Some(Node::Object(object)) if rest.is_empty() => {
                object.extend(pairs.iter().map(|[key, value]| (*key, *value)));
            }
            _ => return Err(BROKEN),
        }
        Ok(())
    }

    fn write(&self, place: usize, depth: usize, json: &mut String) -> Result<(), Refused> {
        if depth > DEPTH_MAX || json.len() > JSON_BYTES_MAX {
            return Err("they are too long or too deep");
        }
        match &self.nodes[place] {
            Node::Plain(text) => json.push_str(text),
            Node::Text(text) => write_text(text, json),
            Node::List(items) => {
                json.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        json.push(',');
                    }
                    self.write(*item, depth + 1, json)?;
                }
                json.push(']');
            }
            Node::Object(pairs) => {
                json.push('{');
                for (n, (key, value)) in pairs.iter().enumerate() {
                    if n > 0 {
                        json.push(',');
                    }
                    let Node::Text(key) = &self.nodes[*key] else { return Err(UNKNOWN) };
                    write_text(key, json);
                    json.push(':');
                    self.write(*value, depth + 1, json)?;
                }
                json.push('}');
            }
        }
        Ok(())
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is what CPython 3.11 writes for the value, with the protocol in the first bytes.
    #[test]
    fn plain_values_are_read() {
        let cases: [(&[u8], &str); 6] = [
            (b"\x80\x05N.", "null"),
            // [True, -5, 70000, 2**64, -2**63]
            (b"\x80\x05\x95\x26\0\0\0\0\0\0\0]\x94(\x88J\xfb\xff\xff\xffJp\x11\x01\0\x8a\t\0\0\0\0\0\0\0\0\x01\x8a\x08\0\0\0\0\0\0\0\x80e.",
             "[true,-5,70000,18446744073709551616,-9223372036854775808]"),
            // (1, (2, 3), (), {})
            (b"\x80\x05\x95\x0f\0\0\0\0\0\0\0(K\x01K\x02K\x03\x86\x94)}\x94t\x94.", "[1,[2,3],[],{}]"),
            // x = ["a"]; [x, x] in protocol 2
            (b"\x80\x02]q\0(]q\x01X\x01\0\0\0aq\x02ah\x01e.", r#"[["a"],["a"]]"#),
            // {"a": 1, "b": {"c": 0.5}}
            (b"\x80\x05\x95\x20\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94K\x01\x8c\x01b\x94}\x94\x8c\x01c\x94G?\xe0\0\0\0\0\0\0su.",
             r#"{"a":1,"b":{"c":0.5}}"#),
            (b"\x80\x05\x8c\x06a\"\\\n\xc3\xa9\x94.", r#""a\"\\\né""#),
        ];
        for (pickle, json) in cases {
            assert_eq!(to_json(pickle).as_deref(), Ok(json));
        }
    }

    #[test]
    fn what_is_not_plain_is_refused() {
        // datetime.date(2026, 1, 31), set(), b"x", float("nan"), {1: 2}
        let refused: [&[u8]; 5] = [
            b"\x80\x05\x95 \0\0\0\0\0\0\0\x8c\x08datetime\x94\x8c\x04date\x94\x93\x94C\x04\x07\xea\x01\x1f\x94\x85\x94R\x94.",
            b"\x80\x05\x8f\x94.",
            b"\x80\x05C\x01x\x94.",
            b"\x80\x05G\x7f\xf8\0\0\0\0\0\0.",
            b"\x80\x05}\x94K\x01K\x02s.",
        ];
        for pickle in refused {
            assert_eq!(to_json(pickle), Err(UNKNOWN));
        }
    }

    #[test]
    fn broken_pickles_do_no_harm() {
        let broken: [&[u8]; 10] = [
            b"",
            b".",
            b"t.",
            b"a.",
            b"K\x01K\x02a.",
            b"(K\x01u.",
            b"\x8c\xffa.",
            b"h\x07.",
            b"\x85.",
            b"(e.",
        ];
        for pickle in broken {
            assert!(to_json(pickle).is_err(), "{pickle:?}");
        }
        // A list in itself, and one that doubles with each level.
        assert!(to_json(b"\x80\x05]\x94h\0a.").is_err());
        let mut doubles = b"\x80\x05]q\0".to_vec();
        for n in 0..64u8 {
            doubles.extend([b']', b'q', n + 1, b'(', b'h', n, b'h', n, b'e']);
        }
        doubles.push(b'.');
        assert!(to_json(&doubles).is_err());
    }
}

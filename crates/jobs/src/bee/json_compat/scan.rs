//! One walk through a JSON text: is it JSON, and where do its objects stand?

use std::{borrow::Cow, ops::Range};

use super::{Error, MAX_DEPTH, number, string};

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member<'t> {
    /// Its key, without escapes.
    pub(super) key: Cow<'t, str>,
    /// Key and value in the text, without the comma.
    pub(super) span: Range<usize>,
}

/// Tells which members stay and in which order, by their positions.
pub(super) type Order = fn(&[Member<'_>]) -> Vec<usize>;

/// What a walk through a text found.
#[derive(Debug)]
pub(super) struct Scan {
    /// Whether there is white space between the tokens.
    pub(super) spaced: bool,
    /// The objects whose members have to move, in the order in which they begin.
    pub(super) moved: Vec<Object>,
}

/// An object whose members have to move.
#[derive(Debug)]
pub(super) struct Object {
    /// From brace to brace.
    pub(super) span: Range<usize>,
    /// Its members where they stand now, in the order they are to have.
    pub(super) members: Vec<Range<usize>>,
}

/// Checks a text and finds the objects that `order` would change.
pub(super) fn scan(text: &str, order: Order) -> Result<Scan, Error> {
    let mut scanner = Scanner {
        text,
        order,
        at: 0,
        spaced: false,
        open: Vec::new(),
        members: Vec::new(),
        objects: Vec::new(),
    };
    scanner.run()?;
    let moved = scanner.objects.into_iter().filter(|object| !object.members.is_empty()).collect();
    Ok(Scan { spaced: scanner.spaced, moved })
}

struct Scanner<'t> {
    text: &'t str,
    order: Order,
    at: usize,
    spaced: bool,
    open: Vec<Open>,
    /// Members of the open objects, those of the innermost last.
    members: Vec<Member<'t>>,
    /// All objects that are not empty; `members` is, unless they have to move.
    objects: Vec<Object>,
}

/// A list or object whose end was not seen yet.
enum Open {
    List,
    Object { at: usize, first_member: usize },
}

impl<'t> Scanner<'t> {
    // A loop and a stack of its own: nesting in the text must not become nesting of calls.
    fn run(&mut self) -> Result<(), Error> {
        loop {
            if !self.begin_value()? {
                continue;
            }
            if !self.end_values()? {
                break;
            }
        }
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.expected("the end"));
        }
        Ok(())
    }

    /// Reads a value, or only the beginning of a list or object: then the answer is no.
    fn begin_value(&mut self) -> Result<bool, Error> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => {
                let start = self.open_bracket()?;
                if self.eat(b'}') {
                    return Ok(true);
                }
                let first_member = self.members.len();
                self.open.push(Open::Object { at: self.objects.len(), first_member });
                self.objects.push(Object { span: start..start, members: Vec::new() });
                self.begin_member()?;
                return Ok(false);
            }
            Some(b'[') => {
                self.open_bracket()?;
                if self.eat(b']') {
                    return Ok(true);
                }
                self.open.push(Open::List);
                return Ok(false);
            }
            Some(b'"') => self.at = string::end(self.text, self.at)?,
            Some(b'-' | b'0'..=b'9') => self.at = number::end(self.text, self.at)?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => return Err(self.expected("a value")),
        }
        Ok(true)
    }

    /// After a value: closes what ends with it. Whether another value has to follow.
    fn end_values(&mut self) -> Result<bool, Error> {
        loop {
            match self.open.last() {
                None => return Ok(false),
                Some(Open::List) => {
                    if self.eat(b',') {
                        return Ok(true);
                    }
                    if !self.eat(b']') {
                        return Err(self.expected("\",\" or \"]\""));
                    }
                }
                Some(&Open::Object { at, first_member }) => {
                    if let Some(member) = self.members.last_mut() {
                        member.span.end = self.at;
                    }
                    if self.eat(b',') {
                        self.begin_member()?;
                        return Ok(true);
                    }
                    if !self.eat(b'}') {
                        return Err(self.expected("\",\" or \"}\""));
                    }
                    self.close_object(at, first_member);
                }
            }
            self.open.pop();
        }
    }

    fn open_bracket(&mut self) -> Result<usize, Error> {
        let start = self.at;
        if self.open.len() >= MAX_DEPTH {
            return Err(Error::TooDeep { at: start });
        }
        self.at += 1;
        Ok(start)
    }

    fn begin_member(&mut self) -> Result<(), Error> {
        self.skip_space();
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.expected("a key in double quotes"));
        }
        self.at = string::end(self.text, start)?;
        let key = string::decode(&self.text[start + 1..self.at - 1]);
        self.members.push(Member { key, span: start..start });
        if !self.eat(b':') {
            return Err(self.expected("\":\""));
        }
        Ok(())
    }

    fn close_object(&mut self, at: usize, first_member: usize) {
        let members = &self.members[first_member..];
        if members.len() > 1 {
            let order = (self.order)(members);
            let same = order.len() == members.len() && order.is_sorted();
            if !same {
                let object = &mut self.objects[at];
                object.span.end = self.at;
                object.members = order.iter().map(|&member| members[member].span.clone()).collect();
            }
        }
        self.members.truncate(first_member);
    }

    fn word(&mut self, word: &'static str) -> Result<(), Error> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Goes past a byte and the white space before it, if it is the next token.
    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
            self.spaced = true;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expected(&self, expected: &'static str) -> Error {
        Error::NotJson { expected, at: self.at }
    }
}

//! A JSON text with the members of its objects in another order.

use std::{borrow::Cow, ops::Range};

use super::{
    Error,
    scan::{Object, Order, scan},
    string,
};

/// The same JSON, compact, with every object's members as `order` wants them.
pub(super) fn reorder(text: &str, order: Order) -> Result<Cow<'_, str>, Error> {
    let found = scan(text, order)?;
    if found.spaced {
        let packed = pack(text);
        return Ok(Cow::Owned(reorder(&packed, order)?.into_owned()));
    }
    if found.moved.is_empty() {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    Mover { text, moved: &found.moved }.copy(0..text.len(), &mut out);
    Ok(Cow::Owned(out))
}

/// A checked text without the white space between its tokens.
fn pack(text: &str) -> String {
    let mut packed = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        let end = at + if byte == b'"' { string::length(&text[at..]) } else { 1 };
        if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            packed.push_str(&text[at..end]);
        }
        at = end;
    }
    packed
}

struct Mover<'t> {
    text: &'t str,
    moved: &'t [Object],
}

impl Mover<'_> {
    /// Copies a part of the text. Calls itself for objects in objects, so `MAX_DEPTH` is its limit too.
    fn copy(&self, span: Range<usize>, out: &mut String) {
        let first = self.moved.partition_point(|object| object.span.start < span.start);
        let mut at = span.start;
        for object in &self.moved[first..] {
            if object.span.start >= span.end {
                break;
            }
            // Not those inside an object that was copied already.
            if object.span.start >= at {
                out.push_str(&self.text[at..object.span.start]);
                self.copy_object(object, out);
                at = object.span.end;
            }
        }
        out.push_str(&self.text[at..span.end]);
    }

    fn copy_object(&self, object: &Object, out: &mut String) {
        let mut separator = '{';
        for member in &object.members {
            out.push(separator);
            self.copy(member.clone(), out);
            separator = ',';
        }
        out.push('}');
    }
}

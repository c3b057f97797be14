//! Replies and commands as bytes.

use crate::{num::format_double, reply::Reply};

/// Writes a command as an array of bulk strings.
pub(crate) fn encode_command(out: &mut Vec<u8>, args: &[&[u8]]) {
    header(out, b'*', args.len());
    for arg in args {
        bulk(out, arg);
    }
}

/// Writes a reply in the given protocol version. Version 2 has fewer types, so richer ones are flattened as Redis does.
pub(crate) fn encode_reply(out: &mut Vec<u8>, reply: &Reply, resp: u8) {
    let resp3 = resp >= 3;
    match reply {
        Reply::Status(text) => line(out, b'+', text.as_bytes()),
        Reply::Error(error) => line(out, b'-', error.text().as_bytes()),
        Reply::Int(n) => number(out, b':', *n),
        Reply::Bulk(bytes) => bulk(out, bytes),
        Reply::Nil if resp3 => out.extend_from_slice(b"_\r\n"),
        Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
        Reply::NilArray if resp3 => out.extend_from_slice(b"_\r\n"),
        Reply::NilArray => out.extend_from_slice(b"*-1\r\n"),
        Reply::Double(n) if resp3 => line(out, b',', format_double(*n).as_bytes()),
        Reply::Double(n) => bulk(out, format_double(*n).as_bytes()),
        Reply::Bool(yes) if resp3 => {
            out.extend_from_slice(if *yes { b"#t\r\n" } else { b"#f\r\n" })
        }
        Reply::Bool(yes) => number(out, b':', i64::from(*yes)),
        Reply::Array(items) => aggregate(out, b'*', items, resp),
        Reply::Set(items) => aggregate(out, if resp3 { b'~' } else { b'*' }, items, resp),
        Reply::Push(items) => aggregate(out, if resp3 { b'>' } else { b'*' }, items, resp),
        Reply::Map(pairs) => {
            if resp3 {
                header(out, b'%', pairs.len());
            } else {
                header(out, b'*', pairs.len() * 2);
            }
            for (field, value) in pairs {
                encode_reply(out, field, resp);
                encode_reply(out, value, resp);
            }
        }
        Reply::Verbatim(text) if resp3 => {
            header(out, b'=', text.len() + 4);
            out.extend_from_slice(b"txt:");
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        Reply::Verbatim(text) => bulk(out, text.as_bytes()),
        Reply::Several(replies) => replies.iter().for_each(|reply| encode_reply(out, reply, resp)),
        Reply::None => {}
    }
}

fn aggregate(out: &mut Vec<u8>, mark: u8, items: &[Reply], resp: u8) {
    header(out, mark, items.len());
    for item in items {
        encode_reply(out, item, resp);
    }
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn header(out: &mut Vec<u8>, mark: u8, n: usize) {
    number(out, mark, n as i64);
}

fn number(out: &mut Vec<u8>, mark: u8, n: i64) {
    line(out, mark, itoa::Buffer::new().format(n).as_bytes());
}

fn line(out: &mut Vec<u8>, mark: u8, text: &[u8]) {
    out.push(mark);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

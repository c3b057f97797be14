//! The JSON that Node hives and their scripts make of each other's JSON.
//!
//! Bee's scripts decode and encode everything they store with Redis' cjson, so the keys of an object come out in the
//! order of a Lua table, not in the order in which they were written. A Node worker then hashes what `JSON.stringify`
//! makes of the result, to find jobs with the same data. [`cjson_order`] and [`data_hash`] do the same without a
//! server, so that both kinds of hives agree on which jobs are duplicates.
//!
//! Two things that cjson does are not repeated: it cuts numbers to 14 digits and turns empty lists into `{}`. What is
//! stored here keeps its numbers and its lists. The hash, too, tells numbers apart that differ in a later digit:
//! two jobs for two long ids are not duplicates.
//!
//! In reading order: `scan` checks a text and finds its objects, `lua` and `script` are the two orders that their keys
//! may be put in, `reorder` moves them there, `string` and `number` are spelling.

mod lua;
mod number;
mod reorder;
mod scan;
mod script;
mod string;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// How deep lists and objects may be nested.
///
/// cjson gives up beyond 1000 levels, and an event wraps what a job holds in two more.
pub const MAX_DEPTH: usize = 998;

/// A text that cannot be stored because no Node hive could read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not JSON at all.
    #[error("the text is not JSON: expected {expected} at byte {at}")]
    NotJson {
        /// What could have gone on there.
        expected: &'static str,
        /// Where reading stopped.
        at: usize,
    },
    /// Half of a surrogate pair, which no UTF-8 text can hold.
    #[error(
        "the escape at byte {at} is half of a surrogate pair, write both halves or the character itself"
    )]
    LoneSurrogate {
        /// Where the escape begins.
        at: usize,
    },
    /// A number beyond all doubles.
    #[error("the number at byte {at} is too large for a double, send it as a string")]
    NumberTooLarge {
        /// Where the number begins.
        at: usize,
    },
    /// Lists and objects nested beyond [`MAX_DEPTH`].
    #[error("lists and objects are nested more than {MAX_DEPTH} deep at byte {at}")]
    TooDeep {
        /// Where the innermost begins.
        at: usize,
    },
}

/// The same JSON, compact, with the keys of its objects where one pass through cjson would leave them.
///
/// Strings, numbers and empty lists stay as they are written. Of equal keys the last counts. The order is not a fixed
/// point: a second pass may change it again.
///
/// ```
/// # use keyrack_jobs::bee::json_compat::cjson_order;
/// assert_eq!(cjson_order(r#"{"name": 1, "id": [], "at": 2}"#)?, r#"{"id":[],"name":1,"at":2}"#);
/// # Ok::<(), keyrack_jobs::bee::json_compat::Error>(())
/// ```
///
/// # Errors
/// When cjson could not decode the text, or not encode it again.
pub fn cjson_order(json: &str) -> Result<Cow<'_, str>, Error> {
    reorder::reorder(json, lua::order)
}

/// What `JSON.stringify(JSON.parse(…))` gives, if `json` came from cjson.
///
/// So empty lists are `{}`. Numbers have all the digits they were written with.
///
/// ```
/// # use keyrack_jobs::bee::json_compat::js_stringify;
/// assert_eq!(js_stringify(r#"[1e2, "a\/b", {"b": [], "1": -0}]"#)?, r#"[100,"a/b",{"1":0,"b":{}}]"#);
/// # Ok::<(), keyrack_jobs::bee::json_compat::Error>(())
/// ```
///
/// # Errors
/// As [`cjson_order`].
pub fn js_stringify(json: &str) -> Result<String, Error> {
    Ok(script::spell(&reorder::reorder(json, script::order)?))
}

/// The hash by which a Node worker would recognise a job, from the `data` field of the job's hash.
///
/// The field has been through cjson once; the claim that hands it to a worker is the second time.
///
/// ```
/// # use keyrack_jobs::bee::json_compat::data_hash;
/// assert_eq!(data_hash("[1]")?, "f629ae44b7b3dcfed444d363e626edf411ec69a8");
/// # Ok::<(), keyrack_jobs::bee::json_compat::Error>(())
/// ```
///
/// # Errors
/// As [`cjson_order`].
pub fn data_hash(stored: &str) -> Result<String, Error> {
    let delivered = js_stringify(&cjson_order(stored)?)?;
    Ok(sha1_smol::Sha1::from(delivered).digest().to_string())
}

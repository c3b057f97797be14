//! The W3C trace context: `traceparent` and `tracestate`.

use std::{fmt, str::FromStr, sync::Arc};

use uuid::Uuid;

/// The most bytes of a `tracestate` that are passed on.
pub const TRACESTATE_BYTES_MAX: usize = 512;
/// The most members that it may have.
const TRACESTATE_MEMBERS_MAX: usize = 32;

/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span as other programs refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    pub(crate) flags: u8,
}

/// Why a text is no `traceparent` or no `tracestate`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidContext(String);

impl TraceParent {
    /// A span of a new trace, which is recorded.
    pub(crate) fn fresh() -> TraceParent {
        TraceParent { trace_id: Uuid::new_v4().as_u128(), span_id: 0, flags: SAMPLED }.child()
    }

    /// Another span of the same trace.
    pub(crate) fn child(self) -> TraceParent {
        // The low half of such an id is random but for two bits, and never zero.
        TraceParent { span_id: Uuid::new_v4().as_u64_pair().1, ..self }
    }

    /// The span of a trace that these words always give, so that several programs agree on it.
    pub fn derived(self, words: &[&str]) -> TraceParent {
        let text = format!("{:032x} {:016x}\n{}", self.trace_id, self.span_id, words.join("\n"));
        let [first, second, ..] = digest(&text);
        TraceParent { span_id: (u64::from(first) << 32 | u64::from(second)).max(1), ..self }
    }

    /// The trace that these words always give; it has no span yet.
    pub fn trace_of(words: &[&str]) -> TraceParent {
        let [a, b, c, d, _] = digest(&words.join("\n")).map(u128::from);
        let trace_id = (a << 96 | b << 64 | c << 32 | d).max(1);
        TraceParent { trace_id, span_id: 0, flags: SAMPLED }
    }

    /// Whether spans of the trace are recorded.
    pub fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The id of the trace: 32 hexadecimal digits.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace_id)
    }
}

fn digest(text: &str) -> [u32; 5] {
    let bytes = sha1_smol::Sha1::from(text).digest().bytes();
    let mut words = [0; 5];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    words
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

impl FromStr for TraceParent {
    type Err = InvalidContext;

    fn from_str(text: &str) -> Result<TraceParent, InvalidContext> {
        parse_parent(text).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            InvalidContext(format!(
                "\"{shown}\" is no traceparent; write 00-TRACE-SPAN-FLAGS with 32, 16 and 2 lower-case hexadecimal digits, \
                 not all zero"
            ))
        })
    }
}

fn parse_parent(text: &str) -> Option<TraceParent> {
    let (version, rest) = text.split_once('-')?;
    let (trace_id, rest) = rest.split_once('-')?;
    let (span_id, rest) = rest.split_once('-')?;
    // Later versions may have more behind a further hyphen.
    let flags = match hex(version, 2)? {
        0 => rest,
        0xff => return None,
        _ => rest.split('-').next()?,
    };
    let (trace_id, span_id) = (hex(trace_id, 32)?, hex(span_id, 16)?);
    if trace_id == 0 || span_id == 0 {
        return None;
    }
    let (span_id, flags) = (u64::try_from(span_id).ok()?, u8::try_from(hex(flags, 2)?).ok()?);
    Some(TraceParent { trace_id, span_id, flags })
}

fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex =
        text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| u128::from_str_radix(text, 16).ok())?
}

/// What one program tells another about the trace: which span asks, and what tracing systems have added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    parent: TraceParent,
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// The context of these two texts.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn parse(
        traceparent: &str,
        tracestate: Option<&str>,
    ) -> Result<TraceContext, InvalidContext> {
        let parent = traceparent.parse()?;
        let state = tracestate.filter(|state| !state.is_empty()).map(checked_state).transpose()?;
        Ok(TraceContext { parent, state })
    }

    /// The same as from the headers of a request: what is not valid is passed over, as the standard has it.
    pub fn from_headers(traceparent: &str, tracestate: Option<&str>) -> Option<TraceContext> {
        TraceContext::parse(traceparent, tracestate)
            .or_else(|_| TraceContext::parse(traceparent, None))
            .ok()
    }

    /// Another span of the same trace.
    pub fn with_span(&self, parent: TraceParent) -> TraceContext {
        TraceContext { parent, state: self.state.clone() }
    }

    /// The span.
    pub fn parent(&self) -> TraceParent {
        self.parent
    }

    /// As the header `traceparent` has it.
    pub fn traceparent(&self) -> String {
        self.parent.to_string()
    }

    /// As the header `tracestate` has it.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    pub(crate) fn state(&self) -> Option<Arc<str>> {
        self.state.clone()
    }
}

impl From<TraceParent> for TraceContext {
    fn from(parent: TraceParent) -> TraceContext {
        TraceContext { parent, state: None }
    }
}

/// Checks a `tracestate`. What its members mean is known to their owners alone.
///
/// # Errors
/// When it is too long, has too many members, or one that is no `key=value` of printable characters.
fn checked_state(text: &str) -> Result<Arc<str>, InvalidContext> {
    let is_member = |member: &str| {
        let member = member.trim_matches([' ', '\t']);
        member.is_empty() || member.split_once('=').is_some_and(|(key, _)| !key.is_empty())
    };
    let wrong = if text.len() > TRACESTATE_BYTES_MAX {
        format!("{} bytes; give at most {TRACESTATE_BYTES_MAX}", text.len())
    } else if text.split(',').count() > TRACESTATE_MEMBERS_MAX {
        format!("{} members; give at most {TRACESTATE_MEMBERS_MAX}", text.split(',').count())
    } else if !text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        || !text.split(',').all(is_member)
    {
        let shown: String = text.chars().take(64).collect();
        format!("{shown:?} is no tracestate; write key=value,key=value in printable ASCII")
    } else {
        return Ok(text.into());
    };
    Err(InvalidContext(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_written_as_it_was_read() {
        let parent: TraceParent = PARENT.parse().expect("the example of the standard");
        assert_eq!(parent.to_string(), PARENT);
        assert!(parent.is_sampled());
        assert_eq!(parent.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        let unsampled = PARENT.replace("-01", "-00").parse::<TraceParent>().expect("one");
        assert!(!unsampled.is_sampled());
        let later = format!("cc{}-what-comes", &PARENT[2..]).parse::<TraceParent>();
        assert_eq!(later, Ok(parent), "of a later version the known parts are read");
    }

    #[test]
    fn what_is_no_traceparent_is_refused_with_what_to_write() {
        let zeros = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        let no_span = "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01";
        let upper = PARENT.to_uppercase();
        let more = format!("{PARENT}-more");
        let ff = PARENT.replacen("00", "ff", 1);
        for text in ["", "x", zeros, no_span, &upper, &more, &ff, &PARENT[..54], "00-é-é-é"] {
            let error = text.parse::<TraceParent>().expect_err(text).to_string();
            assert!(error.contains("is no traceparent; write 00-TRACE-SPAN-FLAGS"), "{error}");
        }
    }

    #[test]
    fn a_tracestate_is_bounded_and_kept_as_it_is() {
        let state = "congo=t61rcWkgMzE, rojo=00f067aa0ba902b7";
        let context = TraceContext::parse(PARENT, Some(state)).expect("a context");
        assert_eq!((context.traceparent().as_str(), context.tracestate()), (PARENT, Some(state)));
        let (long, many) = (format!("a={}", "b".repeat(511)), "a=1,".repeat(33));
        for state in ["congo", "=x", "a=\n", "a=é", &long, &many] {
            assert!(TraceContext::parse(PARENT, Some(state)).is_err(), "{state:?}");
            let kept = TraceContext::from_headers(PARENT, Some(state)).expect("without the state");
            assert_eq!(kept.tracestate(), None);
        }
        assert_eq!(TraceContext::from_headers("x", Some("a=1")), None);
    }

    #[test]
    fn the_same_words_give_the_same_span_and_others_another() {
        let parent: TraceParent = PARENT.parse().expect("one");
        let first = parent.derived(&["run", "job", "1"]);
        assert_eq!(first, parent.derived(&["run", "job", "1"]));
        assert_ne!(first, parent.derived(&["run", "job", "2"]));
        assert_eq!(first.trace_id(), parent.trace_id());
        assert_ne!(TraceParent::trace_of(&["a"]), TraceParent::trace_of(&["b"]));
        assert_ne!(TraceParent::fresh(), TraceParent::fresh());
    }
}

//! When two replies are the same, where order or chance or the moment plays a part.

use super::grammar::Args;
use crate::wire::Frame;

/// How the replies of a command compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Exact,
    /// Members without order.
    Unordered,
    /// Fields and values in a flat list, fields without order.
    UnorderedPairs,
    /// Numbers that depend on the moment a command ran.
    Near(i64),
    /// Random members, or numbers of our own: only the kind of reply and the count are the same.
    Shape,
    /// Nothing is the same but whether it is an error, and which.
    AnyButError,
}

/// How far two clocks readings may be apart, in milliseconds: the sides run one after the other on a busy machine.
const NEAR_MS: i64 = 5000;

/// How this command's replies compare.
pub(crate) fn mode(args: &Args) -> Mode {
    let name = args[0].to_ascii_uppercase();
    match &name[..] {
        b"TTL" | b"EXPIRETIME" => Mode::Near(NEAR_MS / 1000),
        b"PTTL" | b"PEXPIRETIME" => Mode::Near(NEAR_MS),
        b"SMEMBERS" | b"SINTER" | b"SUNION" | b"SDIFF" | b"KEYS" | b"HKEYS" | b"HVALS" => {
            Mode::Unordered
        }
        b"PUBSUB" => Mode::Unordered,
        b"HGETALL" => Mode::UnorderedPairs,
        b"RANDOMKEY" | b"SRANDMEMBER" | b"HRANDFIELD" | b"ZRANDMEMBER" | b"HELLO" => Mode::Shape,
        // Sizes are our own, and Redis tells that of a key past its time too.
        b"MEMORY" => Mode::AnyButError,
        // We have fewer commands.
        b"COMMAND" if args.get(1).is_some_and(|sub| sub.eq_ignore_ascii_case(b"count")) => {
            Mode::Shape
        }
        // Keys that are past their time count until somebody notices.
        b"DBSIZE" => Mode::Shape,
        _ => Mode::Exact,
    }
}

pub(crate) fn replies(mode: Mode, redis: &Frame, engine: &Frame) -> Result<(), String> {
    let same = match mode {
        _ if redis.is_error() || engine.is_error() => redis == engine,
        Mode::Exact => redis == engine,
        Mode::Unordered => redis.clone().unordered() == engine.clone().unordered(),
        Mode::UnorderedPairs => redis.clone().unordered_pairs() == engine.clone().unordered_pairs(),
        Mode::Shape => redis.shape() == engine.shape(),
        Mode::AnyButError => true,
        Mode::Near(by) => match (redis, engine) {
            // Negative answers are codes, not times.
            (Frame::Int(a @ 0..), Frame::Int(b @ 0..)) => (a - b).abs() <= by,
            _ => redis == engine,
        },
    };
    if same { Ok(()) } else { Err(format!("redis answers  {redis}\nengine answers {engine}")) }
}

/// Compares the replies of EXEC, each in its own way.
pub(crate) fn transaction(modes: &[Mode], redis: &Frame, engine: &Frame) -> Result<(), String> {
    match (redis, engine) {
        (Frame::Array(a), Frame::Array(b)) if a.len() == b.len() && a.len() == modes.len() => {
            for ((mode, a), b) in modes.iter().zip(a).zip(b) {
                replies(*mode, a, b)?;
            }
            Ok(())
        }
        _ => replies(Mode::Exact, redis, engine),
    }
}

/// Compares what a listening client was sent. Messages that match several patterns, and confirmations of leaving
/// everything, come in the order of a hash table.
pub(crate) fn streams(args: &Args, redis: Vec<Frame>, engine: Vec<Frame>) -> Result<(), String> {
    let first = redis.first().zip(engine.first()).filter(|_| redis.len() == 1 && engine.len() == 1);
    if let Some((redis, engine)) = first {
        return replies(mode(args), redis, engine);
    }
    let (mut a, mut b) = (redis.clone(), engine.clone());
    if mode(args) == Mode::Shape
        && let (Some(redis), Some(engine)) = (a.pop(), b.pop())
    {
        replies(Mode::Shape, &redis, &engine)?;
    }
    if normalise(a) == normalise(b) {
        return Ok(());
    }
    let show = |frames: &[Frame]| frames.iter().map(Frame::to_string).collect::<Vec<_>>().join(" ");
    Err(format!("redis sends  {}\nengine sends {}", show(&redis), show(&engine)))
}

fn normalise(frames: Vec<Frame>) -> Vec<Frame> {
    let word = |frame: &Frame| frame.clone().items().first().map(|part| part.bytes().to_vec());
    let has =
        |end: &[u8]| frames.iter().any(|frame| word(frame).is_some_and(|word| word.ends_with(end)));
    if has(b"unsubscribe") {
        // Names and counts apart: which name goes with which count depends on the order.
        let mut parts: Vec<Frame> = frames
            .into_iter()
            .flat_map(|frame| if frame.shape().1 > 0 { frame.items() } else { vec![frame] })
            .collect();
        parts.sort();
        return parts;
    }
    let mut frames = frames;
    if frames.iter().any(|frame| word(frame).as_deref() == Some(b"pmessage")) {
        frames.sort();
    }
    frames
}

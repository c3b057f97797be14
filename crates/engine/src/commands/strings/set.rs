//! Setting strings, with the options that SET and GETEX share.

use crate::{
    commands::{int, is, wrong_arity},
    ctx::Ctx,
    num::format_int,
    reply::{Error, Reply},
    types::{Str, Value},
};

pub(super) fn set(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, value) = (args[1], args[2]);
    let options = Options::parse(&args[3..], OptionSet::Set)?;
    let expires_at = options.expires_at(ctx, "set")?;
    let before = if options.get { Some(super::get::string_reply(ctx, key)?) } else { None };
    let allowed = match options.condition {
        None => true,
        Some(Condition::Absent) => !ctx.holds(key),
        Some(Condition::Present) => ctx.holds(key),
    };
    if !allowed {
        return Ok(before.unwrap_or(Reply::Nil));
    }
    if let Some(at) = expires_at {
        store_expiring(ctx, key, value, at);
    } else {
        let value = Value::Str(Str::new(value));
        if options.keeps_expiry() {
            ctx.put_keeping_expiry(key, value);
        } else {
            ctx.put(key, value);
        }
        ctx.changed(key);
    }
    Ok(before.unwrap_or(Reply::OK))
}

pub(super) fn set_nx(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if ctx.holds(args[1]) {
        return Ok(Reply::Int(0));
    }
    store(ctx, args[1], args[2]);
    Ok(Reply::Int(1))
}

pub(super) fn set_ex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let at = moment(ctx, Lifetime::Seconds, args[2], "setex")?;
    store_expiring(ctx, args[1], args[3], at);
    Ok(Reply::OK)
}

pub(super) fn pset_ex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let at = moment(ctx, Lifetime::Millis, args[2], "psetex")?;
    store_expiring(ctx, args[1], args[3], at);
    Ok(Reply::OK)
}

pub(super) fn get_set(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let before = super::get::string_reply(ctx, args[1])?;
    store(ctx, args[1], args[2]);
    Ok(before)
}

pub(super) fn mset(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let pairs = pairs(args, "mset")?;
    pairs.iter().for_each(|[key, value]| store(ctx, key, value));
    Ok(Reply::OK)
}

pub(super) fn mset_nx(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let pairs = pairs(args, "msetnx")?;
    if pairs.iter().any(|[key, _]| ctx.holds(key)) {
        return Ok(Reply::Int(0));
    }
    pairs.iter().for_each(|[key, value]| store(ctx, key, value));
    Ok(Reply::Int(1))
}

fn pairs<'a, 'b>(args: &'a [&'b [u8]], name: &str) -> Result<&'a [[&'b [u8]; 2]], Error> {
    match args[1..].as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => Err(wrong_arity(name)),
    }
}

fn store(ctx: &mut Ctx<'_>, key: &[u8], value: &[u8]) {
    ctx.put(key, Value::Str(Str::new(value)));
    ctx.changed(key);
}

/// A moment that has passed is fine: the key is gone for whoever looks next.
fn store_expiring(ctx: &mut Ctx<'_>, key: &[u8], value: &[u8], at_ms: u64) {
    ctx.put_keeping_expiry(key, Value::Str(Str::new(value)));
    ctx.set_expires_at(key, at_ms);
    ctx.changed(key);
    let mut at = itoa::Buffer::new();
    ctx.log_instead(&[b"SET", key, value, b"PXAT", at.format(at_ms).as_bytes()]);
}

/// Who takes the options: each has some of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionSet {
    Set,
    GetEx,
}

/// What SET and GETEX can be told about a key's lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    Seconds,
    Millis,
    UntilSecond,
    UntilMilli,
    Keep,
    Persist,
}

/// What must be so for SET to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Absent,
    Present,
}

/// The words after SET's value or GETEX's key.
#[derive(Debug, Default)]
pub(super) struct Options<'a> {
    condition: Option<Condition>,
    get: bool,
    /// With the number that belongs to it; of one given twice the last counts.
    lifetime: Option<(Lifetime, &'a [u8])>,
}

impl<'a> Options<'a> {
    pub(super) fn parse(args: &[&'a [u8]], taker: OptionSet) -> Result<Options<'a>, Error> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(option) = args.next() {
            if let Some(lifetime) = Lifetime::named(option, taker) {
                let number = match lifetime {
                    Lifetime::Keep | Lifetime::Persist => b"",
                    _ => *args.next().ok_or(Error::SYNTAX)?,
                };
                if options.lifetime.is_some_and(|(other, _)| other != lifetime) {
                    return Err(Error::SYNTAX);
                }
                options.lifetime = Some((lifetime, number));
            } else if taker == OptionSet::GetEx {
                return Err(Error::SYNTAX);
            } else if is(option, "nx") && options.condition != Some(Condition::Present) {
                options.condition = Some(Condition::Absent);
            } else if is(option, "xx") && options.condition != Some(Condition::Absent) {
                options.condition = Some(Condition::Present);
            } else if is(option, "get") {
                options.get = true;
            } else {
                return Err(Error::SYNTAX);
            }
        }
        Ok(options)
    }

    /// The moment that EX, PX, EXAT or PXAT gives, where there is one of them.
    pub(super) fn expires_at(&self, ctx: &Ctx<'_>, command: &str) -> Result<Option<u64>, Error> {
        match self.lifetime {
            None | Some((Lifetime::Keep | Lifetime::Persist, _)) => Ok(None),
            Some((lifetime, number)) => moment(ctx, lifetime, number, command).map(Some),
        }
    }

    pub(super) fn is_absolute(&self) -> bool {
        matches!(self.lifetime, Some((Lifetime::UntilSecond | Lifetime::UntilMilli, _)))
    }

    fn keeps_expiry(&self) -> bool {
        matches!(self.lifetime, Some((Lifetime::Keep, _)))
    }

    pub(super) fn persists(&self) -> bool {
        matches!(self.lifetime, Some((Lifetime::Persist, _)))
    }
}

impl Lifetime {
    fn named(option: &[u8], taker: OptionSet) -> Option<Lifetime> {
        const NAMES: [(&str, Lifetime); 4] = [
            ("ex", Lifetime::Seconds),
            ("px", Lifetime::Millis),
            ("exat", Lifetime::UntilSecond),
            ("pxat", Lifetime::UntilMilli),
        ];
        let own = match taker {
            OptionSet::Set => ("keepttl", Lifetime::Keep),
            OptionSet::GetEx => ("persist", Lifetime::Persist),
        };
        let mut names = NAMES.into_iter().chain([own]);
        names.find(|(name, _)| is(option, name)).map(|(_, lifetime)| lifetime)
    }
}

/// The moment a lifetime ends, in ms since the Unix epoch; it must be after 0 and before the end of time.
fn moment(ctx: &Ctx<'_>, lifetime: Lifetime, number: &[u8], command: &str) -> Result<u64, Error> {
    let number = int(number)?;
    let seconds = matches!(lifetime, Lifetime::Seconds | Lifetime::UntilSecond);
    let relative = matches!(lifetime, Lifetime::Seconds | Lifetime::Millis);
    let base = if relative { ctx.now_ms().cast_signed() } else { 0 };
    Some(number)
        .filter(|number| *number > 0)
        .and_then(|number| if seconds { number.checked_mul(1000) } else { Some(number) })
        .and_then(|ms| ms.checked_add(base))
        .map(i64::cast_unsigned)
        .ok_or_else(|| Error::new(format!("ERR invalid expire time in '{command}' command")))
}

/// Logs that a key expires at a moment.
pub(super) fn log_expiry(ctx: &mut Ctx<'_>, key: &[u8], at_ms: u64) {
    ctx.log_instead(&[b"PEXPIREAT", key, &format_int(at_ms.cast_signed())]);
}

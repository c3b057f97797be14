//! When keys expire.

use crate::{
    commands::{int, is},
    ctx::Ctx,
    num::format_int,
    reply::{Error, Reply},
};

/// How a command's number gives a moment.
#[derive(Debug, Clone, Copy)]
struct Scale {
    ms_per_unit: i64,
    /// Counted from now rather than from the Unix epoch.
    relative: bool,
}

const SECONDS: Scale = Scale { ms_per_unit: 1000, relative: true };
const MILLIS: Scale = Scale { ms_per_unit: 1, relative: true };
const AT_SECOND: Scale = Scale { ms_per_unit: 1000, relative: false };
const AT_MILLI: Scale = Scale { ms_per_unit: 1, relative: false };

pub(super) fn expire(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    set_expiry(ctx, args, SECONDS, "expire")
}

pub(super) fn pexpire(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    set_expiry(ctx, args, MILLIS, "pexpire")
}

pub(super) fn expire_at(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    set_expiry(ctx, args, AT_SECOND, "expireat")
}

pub(super) fn pexpire_at(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    set_expiry(ctx, args, AT_MILLI, "pexpireat")
}

pub(super) fn ttl(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(expiry_reply(ctx, args[1], SECONDS))
}

pub(super) fn pttl(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(expiry_reply(ctx, args[1], MILLIS))
}

pub(super) fn expire_time(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(expiry_reply(ctx, args[1], AT_SECOND))
}

pub(super) fn pexpire_time(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(expiry_reply(ctx, args[1], AT_MILLI))
}

pub(super) fn persist(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let key = args[1];
    if !ctx.holds(key) || !ctx.clear_expiry(key) {
        return Ok(Reply::Int(0));
    }
    ctx.changed(key);
    Ok(Reply::Int(1))
}

fn set_expiry(
    ctx: &mut Ctx<'_>,
    args: &[&[u8]],
    scale: Scale,
    command: &str,
) -> Result<Reply, Error> {
    let key = args[1];
    let conditions = Conditions::parse(&args[3..])?;
    let now_ms = ctx.now_ms().cast_signed();
    let base = if scale.relative { now_ms } else { 0 };
    let at = int(args[2])?
        .checked_mul(scale.ms_per_unit)
        .and_then(|ms| ms.checked_add(base))
        .ok_or_else(|| Error::new(format!("ERR invalid expire time in '{command}' command")))?;
    if !ctx.holds(key) || !conditions.allow(at, ctx.expires_at(key).map(u64::cast_signed)) {
        return Ok(Reply::Int(0));
    }
    // The log removes what has expired in commands of its own.
    if at <= now_ms && !ctx.state.loading {
        ctx.remove(key);
        ctx.changed(key);
        ctx.log_instead(&[b"DEL", key]);
    } else {
        ctx.set_expires_at(key, at.max(0).cast_unsigned());
        ctx.changed(key);
        ctx.log_instead(&[b"PEXPIREAT", key, &format_int(at)]);
    }
    Ok(Reply::Int(1))
}

/// What an expiry must be like to be set.
#[derive(Debug, Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn parse(args: &[&[u8]]) -> Result<Conditions, Error> {
        let mut conditions = Conditions::default();
        for arg in args {
            match arg {
                _ if is(arg, "nx") => conditions.nx = true,
                _ if is(arg, "xx") => conditions.xx = true,
                _ if is(arg, "gt") => conditions.gt = true,
                _ if is(arg, "lt") => conditions.lt = true,
                _ => {
                    let arg = Error::shown(arg);
                    return Err(Error::new(format!("ERR Unsupported option {arg}")));
                }
            }
        }
        let Conditions { nx, xx, gt, lt } = conditions;
        if nx && (xx || gt || lt) {
            return Err(Error::fixed(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if gt && lt {
            return Err(Error::fixed("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(conditions)
    }

    /// A key without an expiry counts as one that expires after all others.
    fn allow(&self, at: i64, current: Option<i64>) -> bool {
        match current {
            None => !self.xx && !self.gt,
            Some(current) => !(self.nx || (self.gt && at <= current) || (self.lt && at >= current)),
        }
    }
}

fn expiry_reply(ctx: &mut Ctx<'_>, key: &[u8], scale: Scale) -> Reply {
    const NO_KEY: Reply = Reply::Int(-2);
    const NO_EXPIRY: Reply = Reply::Int(-1);
    if !ctx.exists(key) {
        return NO_KEY;
    }
    let Some(at) = ctx.expires_at(key) else { return NO_EXPIRY };
    let base = if scale.relative { ctx.now_ms() } else { 0 };
    let (ms, ms_per_unit) = (at.saturating_sub(base), scale.ms_per_unit.cast_unsigned());
    // To the nearest unit.
    Reply::Int(((ms + ms_per_unit / 2) / ms_per_unit).cast_signed())
}

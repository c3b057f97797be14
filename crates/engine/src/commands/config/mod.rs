//! CONFIG: reading and changing settings.

mod ignored_settings;
mod parameters;
mod values;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::parameters::{Setting, settings};
use super::help::help;
use crate::{
    ctx::Ctx,
    glob,
    reply::{Error, Reply},
    state::{State, Stats},
    table::{Command, Flags, Group, Keys},
};

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const ADMIN: Flags = Flags::ADMIN.or(Flags::NOSCRIPT).or(ANY_TIME);

pub(super) static COMMANDS: &[Command] =
    &[Command::new("config", -2, Flags::NONE, Keys::None, help)
        .doc(Group::Server, "2.0.0", "Shows and changes settings")
        .with(SUBCOMMANDS)];

static SUBCOMMANDS: &[Command] = &[
    Command::new("config|get", -3, ADMIN, Keys::None, get).doc(
        Group::Server,
        "2.0.0",
        "Shows the settings whose names match",
    ),
    Command::new("config|set", -4, ADMIN, Keys::None, set).doc(
        Group::Server,
        "2.0.0",
        "Changes settings, all of them or none",
    ),
    Command::new("config|resetstat", 2, ADMIN, Keys::None, resetstat).doc(
        Group::Server,
        "2.0.0",
        "Sets the counters that INFO shows to zero",
    ),
    Command::new("config|rewrite", 2, ADMIN, Keys::None, rewrite).doc(
        Group::Server,
        "2.8.0",
        "Refused, as there is no configuration file",
    ),
    Command::new("config|help", 2, ANY_TIME, Keys::None, help).doc(
        Group::Server,
        "5.0.0",
        "Shows this help",
    ),
];

fn get(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    // A name may match several patterns and is told once.
    let mut found: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    for pattern in &args[2..] {
        let lower = pattern.to_ascii_lowercase();
        for setting in settings() {
            if setting.name().as_bytes() == lower {
                // An exact name is told as it was asked for.
                found.insert(pattern.to_vec(), setting.get(ctx.state));
            } else if glob::matches(&lower, setting.name().as_bytes()) {
                found.insert(setting.name().into(), setting.get(ctx.state));
            }
        }
    }
    let pairs = found.into_iter().map(|(name, value)| (Reply::Bulk(name), Reply::bulk(value)));
    Ok(Reply::Map(pairs.collect()))
}

fn set(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    if args.len() % 2 == 1 {
        return Err(Error::SYNTAX);
    }
    let mut changes: Vec<(Setting, &str)> = Vec::new();
    for pair in args[2..].chunks(2) {
        changes.push(find(pair[0], pair[1])?);
    }
    for (i, (setting, _)) in changes.iter().enumerate() {
        if changes[..i].iter().any(|(other, _)| other.name() == setting.name()) {
            return Err(failed(setting.name(), "duplicate parameter"));
        }
    }
    // Worked out on a copy, so that one bad value leaves everything as it was.
    let mut config = ctx.state.config.clone();
    for (setting, value) in changes {
        setting
            .set(ctx.state, &mut config, value)
            .map_err(|reason| failed(setting.name(), &reason))?;
    }
    ctx.state.config = config;
    apply(ctx.state);
    Ok(Reply::OK)
}

fn find<'a>(name: &[u8], value: &'a [u8]) -> Result<(Setting, &'a str), Error> {
    let name = Error::shown(name);
    let setting = settings().find(|setting| setting.name().eq_ignore_ascii_case(&name));
    let setting = setting.ok_or_else(|| {
        Error::new(format!("ERR Unknown option or number of arguments for CONFIG SET - '{name}'"))
    })?;
    let value = std::str::from_utf8(value)
        .map_err(|_| failed(setting.name(), "argument is not valid UTF-8"))?;
    Ok((setting, value))
}

fn failed(name: &str, reason: &str) -> Error {
    Error::new(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"))
}

/// Tells the parts of the engine that keep settings of their own.
fn apply(state: &State) {
    state.password.lock().clone_from(&state.config.password);
    if let (Some(log), Some(fsync)) = (&state.log, state.config.fsync)
        && log.fsync() != fsync
    {
        log.set_fsync(fsync);
    }
}

fn resetstat(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    let Stats { started_us, started_memory, .. } = ctx.state.stats;
    ctx.state.stats = Stats { started_us, started_memory, ..Stats::default() };
    Ok(Reply::OK)
}

fn rewrite(_ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Err(Error::fixed("ERR The server is running without a config file"))
}

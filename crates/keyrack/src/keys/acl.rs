//! `keyrack keys acl`: a Redis user with just the rights that keyrack needs.

mod commands;

use std::io::Write as _;

use keyrack_contract::registry;
use keyrack_keys::{Family, Layout, Origin, Registry};
use sha2::{Digest as _, Sha256};

use self::commands::COMMANDS;
use crate::{Exit, Failure, Globals};

/// Lines go into a file that the `aclfile` setting names, or after ACL SETUSER without the word `user`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// The user's name
    #[arg(long, value_name = "NAME", default_value = "keyrack")]
    user: String,
    /// The user's password, of which only the SHA-256 is printed
    #[arg(long, env = "KEYRACK_ACL_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Keys and channels as they are named on a cluster
    #[arg(long)]
    cluster: bool,
}

const AFTER_HELP: &str = "\
Put the line into the file that redis.conf names as \"aclfile\", or give it to ACL SETUSER without
the word \"user\". It needs Redis 7.0 or Valkey: Redis 6.2 has no \"%R~\", so take those patterns out
there, and then keyrack cannot read keys that other programs own.";

/// Prints the user.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    if args.user.is_empty()
        || args.user.contains(|letter: char| letter.is_whitespace() || letter == '\0')
    {
        let message = format!("\"{}\" cannot be a user's name", args.user);
        return Err(Failure::new(Exit::Usage, message).hint("it may not hold spaces").into());
    }
    let layout = if args.cluster { Layout::Cluster } else { Layout::Documented };
    let line = user(&args.user, args.password.as_deref(), layout, registry());
    if globals.json {
        globals.print_json(&serde_json::json!({ "user": args.user, "line": line }))?;
    } else {
        let mut out = globals.out();
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    if args.password.is_none() {
        globals.say("without --password nobody can log in as this user until it gets one");
    }
    Ok(Exit::Ok)
}

/// A line of an ACL file.
fn user(name: &str, password: Option<&str>, layout: Layout, registry: &Registry) -> String {
    let mut words = vec!["user".to_owned(), name.to_owned(), "reset".to_owned(), "on".to_owned()];
    words.extend(password.map(|password| format!("#{}", sha256(password))));
    // A script gets the channels it publishes on among its KEYS, so they have to pass as keys too.
    words.extend(patterns(registry.all(), layout));
    let channels = registry.channels().map(|family| format!("&{}", family.pattern(layout)));
    words.extend(channels);
    words.extend(COMMANDS.iter().flat_map(|group| group.commands).map(|name| format!("+{name}")));
    words.join(" ")
}

/// What may be read and written, and what may be read only.
fn patterns(
    families: impl Iterator<Item = &'static Family>,
    layout: Layout,
) -> impl Iterator<Item = String> {
    families.map(move |family| {
        let rights = if family.origin == Origin::Foreign { "%R~" } else { "~" };
        format!("{rights}{}", family.pattern(layout))
    })
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;

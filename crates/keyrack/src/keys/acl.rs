//! `keyrack keys acl`: a Redis user with just the rights that keyrack needs.

use std::io::Write as _;

use keyrack_contract::registry;
use keyrack_keys::Layout;
use keyrack_store::acl_user;

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
    let line = acl_user(&args.user, args.password.as_deref(), layout, registry());
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

#[cfg(test)]
mod tests;

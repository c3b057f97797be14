//! `keyrack token create`.

use std::{io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_identity::{Identity, NewToken, Role, Token, TokenScope};
use keyrack_keys::UserSub;
use serde::Serialize;

use super::ACTOR;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user: the "sub" of their tokens
    user: UserSub,
    /// A name for the token, shown in lists
    #[arg(long, value_name = "TEXT", default_value = "")]
    name: String,
    /// Role: viewer, operator or admin
    #[arg(long, default_value_t = Role::Operator)]
    role: Role,
    /// Give access to the user's own data only, not to the whole server
    #[arg(long)]
    own: bool,
    /// Expire after TIME, such as 30d [default: never]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive)]
    expires_in: Option<Duration>,
}

/// A new token as JSON.
#[derive(Serialize)]
struct CreatedJson<'a> {
    token: &'a str,
    #[serde(flatten)]
    about: &'a Token,
}

/// Makes a token.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let store = globals.open_store().await?;
    let now = store.now_ms() as f64 / 1000.0;
    let expires_at = args.expires_in.map(|time| now + time.as_secs_f64());
    let reach = if args.own { TokenScope::Own } else { TokenScope::Server };
    let new = NewToken { name: args.name, role: args.role, reach, expires_at };
    let created = Identity::new(store).create_token(ACTOR, &args.user, new).await?;
    if globals.json {
        globals.print_json(&CreatedJson { token: &created.secret, about: &created.token })?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    writeln!(out, "{}", created.secret)?;
    out.flush()?;
    globals.say(format_args!(
        "created {}; this is the only time the token is shown",
        created.token.uid
    ));
    Ok(Exit::Ok)
}

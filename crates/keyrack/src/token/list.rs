//! `keyrack token list`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_identity::{Identity, Token, TokenScope};
use keyrack_keys::UserSub;

use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only tokens of this user
    user: Option<UserSub>,
}

/// Lists tokens.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let store = globals.open_existing_store().await?;
    let now = store.now_ms() as f64 / 1000.0;
    let identity = Identity::new(store);
    let tokens = match &args.user {
        Some(user) => identity.tokens(user).await?,
        None => {
            let mut tokens = Vec::new();
            for user in identity.users().await? {
                tokens.extend(identity.tokens(&UserSub::new(user.sub)?).await?);
            }
            tokens
        }
    };
    if globals.json {
        globals.print_json(&tokens)?;
        return Ok(Exit::Ok);
    }
    if tokens.is_empty() {
        globals.say("no tokens; \"keyrack token create USER\" creates one");
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    table(&tokens, now).print(&mut out)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn table(tokens: &[Token], now: f64) -> Table {
    let mut table = Table::new(&["UID", "USER", "ROLE", "FOR", "CREATED", "EXPIRES", "NAME"]);
    for token in tokens {
        let expires = match token.expires_at {
            None => "never".into(),
            Some(_) if token.is_expired(now) => Cell::painted("expired", Some(Color::Dim)),
            Some(at) => moment(at).into(),
        };
        table.row(vec![
            token.uid.as_str().into(),
            token.user_sub.as_str().into(),
            token.role.as_str().into(),
            scope(token).into(),
            moment(token.created_at).into(),
            expires,
            token.name.as_str().into(),
        ]);
    }
    table
}

/// What the token gives access to.
fn scope(token: &Token) -> &'static str {
    match token.reach {
        _ if token.parent.is_some() => "session",
        TokenScope::Server => "server",
        TokenScope::Own => "own",
    }
}

fn moment(seconds: f64) -> String {
    format::local_s((seconds * 1000.0) as u64)
}

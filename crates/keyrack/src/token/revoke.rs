//! `keyrack token revoke`.

use keyrack_identity::{Identity, keys::TokenUid};
use keyrack_keys::UserSub;

use super::ACTOR;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The token's public name, ep_ut_uid_…, as "keyrack token list" shows it
    uid: TokenUid,
}

/// Takes a token back.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let identity = Identity::new(globals.open_existing_store().await?);
    let token = identity.token(&args.uid).await?;
    identity.delete_token(ACTOR, &UserSub::new(token.user_sub)?, &args.uid).await?;
    globals.say(format_args!("{} is not valid any more", args.uid));
    Ok(Exit::Ok)
}

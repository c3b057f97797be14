//! `keyrack token revoke`.

use keyrack_identity::{Identity, keys::TokenUid};
use keyrack_keys::UserSub;

use super::ACTOR;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Public id of the token, ep_ut_uid_…, from "keyrack token list"
    uid: TokenUid,
}

/// Takes a token back.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let identity = Identity::new(globals.open_existing_store().await?);
    let token = identity.token(&args.uid).await?;
    identity.delete_token(ACTOR, &UserSub::new(token.user_sub)?, &args.uid).await?;
    globals.say(format_args!("{} revoked", args.uid));
    Ok(Exit::Ok)
}

//! `keyrack entitlements purge`.

use keyrack_keys::UserSub;

use super::setup;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user: the "sub" of their tokens
    user: UserSub,
}

/// Deletes a user's cache. RevenueCat has the data, so it needs no confirmation.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let entitlements = setup::unasked(globals.open_existing_store().await?, globals)?;
    entitlements.purge(&args.user).await?;
    globals.say(format_args!(
        "cache of user \"{}\" deleted; the next lookup asks RevenueCat",
        args.user
    ));
    Ok(Exit::Ok)
}

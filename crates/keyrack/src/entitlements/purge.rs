//! `keyrack entitlements purge`.

use keyrack_keys::UserSub;

use super::setup;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user, by the subject of their tokens
    user: UserSub,
}

/// Forgets what is known about a user. Nothing is lost by it, so it does not ask.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let entitlements = setup::unasked(globals.open_existing_store().await?, globals)?;
    entitlements.purge(&args.user).await?;
    globals.say(format_args!("forgotten; the next read about \"{}\" asks RevenueCat", args.user));
    Ok(Exit::Ok)
}

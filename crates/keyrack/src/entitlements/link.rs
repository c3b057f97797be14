//! `keyrack entitlements link`.

use keyrack_keys::UserSub;

use super::setup;
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user: the "sub" of their tokens
    user: UserSub,
    /// The user's id at RevenueCat
    revenue_cat_id: String,
}

/// Says by which id RevenueCat knows a user.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let entitlements = setup::unasked(globals.open_store().await?, globals)?;
    entitlements.link(&args.user, &args.revenue_cat_id).await?;
    globals.say(format_args!("user \"{}\" linked", args.user));
    Ok(Exit::Ok)
}

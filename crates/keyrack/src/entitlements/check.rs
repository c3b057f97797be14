//! `keyrack entitlements check`.

use std::io::Write as _;

use keyrack_entitlements::{EntitlementLookup, Error, Origin};
use keyrack_keys::UserSub;
use serde::Serialize;

use super::{setup, show};
use crate::{Exit, Globals, table::Table};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user: the "sub" of their tokens
    user: UserSub,
    /// The entitlement
    #[arg(default_value = "pro")]
    identifier: String,
    /// Ask RevenueCat even if a cached value exists
    #[arg(long)]
    force: bool,
}

/// What was found as JSON.
#[derive(Serialize)]
struct FoundJson<'a> {
    user_sub: &'a str,
    identifier: &'a str,
    #[serde(flatten)]
    found: &'a EntitlementLookup,
}

/// Looks an entitlement up.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let store = globals.open_existing_store().await?;
    let entitlements = setup::needed(&store, globals)?.entitlements;
    let look = async || match args.force {
        true => entitlements.lookup_forced(&args.user, &args.identifier).await,
        false => entitlements.lookup(&args.user, &args.identifier).await,
    };
    let found = match look().await {
        Err(Error::UnknownUser) => {
            entitlements.ensure_customer(&args.user).await?;
            look().await?
        }
        found => found?,
    };
    let identifier = &*args.identifier;
    if globals.json {
        globals.print_json(&FoundJson {
            user_sub: args.user.as_str(),
            identifier,
            found: &found,
        })?;
        return Ok(Exit::Ok);
    }
    let value = &found.entitlement;
    let mut table = Table::new(&["ENTITLEMENT", "STATE", "UNTIL", "CHECKED", "SOURCE"]);
    let until = value.expires_at.map_or_else(|| "-".to_owned(), show::moment);
    let checked = show::moment(value.checked_at);
    let source = origin(found.origin);
    table.row(vec![
        identifier.into(),
        show::state(value),
        until.into(),
        checked.into(),
        source.into(),
    ]);
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Local => "this process",
        Origin::Store => "the store",
        Origin::Source => "RevenueCat",
        Origin::LastKnown => "the store (RevenueCat is unavailable)",
        Origin::Assumed => "assumed (RevenueCat is unavailable)",
    }
}

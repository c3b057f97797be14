//! `keyrack entitlements show`.

use std::{collections::BTreeMap, io::Write as _};

use keyrack_entitlements::Entitlement;
use keyrack_format as format;
use keyrack_keys::UserSub;
use serde::Serialize;

use super::setup;
use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The user: the "sub" of their tokens
    user: UserSub,
}

/// An entitlement as JSON.
#[derive(Serialize)]
struct EntitlementJson<'a> {
    identifier: &'a str,
    #[serde(flatten)]
    value: &'a Entitlement,
    /// Whether this was only assumed, because nobody could be asked.
    assumed: bool,
}

/// Shows what the store knows about a user.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let entitlements = setup::unasked(globals.open_existing_store().await?, globals)?;
    let values = entitlements.stored_values(&args.user).await?;
    if globals.json {
        let values = values.iter().map(|(identifier, value)| EntitlementJson {
            identifier,
            value,
            assumed: value.is_assumed(),
        });
        globals.print_json(&values.collect::<Vec<_>>())?;
        return Ok(Exit::Ok);
    }
    if values.is_empty() {
        globals.say("nothing cached; \"keyrack entitlements check\" asks RevenueCat");
        return Ok(Exit::Ok);
    }
    print(&values, globals)?;
    Ok(Exit::Ok)
}

fn print(values: &BTreeMap<String, Entitlement>, globals: &Globals) -> anyhow::Result<()> {
    let mut table = Table::new(&["ENTITLEMENT", "STATE", "UNTIL", "CHECKED"]);
    for (identifier, value) in values {
        let until = value.expires_at.map_or_else(|| "-".to_owned(), moment);
        table.row(vec![
            identifier.as_str().into(),
            state(value),
            until.into(),
            moment(value.checked_at).into(),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    Ok(out.flush()?)
}

/// Whether somebody is entitled, in a word.
pub(super) fn state(value: &Entitlement) -> Cell {
    match (value.is_active, value.is_assumed()) {
        (true, false) => Cell::painted("active", Some(Color::Green)),
        (true, true) => Cell::painted("assumed", Some(Color::Yellow)),
        (false, _) => Cell::painted("inactive", Some(Color::Dim)),
    }
}

pub(super) fn moment(seconds: f64) -> String {
    format::local_s((seconds.max(0.0) * 1000.0) as u64)
}

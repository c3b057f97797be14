//! `keyrack entitlements sweep`.

use std::io::Write as _;

use super::setup;
use crate::{Exit, Failure, Globals, settings::STRIPE_KEY};

/// Asks Stripe about open checkouts whose time it is.
pub(super) async fn run(globals: &Globals) -> anyhow::Result<Exit> {
    let store = globals.open_existing_store().await?;
    let Some(checkout) = setup::needed(&store, globals)?.checkout else {
        let failure = Failure::new(Exit::Usage, "\"stripe-key\" is not set: there is no checkout");
        return Err(failure.hint(format!("set it by {}", STRIPE_KEY.ways())).into());
    };
    let swept = checkout.sweep().await?;
    if globals.json {
        globals.print_json(&swept)?;
    } else {
        let mut out = globals.out();
        writeln!(
            out,
            "{} completed, {} expired, {} still open, {} failed, {} being finished",
            swept.completed, swept.expired, swept.open, swept.failed, swept.busy
        )?;
        out.flush()?;
    }
    Ok(if swept.failed > 0 { Exit::Failed } else { Exit::Ok })
}

//! `keyrack entitlements status`.

use std::io::Write as _;

use keyrack_entitlements::State;
use serde::Serialize;

use super::setup;
use crate::{Exit, Globals};

/// Whether RevenueCat is asked as JSON.
#[derive(Serialize)]
struct StatusJson {
    breaker: &'static str,
}

/// Tells whether RevenueCat is asked.
pub(super) async fn run(globals: &Globals) -> anyhow::Result<Exit> {
    let entitlements = setup::unasked(globals.open_existing_store().await?, globals)?;
    let (breaker, words) = match entitlements.breaker().await? {
        State::Closed => ("closed", "RevenueCat is available"),
        State::HalfOpen => {
            ("half_open", "RevenueCat was failing; single requests test whether it has recovered")
        }
        State::Open => {
            ("open", "RevenueCat is failing; using cached entitlements until it recovers")
        }
    };
    if globals.json {
        globals.print_json(&StatusJson { breaker })?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    writeln!(out, "{words}")?;
    out.flush()?;
    Ok(Exit::Ok)
}

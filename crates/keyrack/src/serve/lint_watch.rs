//! The lint that goes along with a server, if the settings ask for it.

use std::num::NonZeroU32;

use keyrack_contract::registry;
use keyrack_services::LintWatch;
use keyrack_store::Store;

use crate::{
    Exit, Failure,
    settings::{LINT_WATCH, Settings},
};

/// How many keys a second it may look into; `None` if nobody asked for it.
pub(super) fn rate(settings: &Settings) -> Result<Option<NonZeroU32>, Failure> {
    let text = settings.value(&LINT_WATCH);
    if text == "off" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let message =
            format!("\"lint-watch\" cannot be \"{text}\"; give keys a second, or \"off\"");
        Failure::new(Exit::Usage, message).hint(format!("set it by {}", LINT_WATCH.ways()))
    })
}

/// Checks the store until told to stop, which can be at any moment.
pub(super) async fn run(
    watch: LintWatch,
    store: Store,
    rate: NonZeroU32,
    stop: impl Future<Output = ()>,
) {
    tokio::select! {
        () = watch.run(&store, registry(), rate) => {}
        () = stop => {}
    }
}

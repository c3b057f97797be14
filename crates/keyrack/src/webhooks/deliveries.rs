//! `keyrack webhooks deliveries` and `replay`.

use std::{io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_services::Services;
use keyrack_webhooks::{DELIVERIES_MAX, DeliveryState, HookId};

use super::moment;
use crate::{Exit, Globals, table::Table};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The id of the webhook, wh_…
    webhook: HookId,
    /// Deliveries in this state only: waiting, done or failed [default: all]
    #[arg(long)]
    state: Option<DeliveryState>,
    /// List at most N deliveries of each state
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    limit: usize,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReplayArgs {
    /// The id of the webhook, wh_…
    webhook: HookId,
    /// The id of the event, evt_…
    #[arg(required_unless_present = "failed_since", conflicts_with = "failed_since")]
    event: Option<String>,
    /// All that were given up within the last TIME, such as 2h
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive)]
    failed_since: Option<Duration>,
}

/// Lists deliveries.
pub(super) async fn run(
    args: &Args,
    services: &Services,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let all = [DeliveryState::Waiting, DeliveryState::Failed, DeliveryState::Done];
    let limit = args.limit.clamp(1, DELIVERIES_MAX);
    let mut deliveries = Vec::new();
    for state in all.into_iter().filter(|state| args.state.is_none_or(|wanted| wanted == *state)) {
        deliveries.extend(services.webhooks.deliveries(&args.webhook, state, limit).await?);
    }
    if globals.json {
        globals.print_json(&deliveries)?;
        return Ok(Exit::Ok);
    }
    if deliveries.is_empty() {
        globals.say("no deliveries");
        return Ok(Exit::Ok);
    }
    let mut table =
        Table::new(&["EVENT", "KIND", "ABOUT", "STATE", "TRIES", "LAST TRIED", "ANSWER"]);
    for delivery in &deliveries {
        let status = delivery.status.map(|status| status.to_string());
        table.row(vec![
            delivery.id.as_str().into(),
            delivery.kind.as_str().into(),
            delivery.subject.as_str().into(),
            delivery.state.as_str().into(),
            delivery.attempts.to_string().into(),
            moment(delivery.tried_at).into(),
            delivery.error.clone().or(status).unwrap_or_default().into(),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    Ok(Exit::Ok)
}

/// Sends once more.
pub(super) async fn replay(
    args: &ReplayArgs,
    services: &Services,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let webhooks = &services.webhooks;
    let replayed = match (&args.event, args.failed_since) {
        (Some(event), _) => webhooks.replay(&args.webhook, event).await.map(|()| 1)?,
        (None, since) => {
            let since_ms = since.unwrap_or_default().as_millis() as u64;
            let from = services.store.now_ms().saturating_sub(since_ms);
            webhooks.replay_failed(&args.webhook, from).await?
        }
    };
    globals.say(format_args!("{} on the way", format::counted(replayed, "event")));
    Ok(Exit::Ok)
}

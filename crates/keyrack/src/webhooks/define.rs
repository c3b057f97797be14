//! `keyrack webhooks create` and `change`.

use std::io::Write as _;

use keyrack_services::Services;
use keyrack_webhooks::{Change, Draft, Format, HookId};

use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    /// The http or https URL to send events to [default: that of PagerDuty, for its format]
    url: Option<String>,
    /// A kind of events to send, such as job.failed; may be repeated
    #[arg(long = "event", value_name = "KIND", required = true)]
    events: Vec<String>,
    /// Send events about jobs of this queue only; may be repeated [default: all queues]
    #[arg(long = "queue", value_name = "QUEUE")]
    queues: Vec<String>,
    /// The form of the body: json, slack or pagerduty
    #[arg(long, default_value_t = Format::Json)]
    format: Format,
    /// A name, shown in lists
    #[arg(long, value_name = "TEXT", default_value = "")]
    name: String,
    /// What signs the events, 16 to 256 characters [default: a random one]
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// The integration key of a PagerDuty service
    #[arg(long, value_name = "KEY")]
    routing_key: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// The id of the webhook, wh_…
    webhook: HookId,
    /// Send events to this URL
    #[arg(long)]
    url: Option<String>,
    /// Send events of this kind only; may be repeated
    #[arg(long = "event", value_name = "KIND")]
    events: Vec<String>,
    /// Send events about jobs of this queue only; may be repeated
    #[arg(long = "queue", value_name = "QUEUE", conflicts_with = "all_queues")]
    queues: Vec<String>,
    /// Send events about jobs of all queues
    #[arg(long)]
    all_queues: bool,
    /// The form of the body: json, slack or pagerduty
    #[arg(long)]
    format: Option<Format>,
    /// A name, shown in lists
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What signs the events from now on, 16 to 256 characters
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// The integration key of a PagerDuty service
    #[arg(long, value_name = "KEY")]
    routing_key: Option<String>,
    /// Whether to send events: true or false
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
}

/// Creates a webhook.
pub(super) async fn create(
    args: CreateArgs,
    services: &Services,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let CreateArgs { url, events, queues, format, name, secret, routing_key } = args;
    let draft = Draft { url, events, queues, format, name, secret, routing_key };
    let created = services.webhooks.create(draft).await?;
    services.sync_webhooks().await?;
    if globals.json {
        globals.print_json(&created)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    writeln!(out, "{}", created.id)?;
    writeln!(out, "{}", created.secret)?;
    out.flush()?;
    globals.say("created; this is the only time the secret is shown");
    Ok(Exit::Ok)
}

/// Changes a webhook.
pub(super) async fn change(
    args: ChangeArgs,
    services: &Services,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let given = |list: Vec<String>| Some(list).filter(|list| !list.is_empty());
    let queues = if args.all_queues { Some(Vec::new()) } else { given(args.queues) };
    let change = Change {
        url: args.url,
        events: given(args.events),
        queues,
        format: args.format,
        name: args.name,
        secret: args.secret,
        routing_key: args.routing_key,
        enabled: args.enabled,
    };
    services.webhooks.change(&args.webhook, change).await?;
    services.sync_webhooks().await?;
    globals.say(format_args!("{} changed", args.webhook));
    Ok(Exit::Ok)
}

//! `keyrack webhooks`: where events are sent, and what came of it. `keyrack serve` sends them.

mod define;
mod deliveries;
mod list;

use clap::Subcommand;
use keyrack_format as format;
use keyrack_services::{Options, Services};
use keyrack_webhooks::{AllowedPrivate, HookId};

use crate::{
    Exit, Failure, Globals,
    settings::{Settings, WEBHOOKS_ALLOW_PRIVATE},
};

/// The arguments of `keyrack webhooks`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a webhook and print its secret; it cannot be shown again
    Create(Box<define::CreateArgs>),
    /// List the webhooks without their URLs and secrets
    List,
    /// Change a webhook; what is not given stays
    Change(Box<define::ChangeArgs>),
    /// Delete a webhook with all that waits for it
    Delete(Which),
    /// List deliveries: which events were sent, how often, and what was answered
    Deliveries(deliveries::Args),
    /// Send a test event
    Test(Which),
    /// Send an event once more, or all that were given up
    Replay(deliveries::ReplayArgs),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The id of the webhook, wh_…
    webhook: HookId,
}

const AFTER_HELP: &str = "\
\"keyrack serve\" sends the events. Kinds of events: job.completed, job.failed, job.canceled,
job.expired, job.duplicate, rule.fired, rule.resolved, alert.raised, alert.cleared.";

/// Runs `keyrack webhooks`.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let settings = settings(&globals.settings)?;
    let store = globals.open_existing_store().await?;
    let services = Services::new(store, Options { webhooks: settings, ..Options::default() });
    match args.command {
        Command::Create(args) => define::create(*args, &services, globals).await,
        Command::List => list::run(&services, globals).await,
        Command::Change(args) => define::change(*args, &services, globals).await,
        Command::Delete(Which { webhook }) => {
            services.webhooks.delete(&webhook).await?;
            services.sync_webhooks().await?;
            globals.say(format_args!("{webhook} deleted"));
            Ok(Exit::Ok)
        }
        Command::Deliveries(args) => deliveries::run(&args, &services, globals).await,
        Command::Test(Which { webhook }) => {
            let event = services.webhooks.send_test(&webhook).await?;
            globals.say(format_args!("{event} is on its way"));
            Ok(Exit::Ok)
        }
        Command::Replay(args) => deliveries::replay(&args, &services, globals).await,
    }
}

/// How webhooks are delivered, as the settings say.
pub(crate) fn settings(settings: &Settings) -> Result<keyrack_webhooks::Settings, Failure> {
    let list = settings.get(&WEBHOOKS_ALLOW_PRIVATE).value.as_deref().unwrap_or_default();
    let allow_private = AllowedPrivate::parse(list).map_err(|reason| {
        let message = format!("\"{}\": {reason}", WEBHOOKS_ALLOW_PRIVATE.key);
        let hint = format!("set it by {}", WEBHOOKS_ALLOW_PRIVATE.ways());
        Failure::new(Exit::Usage, message).hint(hint)
    })?;
    Ok(keyrack_webhooks::Settings { allow_private, ..keyrack_webhooks::Settings::default() })
}

/// A moment by the clock of this machine, if there was one.
fn moment(at_ms: Option<u64>) -> String {
    at_ms.map(format::local_s).unwrap_or_else(|| "-".to_owned())
}

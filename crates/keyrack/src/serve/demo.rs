//! `keyrack serve --demo`: what the demo brings for the server, and what the server has already.

use keyrack_demo::Demo;
use keyrack_jobs::recurring::Definition;
use keyrack_services::Billing;
use keyrack_store::Store;

use crate::{
    Exit, Failure, Globals,
    demo::{self, DemoArgs},
    globals::WaitArgs,
    settings::ServeFlags,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) settings: ServeFlags,
    /// Also run a demo that uses every service with made-up data
    #[arg(long)]
    demo: bool,
    #[command(flatten)]
    how: DemoArgs,
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

impl Args {
    /// The demo to run, if any.
    pub(crate) fn demo(&self) -> Result<Option<DemoArgs>, Failure> {
        if self.demo || self.how == DemoArgs::USUAL {
            return Ok(self.demo.then_some(self.how));
        }
        let message = "\"--seed\", \"--speed\" and \"--yes\" are about a demo";
        Err(Failure::new(Exit::Usage, message).hint("add --demo"))
    }
}

/// Opens a demo, and lets the server show what it has: its recurring jobs and its billing provider, where there are no others.
pub(super) async fn open(
    how: Option<DemoArgs>,
    store: &Store,
    recurring: &mut Vec<Definition>,
    billing: &mut Option<Billing>,
    globals: &Globals,
) -> anyhow::Result<Option<Demo>> {
    let Some(how) = how else { return Ok(None) };
    let mut options = how.options();
    (options.recurring, options.outages) = (recurring.is_empty(), billing.is_none());
    let demo = demo::open(store, options, globals).await?;
    if options.recurring {
        *recurring = keyrack_demo::recurring_definitions();
    }
    if billing.is_none() {
        *billing = Some(Billing { entitlements: demo.entitlements().clone(), checkout: None });
    }
    Ok(Some(demo))
}

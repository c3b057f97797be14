//! `keyrack demo`: a made-up company that keeps every service busy, for people who want to see what there is.

use keyrack_contract::registry;
use keyrack_demo::{CleanReport, Demo, Error, Options};
use keyrack_format as format;
use keyrack_store::Store;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{
    Exit, Failure, Globals, globals::WaitArgs, serve, settings::ServeFlags, signals::Signals,
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// For a demo that is served.
    #[command(flatten)]
    pub(crate) settings: ServeFlags,
    #[command(flatten)]
    how: DemoArgs,
    /// Only remove data that an earlier demo left behind
    #[arg(long)]
    pub(crate) clean: bool,
}

const AFTER_HELP: &str = "\
Without --store or --data the demo runs in memory and starts a server: open the printed address.
With a store of your own it starts no server; \"keyrack top\" and your dashboard show its data.
Every name it creates begins with \"demo\", and it removes its data when it stops. All people and
companies are made up.";

/// Options of a demo.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub(crate) struct DemoArgs {
    /// Seed of the demo's random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Speed factor, from 0.1 to 100
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    speed: f64,
    /// Run in a store that holds other data
    #[arg(long)]
    yes: bool,
}

impl DemoArgs {
    /// What is said when nothing is.
    pub(crate) const USUAL: DemoArgs = DemoArgs { seed: 1, speed: 1.0, yes: false };

    /// With recurring jobs and outages of the billing provider, unless somebody needs these for real.
    pub(crate) fn options(self) -> Options {
        let DemoArgs { seed, speed, yes } = self;
        Options { seed, speed, beside_others: yes, ..Options::default() }
    }
}

/// Runs a demo until a signal ends it.
pub(crate) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    if args.clean {
        return clean(globals).await;
    }
    let is_embedded = globals.settings.store_url()?.starts_with("embedded:");
    if is_embedded {
        // Nobody else could reach it.
        return serve::run(globals, Some(args.how), WaitArgs::default()).await;
    }
    let signals = Signals::listen(|| {})?;
    let store = globals.open_store().await?;
    globals.say(format_args!("keyrack {}", env!("CARGO_PKG_VERSION")));
    globals.say(format_args!("  store  {store}"));
    let mut demo = open(&store, args.how.options(), globals).await?;
    begin(&mut demo).await;
    globals.say("ready; stop with Ctrl-C");
    let (stop, stopped) = oneshot::channel::<()>();
    let playing = tokio::spawn(async move {
        demo.run(async { drop(stopped.await) }).await;
        demo
    });
    let signal = signals.first().await;
    globals.say(format_args!("{signal}: stopping"));
    drop(stop);
    finish(playing, globals).await;
    Ok(Exit::Ok)
}

/// Opens a demo and says so.
pub(crate) async fn open(
    store: &Store,
    options: Options,
    globals: &Globals,
) -> anyhow::Result<Demo> {
    let demo = Demo::open(store.clone(), registry(), options).await.map_err(explained)?;
    globals.say(format_args!(
        "  demo   a made-up company of 3,000 users, seed {}; it removes its data when it stops",
        options.seed
    ));
    Ok(demo)
}

/// Lets a demo begin, and run until `stop`.
pub(crate) fn play(
    mut demo: Demo,
    stop: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<Demo> {
    tokio::spawn(async move {
        begin(&mut demo).await;
        demo.run(stop).await;
        demo
    })
}

async fn begin(demo: &mut Demo) {
    if let Err(error) = demo.begin().await {
        tracing::warn!(%error, "the demo could not fill all pages");
    }
}

/// Waits for the end of a demo that was told to stop, and cleans up after it.
pub(crate) async fn finish(playing: JoinHandle<Demo>, globals: &Globals) {
    let cleaned = match playing.await {
        Ok(demo) => demo.clean(registry()).await,
        Err(error) => {
            tracing::warn!(%error, "the demo broke down");
            return globals.say("the demo failed; \"keyrack demo --clean\" removes its data");
        }
    };
    match cleaned {
        Ok(cleaned) => say_cleaned(cleaned, globals),
        Err(error) => globals.say(format_args!(
            "the demo could not clean up: {error}; \"keyrack demo --clean\" tries again"
        )),
    }
}

async fn clean(globals: &Globals) -> anyhow::Result<Exit> {
    let store = globals.open_existing_store().await?;
    let cleaned = keyrack_demo::clean(&store, registry()).await.map_err(explained)?;
    say_cleaned(cleaned, globals);
    Ok(Exit::Ok)
}

fn say_cleaned(cleaned: CleanReport, globals: &Globals) {
    if cleaned == CleanReport::default() {
        return globals.say("no demo data found");
    }
    globals.say(format_args!(
        "cleaned up after the demo: {}, and {} of keys that others use too",
        format::counted(cleaned.keys, "key"),
        format::counted(cleaned.members, "member")
    ));
}

/// What to do about it.
fn explained(error: Error) -> anyhow::Error {
    let (exit, hint) = match &error {
        Error::OtherData { .. } => (
            Exit::Conflict,
            "--yes lets it run beside them, --data DIR or --store URL somewhere else, and \"keyrack demo\" alone in memory",
        ),
        Error::NamesTaken { .. } => {
            (Exit::Conflict, "--data DIR or --store URL names another store")
        }
        Error::Running => {
            (Exit::Conflict, "stop it first; one that crashed counts as running for 15 s")
        }
        Error::Speed { .. } => (Exit::Usage, "1 is the usual speed"),
        _ => return error.into(),
    };
    Failure::new(exit, error.to_string()).hint(hint).into()
}

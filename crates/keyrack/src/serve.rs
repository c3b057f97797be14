//! `keyrack serve`: opens the store, serves HTTP and Redis clients, and stops in good order.

mod access;
mod addresses;
mod demo;
mod hot;
mod limits;
mod lint_watch;
mod rules;
mod secrets;
mod sign_in;
mod start;
mod webhooks;

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use keyrack_engine::{Engine, Listener, Recovery};
use keyrack_format as format;
use keyrack_jobs::{
    bee::{Hive, QueueSweeper, WorkerTimeouts},
    recurring::{self as scheduler, Recurring, Scheduler},
};
use keyrack_server::Server;
use keyrack_services::{Options, Services};
use keyrack_store::Store;
use keyrack_web::{MetricsQueues, Tls};
use tokio::{net::TcpListener, sync::watch};

use self::addresses::{Addresses, bind_failed};
pub(crate) use self::demo::Args;
use crate::{
    Exit, Failure, Globals,
    demo::DemoArgs,
    entitlements,
    files::{self, Sweeper},
    globals::WaitArgs,
    quotas::quotas,
    recommend, recurring,
    settings::{
        HTTP, METRICS_PREFIXES, METRICS_QUEUES, Origin, RESP, RESP_PASSWORD, Settings, TIMINGS,
    },
    signals::Signals,
};

/// How long requests and clients may take to come to an end after a first signal.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a script may take to come to an end by itself after a first signal.
const SCRIPT_TIME_MAX: Duration = Duration::from_secs(1);

/// How soon a store that did not answer is asked again.
const STORE_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Serves until a signal or a client's SHUTDOWN ends it, with a demo if one is asked for.
pub(crate) async fn run(
    globals: &Globals,
    demo: Option<DemoArgs>,
    wait: WaitArgs,
) -> anyhow::Result<Exit> {
    // From the first moment on, so that a signal during the start is not lost.
    let mut signalled = std::pin::pin!(Signals::listen(|| {})?.first());
    crate::keys::declare_for_server(globals)?;
    let access = access::access(&globals.settings)?;
    let addresses = Addresses::from_settings(&globals.settings, access.auth).await?;
    let timings = timings(&globals.settings)?;
    let works_hot_queue = hot::works_hot_queue(&globals.settings)?;
    let lint_rate = lint_watch::rate(&globals.settings)?;
    let sweeper = Sweeper::from_settings(&globals.settings)?;
    let deploys = secrets::deploys(&globals.settings)?;
    let tickets = secrets::tickets(&globals.settings)?;
    let webhook_settings = crate::webhooks::settings(&globals.settings)?;
    let tls = limits::tls(&globals.settings)?;
    let resp_tls = limits::resp_tls(&globals.settings, tls.as_ref())?;
    let quotas = quotas(&globals.settings)?;
    let http_limits = limits::http_limits(&globals.settings, limits::raise_file_limit())?;
    globals.say(format_args!("keyrack {}", env!("CARGO_PKG_VERSION")));

    // A second server on the same folder is to be told about the folder, and not about the port that it cannot have either.
    let port = TcpListener::bind(&addresses.http[..]).await.and_then(TcpListener::into_std);
    let first =
        start::FirstServer { port: port.as_ref().ok(), limits: http_limits, tls: tls.clone() };
    let store = match first.serve_until_open(globals, wait, signalled.as_mut()).await? {
        Ok(store) => store,
        Err(signal) => {
            globals.say(format_args!("{signal}: stopped"));
            return Ok(Exit::Ok);
        }
    };
    say_store(&store, globals);
    if demo.is_none()
        && store.engine().and_then(Engine::recovery).is_some_and(|found| found.commands == 0)
    {
        globals
            .say("         the store is empty; \"keyrack demo\" shows keyrack with made-up data");
    }

    let listener = port.map_err(|error| bind_failed(&globals.settings, &HTTP, &error))?;
    let listener = TcpListener::from_std(listener)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    globals.say(format_args!("  http   {scheme}://{} (the dashboard)", listener.local_addr()?));
    let resp = listen_for_redis_clients(&store, &addresses, resp_tls.as_ref(), globals).await?;
    let scheduler = scheduler(&store, globals).await?;
    let identity = sign_in::identity(&store, globals)?;
    access::greet_first_admin(&identity, globals).await;
    if let Some(sweeper) = &sweeper {
        globals.say(format_args!("  files  swept by {}", sweeper.schedule()));
    }
    let mut billing = entitlements::billing(&store, globals)?;
    let mut recurring = recurring::definitions(&globals.settings)?;
    let demo = demo::open(demo, &store, &mut recurring, &mut billing, globals).await?;
    let recommendations = recommend::recommendations(&store, globals)?;
    globals.say("ready; stop with Ctrl-C");

    let (stop, stopping) = watch::channel(false);
    // It may be stopped at any moment, so nobody waits for it.
    tokio::spawn(scheduler.run(stopped(stopping.clone())));
    tokio::spawn(keep_queues(store.clone(), timings, stopped(stopping.clone())));
    let working =
        hot::run(store.clone(), quotas.progress, works_hot_queue, sweeper, stopping.clone());
    let mut working = tokio::spawn(working);
    let (judging, stop_judging) = (rules::judge_forever(store.clone()), stopped(stopping.clone()));
    tokio::spawn(async move {
        tokio::select! { () = judging => {}, () = stop_judging => {} }
    });
    if let Some(checkout) = billing.as_ref().and_then(|billing| billing.checkout.clone()) {
        // It may be stopped at any moment: who comes next goes on with it.
        let stop = stopped(stopping.clone());
        tokio::spawn(async move {
            tokio::select! { () = entitlements::sweep_forever(checkout) => {}, () = stop => {} }
        });
    }
    let demo = demo.map(|demo| crate::demo::play(demo, stopped(stopping.clone())));
    let services = Services::new(
        store.clone(),
        Options {
            identity: Some(identity),
            recurring,
            quotas,
            tickets,
            deploys,
            billing,
            buckets: files::named_buckets(&globals.settings)?,
            recommendations: Some(recommendations),
            webhooks: webhook_settings,
        },
    );
    let services = Arc::new(services);
    let (telling, stop_telling) =
        (webhooks::deliver_forever(services.clone()), stopped(stopping.clone()));
    // It may be stopped at any moment: what was on its way is sent again.
    tokio::spawn(async move {
        tokio::select! { () = telling => {}, () = stop_telling => {} }
    });
    if let Some(rate) = lint_rate {
        let (watch, stop) = (services.lint.clone(), stopped(stopping.clone()));
        tokio::spawn(lint_watch::run(watch, store.clone(), rate, stop));
    }
    let server = Server {
        services,
        access,
        limits: http_limits,
        tls,
        reach: reach(&store, resp.as_ref(), resp_tls.is_some(), &globals.settings),
        metrics_queues: metrics_queues(&globals.settings)?,
    };
    let mut http = tokio::spawn(server.run(listener, stopped(stopping)));
    tokio::select! {
        signal = signalled => globals.say(format_args!("{signal}: stopping")),
        () = shutdown_requested(store.engine()) => globals.say("SHUTDOWN from a client: stopping"),
        ended = &mut http => {
            ended.context("the HTTP server failed")?.context("could not serve HTTP")?;
            anyhow::bail!("the HTTP server stopped unexpectedly");
        }
    }
    stop.send_replace(true);

    let drained = async {
        // Its last answers are all that can go wrong with it now.
        let http = async { drop((&mut http).await) };
        let resp = async {
            if let Some(resp) = &resp {
                resp.stop().await;
            }
        };
        let working = async { drop((&mut working).await) };
        tokio::join!(http, resp, working);
    };
    tokio::select! {
        drained = tokio::time::timeout(DRAIN_TIME_MAX, drained) => if drained.is_err() {
            globals.say(format_args!("closed the remaining connections after {} s", DRAIN_TIME_MAX.as_secs()));
        },
        () = end_scripts(store.engine()) => {}
    }
    if let Some(playing) = demo {
        crate::demo::finish(playing, globals).await;
    }
    close(&store).await?;
    // Letting go of the store would wait for a script that never ends; the end of the process does not.
    std::mem::forget(store);
    globals.say("stopped");
    Ok(Exit::Ok)
}

/// Says what was opened, and what a crash had left.
fn say_store(store: &Store, globals: &Globals) {
    match store.engine().and_then(Engine::recovery) {
        Some(recovery) => say_recovery(store, recovery, globals),
        None => globals.say(format_args!("  store  {store}")),
    }
}

fn say_recovery(store: &Store, recovery: &Recovery, globals: &Globals) {
    let found = match recovery.commands {
        0 => "nothing in it yet".to_owned(),
        commands => format!(
            "replayed {}, {}",
            format::counted(commands, "command"),
            format::bytes(recovery.bytes)
        ),
    };
    globals.say(format_args!("  store  {store} ({found})"));
    if let Some(cut) = &recovery.cut {
        let bytes = format::counted(cut.bytes, "byte");
        globals.say(format_args!(
            "         removed an incomplete write of {bytes} from \"{}\" at byte {}: {}",
            cut.path.display(),
            cut.offset,
            cut.reason
        ));
    }
}

/// What runs the jobs that the settings define, if there are any, and those of the store.
async fn scheduler(store: &Store, globals: &Globals) -> anyhow::Result<Scheduler> {
    let definitions = recurring::definitions(&globals.settings)?;
    let (has_list, settings) = (!definitions.is_empty(), scheduler::Settings::default());
    let hive = Hive::open(store.clone()).await?;
    let recurring =
        Recurring::new(hive, definitions)?.with_version(globals.settings.recurring_version());
    if !has_list {
        return Ok(Scheduler::without_list(recurring, settings));
    }
    globals.say(format_args!("  jobs   {} recurring", recurring.definitions().len()));
    Ok(Scheduler::new(recurring, settings))
}

/// Which queues have metrics of their own.
fn metrics_queues(settings: &Settings) -> Result<MetricsQueues, Failure> {
    let text = settings.value(&METRICS_QUEUES);
    let max = text.parse().map_err(|_| {
        let message = format!("\"{text}\" is no number of queues");
        Failure::new(Exit::Usage, message).hint(format!("set it by {}", METRICS_QUEUES.ways()))
    })?;
    let prefixes = access::listed(settings, &METRICS_PREFIXES);
    Ok(MetricsQueues { max, prefixes: prefixes.map(str::to_owned).collect() })
}

/// When a silent worker loses its jobs.
fn timings(settings: &Settings) -> Result<WorkerTimeouts, Failure> {
    match settings.value(&TIMINGS) {
        "keyrack" => Ok(WorkerTimeouts::KEYRACK),
        "bee" => Ok(WorkerTimeouts::BEE),
        other => {
            let message = format!("there are no timings \"{other}\"");
            Err(Failure::new(Exit::Usage, message).hint(format!("set them by {}", TIMINGS.ways())))
        }
    }
}

/// Looks after the job queues: whoever works on them over HTTP, or with Node, does not.
async fn keep_queues(store: Store, timeouts: WorkerTimeouts, stop: impl Future<Output = ()>) {
    let keeping = async {
        let hive = loop {
            match Hive::open(store.clone()).await {
                Ok(hive) => break hive,
                Err(_) => tokio::time::sleep(STORE_RETRY_PAUSE).await,
            }
        };
        QueueSweeper::new(&hive, timeouts).run(std::future::pending()).await;
    };
    tokio::select! {
        () = keeping => {}
        () = stop => {}
    }
}

/// Opens the embedded store's own port; a server has one already.
async fn listen_for_redis_clients(
    store: &Store,
    addresses: &Addresses,
    tls: Option<&Tls>,
    globals: &Globals,
) -> anyhow::Result<Option<Listener>> {
    let settings = &globals.settings;
    let Some(engine) = store.engine() else {
        if settings.get(&RESP).origin != Origin::Default {
            globals.say("  resp   not opened: Redis clients reach this store directly");
        }
        return Ok(None);
    };
    let Some(resp) = &addresses.resp else { return Ok(None) };
    set_password(store, settings).await?;
    leave_descriptors(store).await?;
    let listener = match tls {
        None => engine.listen(&resp[..]).await,
        Some(tls) => engine.listen_tls(&resp[..], tls.config()).await,
    };
    let listener = listener.map_err(|error| bind_failed(settings, &RESP, &error))?;
    let (address, flag) = (listener.local_addr(), if tls.is_some() { "--tls " } else { "" });
    globals.say(format_args!("  resp   {address} (redis-cli {flag}-p {})", address.port()));
    Ok(Some(listener))
}

/// By which URL commands reach the store while the server runs; `None` if they cannot.
fn reach(
    store: &Store,
    resp: Option<&Listener>,
    is_tls: bool,
    settings: &Settings,
) -> Option<String> {
    if store.engine().is_none() {
        return Some(store.to_string());
    }
    let address = resp?.local_addr();
    let has_password = settings.get(&RESP_PASSWORD).value.is_some();
    let scheme = if is_tls { "rediss" } else { "redis" };
    Some(format!("{scheme}://{}{address}", if has_password { ":PASSWORD@" } else { "" }))
}

/// Clients over TCP have to give the password; connections in this process do not.
async fn set_password(store: &Store, settings: &Settings) -> anyhow::Result<()> {
    let Some(password) = &settings.get(&RESP_PASSWORD).value else { return Ok(()) };
    let mut command = redis::cmd("CONFIG");
    command.arg("SET").arg("requirepass").arg(password);
    let set = command.exec_async(&mut store.connection()).await;
    set.context("could not set the password of the RESP port")
}

/// Leaves half of the descriptors to HTTP clients, the log and the rest of the process.
async fn leave_descriptors(store: &Store) -> anyhow::Result<()> {
    let mut connection = store.connection();
    let mut get = redis::cmd("CONFIG");
    get.arg("GET").arg("maxclients");
    let (_, clients): (String, usize) = get.query_async(&mut connection).await?;
    let mut set = redis::cmd("CONFIG");
    set.arg("SET").arg("maxclients").arg(clients.min(limits::resp_connections()));
    set.exec_async(&mut connection).await.context("could not limit the clients of the RESP port")
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error says that the sender is gone, which is as good a reason to stop.
    let _ = stopping.wait_for(|stop| *stop).await;
}

async fn shutdown_requested(engine: Option<&Engine>) {
    match engine {
        Some(engine) => engine.shutdown_requested().await,
        None => std::future::pending().await,
    }
}

/// Ends scripts that hold up the end. One that has written cannot be ended; nothing of it is kept if the process ends.
async fn end_scripts(engine: Option<&Engine>) {
    let Some(engine) = engine else { return std::future::pending().await };
    loop {
        engine.end_script(SCRIPT_TIME_MAX);
        tokio::time::sleep(SCRIPT_TIME_MAX / 10).await;
    }
}

/// Writes what is left to disk, on a thread that may wait for it.
async fn close(store: &Store) -> anyhow::Result<()> {
    let Some(engine) = store.engine().cloned() else { return Ok(()) };
    let closed = tokio::task::spawn_blocking(move || engine.close()).await?;
    closed.context("could not close the store")
}

//! The engine as a program of its own: a Redis server in one small binary.

mod files;
mod memory;
mod options;

use std::{
    io::{self, Write},
    net::SocketAddr,
    process::ExitCode,
    time::Duration,
};

use keyrack_engine::{Engine, Listener};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    memory::CountedSystem,
    options::{HELP, Options, Request},
};

#[global_allocator]
static ALLOCATOR: CountedSystem = keyrack_engine::CountingAllocator(std::alloc::System);

/// How long clients may take to read their last answers.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    memory::describe();
    let options = match options::parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(options)) => options,
        Ok(Request::Help) => {
            say(HELP.trim_end());
            return ExitCode::SUCCESS;
        }
        Ok(Request::Version) => {
            say(concat!("keyrack-engine ", env!("CARGO_PKG_VERSION")));
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            complain(&error);
            return ExitCode::from(2);
        }
    };
    match start(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Tells the user something. It is not worth stopping for if nobody listens any more.
fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "keyrack-engine: {text}");
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

type Failure = Box<dyn std::error::Error>;

fn start(options: &Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.threads)
        .enable_all()
        .build()?;
    let engine = open(options)?;
    let result = runtime.block_on(serve(&engine, options));
    // A script that never ends keeps its thread; the process ends all the same.
    runtime.shutdown_background();
    result?;
    engine.close()?;
    Ok(())
}

fn open(options: &Options) -> Result<Engine, Failure> {
    let clients_max = files::make_room(options.clients_max);
    if clients_max < options.clients_max {
        say(&format!("only {clients_max} clients at a time: the system allows no more open files"));
    }
    let mut builder = Engine::builder()
        .fsync(options.fsync)
        .databases(options.databases)
        .clients_max(clients_max);
    if let Some(password) = &options.password {
        builder = builder.password(password);
    }
    let Some(dir) = &options.dir else {
        say("in memory: nothing is kept on disk");
        return Ok(builder.open_in_memory());
    };
    let engine = builder.open(dir)?;
    if let Some(recovery) = engine.recovery() {
        let (commands, bytes) = (recovery.commands, recovery.bytes);
        say(&format!("opened \"{}\": {commands} commands, {bytes} bytes", dir.display()));
        if let Some(cut) = &recovery.cut {
            let path = cut.path.display();
            say(&format!("cut {} bytes off \"{path}\": {}", cut.bytes, cut.reason));
        }
    }
    Ok(engine)
}

async fn serve(engine: &Engine, options: &Options) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let address = SocketAddr::new(options.bind, options.port);
    let listener = engine
        .listen(address)
        .await
        .map_err(|error| format!("could not listen on {address}: {error}"))?;
    say(&format!("listening on {}", listener.local_addr()));
    if !options.bind.is_loopback() && options.password.is_none() {
        say(concat!(
            "warning: everybody who can reach this address can read and change all data; ",
            "set --requirepass"
        ));
    }
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = engine.shutdown_requested() => {}
    }
    say("stopping");
    tokio::select! {
        () = stop(engine, &listener) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// Lets clients have their answers, but not for ever.
async fn stop(engine: &Engine, listener: &Listener) {
    if tokio::time::timeout(STOP_TIMEOUT, listener.stop()).await.is_err() {
        engine.end_script(STOP_TIMEOUT);
        // Only a script that has written can hold this up too, and it would do so as long as it runs.
        let _ = tokio::time::timeout(STOP_TIMEOUT, listener.stop()).await;
    }
}

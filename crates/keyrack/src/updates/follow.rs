//! `keyrack updates follow`.

use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use keyrack_updates::{Follower, Reason, UpdateLock, Updates, keys::Repo};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process;

use super::repo;
use crate::{Exit, Globals, signals::Signals};

/// The arguments of `keyrack updates follow`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The repository
    #[arg(value_parser = repo)]
    repo: Repo,
    /// The command, run with "sh -c"
    #[arg(long, value_name = "LINE")]
    exec: String,
    /// Run on one host at a time: wait while another host runs its command
    #[arg(long)]
    one_at_a_time: bool,
    /// Also run the command at the start
    #[arg(long)]
    at_start: bool,
    /// Stop after the first run; exit with 1 if it failed
    #[arg(long)]
    once: bool,
}

const AFTER_HELP: &str = "\
Announcements during a run are merged into one rerun. A lost connection also causes a rerun, because
an announcement may have been missed. KEYRACK_REPO is in the command's environment. The first SIGTERM
or Ctrl-C lets a running command finish; the second stops at once.";

/// Runs a command on each update until told to stop.
pub(super) async fn run(args: Args, updates: &Updates, globals: &Globals) -> anyhow::Result<Exit> {
    let running = Running::default();
    let to_kill = running.clone();
    let signals = Signals::listen(move || to_kill.kill())?;
    let mut follower = updates.follow(args.repo.clone()).await?;
    globals.say(format_args!("following \"{}\"; stop with Ctrl-C", args.repo));
    let mut stop = std::pin::pin!(signals.first());
    let mut is_first = args.at_start;
    loop {
        let turn = tokio::select! {
            biased;
            signal = &mut stop => {
                globals.say(format_args!("{signal}: stopping"));
                return Ok(Exit::Ok);
            }
            turn = next(&mut follower, &mut is_first, &args, updates, globals) => turn?,
        };
        // A command that was begun comes to its end, whatever signal comes meanwhile.
        let ended = match &turn {
            Some(turn) => turn.during(running.command(&args)).await,
            None => running.command(&args).await,
        };
        if let Some(turn) = turn
            && let Err(error) = turn.end().await
        {
            globals.say(format_args!("the next host has to wait a minute: {error}"));
        }
        let ended = ended?;
        match ended.success() {
            true => globals.say("updated"),
            false => globals.say(format_args!("the command failed: {ended}")),
        }
        if args.once {
            return Ok(if ended.success() { Exit::Ok } else { Exit::Failed });
        }
    }
}

/// Waits for the next update, and for this host's turn if it is to. What is announced until then is part of the same update.
async fn next(
    follower: &mut Follower,
    is_first: &mut bool,
    args: &Args,
    updates: &Updates,
    globals: &Globals,
) -> anyhow::Result<Option<UpdateLock>> {
    let reason = match std::mem::take(is_first) {
        true => "this is the start",
        false => match follower.next().await {
            Reason::Announced => "something new was announced",
            Reason::MayHaveMissed => {
                "the connection was lost, so something may have been announced"
            }
        },
    };
    if !args.one_at_a_time {
        globals.say(format_args!("updating: {reason}"));
        return Ok(None);
    }
    globals.say(format_args!("waiting for the turn to update: {reason}"));
    let holder = format!("{}:{}", host(), std::process::id());
    let turn = updates.turn(&args.repo, &holder).await?;
    follower.take_pending();
    globals.say("updating");
    Ok(Some(turn))
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The command that runs, if one does. What it leaves behind on purpose, such as a restarted service, lives on.
#[derive(Debug, Clone, Default)]
struct Running(Arc<Mutex<Option<Pid>>>);

impl Running {
    async fn command(&self, args: &Args) -> io::Result<ExitStatus> {
        let mut command = process::Command::new("sh");
        command.arg("-c").arg(&args.exec).env("KEYRACK_REPO", args.repo.as_str());
        // A group of its own, which a Ctrl-C in the terminal does not reach.
        command.stdin(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        self.set(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let ended = child.wait().await;
        self.set(None);
        ended
    }

    fn set(&self, pid: Option<Pid>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }

    fn kill(&self) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // A group that is gone needs no signal.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

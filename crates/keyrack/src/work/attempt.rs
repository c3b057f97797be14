//! Running the command once, for one job.

use std::{io, pin::pin, process::ExitStatus, sync::Arc, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{
    Failure, Job, RESULT_BYTES_MAX,
    logs::LogLevel,
    worker::{Context, Stop},
};
use serde_json::{Value as Json, value::RawValue};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{
    command::Command,
    exit_status::{self, Stdout},
    group::{Group, Groups},
    stderr::{self, Said},
    tally::{Ended, Tally},
};

/// How the attempts of a worker are made.
#[derive(Debug)]
pub(super) struct Attempts {
    pub(super) command: Command,
    pub(super) groups: Groups,
    pub(super) time_limit: Duration,
    pub(super) grace: Duration,
    pub(super) tally: Arc<Tally>,
}

/// How long the pipes of a command that has ended, and of all its group, may stay open.
const PIPES_GRACE: Duration = Duration::from_secs(3);
/// How long telling progress may take; the next may be told soon.
const PROGRESS_TIME_MAX: Duration = Duration::from_millis(500);

/// Why a command is no longer running.
enum AttemptEnd {
    ByItself,
    TooLong,
    Stopped(Stop),
}

impl Attempts {
    /// Runs the command for a job. What it returns is the job's result.
    pub(super) async fn run(&self, context: Context) -> Result<Box<RawValue>, Failure> {
        let started = Instant::now();
        let result = self.attempt(&context).await;
        let ended = Ended::of(&result, context.stop_reason());
        self.tally.note(context.job(), started.elapsed(), &ended);
        result
    }

    async fn attempt(&self, context: &Context) -> Result<Box<RawValue>, Failure> {
        let (mut child, group) = self.start(context)?;
        let pipes = Pipes::of(&mut child);
        let mut talk = pin!(pipes.talk(context));
        let mut live = pin!(self.live(child, group, context));
        let mut said = None;
        let (end, status) = loop {
            tokio::select! {
                ended = &mut live => break ended?,
                talked = &mut talk, if said.is_none() => said = Some(talked),
            }
        };
        match end {
            AttemptEnd::ByItself | AttemptEnd::Stopped(Stop::Shutdown) => {}
            AttemptEnd::TooLong => {
                let limit = format::duration::typed(self.time_limit(context));
                let message = format!("the command took longer than {limit} and was stopped");
                return Err(Failure::new(message));
            }
            // Nobody asks for the end of a job that is no longer ours.
            AttemptEnd::Stopped(Stop::Canceled | Stop::Lost) => {
                return Err(Failure::new("the job was stopped"));
            }
        }
        let said = match said {
            Some(said) => said,
            None => timeout(PIPES_GRACE, talk).await.unwrap_or_else(|_| Err(held_open())),
        };
        match said {
            Ok((stdout, said)) => exit_status::of(status, stdout, &said),
            // How it ended says more than what could not be read of it.
            Err(_) if !status.success() => {
                exit_status::of(status, Stdout::default(), &Said::default())
            }
            Err(failure) => Err(failure),
        }
    }

    /// How long an attempt may take: as the job or its queue says, or the worker.
    fn time_limit(&self, context: &Context) -> Duration {
        context.time_limit().unwrap_or(self.time_limit)
    }

    fn start(&self, context: &Context) -> Result<(Child, Group), Failure> {
        let trace = context.trace();
        self.groups.start(self.command.of(context.job(), trace.as_ref())).map_err(|error| {
            Failure::new(format!("could not start \"{}\": {error}", self.command.name()))
        })
    }

    /// Waits for the command's end, or brings it about. Then what it has left running is killed, which would keep its
    /// pipes open.
    async fn live(
        &self,
        mut child: Child,
        group: Group,
        context: &Context,
    ) -> Result<(AttemptEnd, ExitStatus), Failure> {
        let (end, status) = tokio::select! {
            status = child.wait() => (AttemptEnd::ByItself, status),
            reason = context.stopped() => {
                (AttemptEnd::Stopped(reason), group.stop(&mut child, self.grace).await)
            }
            () = sleep(self.time_limit(context)) => (AttemptEnd::TooLong, group.stop(&mut child, self.grace).await),
        };
        Ok((end, status.map_err(unwatched)?))
    }
}

/// The command's end of our talk with it.
struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

impl Pipes {
    fn of(child: &mut Child) -> Pipes {
        Pipes {
            stdin: child.stdin.take().expect("started with a pipe"),
            stdout: child.stdout.take().expect("started with a pipe"),
            stderr: child.stderr.take().expect("started with a pipe"),
        }
    }

    /// Gives the command its job, and takes what it writes: the result, and what it said.
    async fn talk(self, context: &Context) -> Result<(Stdout, Said), Failure> {
        let (progress, latest) = watch::channel(None);
        let (_, stdout, said, ()) = tokio::join!(
            feed(self.stdin, context.job()),
            read(self.stdout),
            stderr::read(
                self.stderr,
                context.job().jid(),
                |line| context.log(LogLevel::Info, line),
                progress
            ),
            tell_progress(context, latest),
        );
        Ok((stdout.map_err(unwatched)?, said.map_err(unwatched)?))
    }
}

/// Writes the job as a line of JSON. A command need not read it.
async fn feed(mut stdin: ChildStdin, job: &Job) -> io::Result<()> {
    let mut line = serde_json::to_vec(job).map_err(io::Error::from)?;
    line.push(b'\n');
    stdin.write_all(&line).await?;
    stdin.shutdown().await
}

/// Reads to the end, and keeps as much as a result may have.
async fn read(mut stdout: impl AsyncRead + Unpin) -> io::Result<Stdout> {
    let mut kept = Stdout::default();
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let n = stdout.read(&mut chunk).await?;
        if n == 0 {
            return Ok(kept);
        }
        let room = RESULT_BYTES_MAX - kept.bytes.len();
        kept.bytes.extend_from_slice(&chunk[..n.min(room)]);
        kept.cut |= n > room;
    }
}

/// Tells listeners how far the job is, until nothing more is said about it.
async fn tell_progress(context: &Context, mut latest: watch::Receiver<Option<Json>>) {
    while latest.changed().await.is_ok() {
        let value = latest.borrow_and_update().clone();
        match timeout(PROGRESS_TIME_MAX, context.progress(&value)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "could not tell the progress of a job"),
            Err(_) => tracing::debug!("could not tell the progress of a job in time"),
        }
    }
}

fn unwatched(error: io::Error) -> Failure {
    Failure::new(format!("could not wait for the command: {error}"))
}

fn held_open() -> Failure {
    Failure::new(
        "the command ended, but a process that it left behind keeps its output open, so the result may not be complete; \
         let it redirect stdout and stderr",
    )
}

//! A contender's program: it reads a request a line and answers each with one line of numbers.
//!
//! | request | what it does | answer |
//! |---|---|---|
//! | `submit FIRST COUNT LEVELS` | submits jobs numbered from FIRST on, with priority number mod LEVELS (0 is most urgent) | microseconds |
//! | `drain COUNT` | runs a worker until so many jobs are finished, then stops it | microseconds, then the jobs' numbers in the order they were started |
//! | `left` | counts the jobs that are not finished, as the system itself knows them | that count |
//! | `latency COUNT` | submits jobs one by one to a worker that has nothing to do | microseconds from submit to start, for each |
//! | `late COUNT` | submits delayed jobs that fail once, one by one, to a worker that has nothing to do (keyrack only) | microseconds from the due time to the start, for each delay and each retry |
//! | `dependants COUNT` | submits jobs that wait for one job, one by one (keyrack only) | microseconds for the first tenth of them, and for the last |
//! | `hold COUNT` | starts a worker whose handlers never end | the numbers of the jobs, once so many have started |
//!
//! An answer that starts with `error` says what went wrong. Every job carries its number in a JSON object of 100 bytes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::super::server::parse_ticks;

/// More than any request takes, unless a job was lost and is waited for in vain.
const PATIENCE: Duration = Duration::from_secs(240);
/// What Linux calls a second where it tells processor time, on every machine this runs on.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// A running contender, killed when dropped.
pub(super) struct Driver {
    name: String,
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
}

/// What a drain did.
pub(super) struct Drained {
    pub(super) seconds: f64,
    /// The numbers of the jobs in the order in which they were started.
    pub(super) started: Vec<u32>,
}

impl Driver {
    /// Starts a contender's program.
    pub(super) fn start(name: &str, mut command: Command) -> Result<Driver> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start \"{name}\""))?;
        let requests = child.stdin.take().context("a contender takes no requests")?;
        let output = child.stdout.take().context("a contender gives no replies")?;
        let (sender, replies) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            // Ends with the program, or when nobody listens any more.
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Driver { name: name.to_owned(), child, requests, replies })
    }

    /// Submits jobs spread over some levels of priority; returns the seconds it took.
    pub(super) fn submit(&mut self, jobs: Jobs) -> Result<f64> {
        let Jobs { first, count, levels } = jobs;
        let reply = self.ask(&format!("submit {first} {count} {levels}"))?;
        let micros = reply.first().context("no time came back")?;
        Ok(seconds(*micros))
    }

    /// Runs a worker until so many jobs are finished.
    pub(super) fn drain(&mut self, count: u32) -> Result<Drained> {
        self.begin_drain(count)?;
        self.end_drain()
    }

    /// Starts a worker that is to finish so many jobs, and does not wait for it.
    pub(super) fn begin_drain(&mut self, count: u32) -> Result<()> {
        self.send(&format!("drain {count}"))
    }

    /// Waits until the worker that was started last has finished its jobs.
    pub(super) fn end_drain(&mut self) -> Result<Drained> {
        let reply = self.receive("drain")?;
        let (micros, numbers) = reply.split_first().context("no time came back")?;
        let started = numbers.iter().map(|n| u32::try_from(*n)).collect::<Result<_, _>>();
        Ok(Drained { seconds: seconds(*micros), started: started.context("unknown job number")? })
    }

    /// How many jobs are not finished.
    pub(super) fn left(&mut self) -> Result<u64> {
        self.ask("left")?.first().copied().context("no count came back")
    }

    /// Seconds from submit to start, job by job, of a worker that has nothing else to do.
    pub(super) fn latency(&mut self, count: u32) -> Result<Vec<f64>> {
        Ok(self.ask(&format!("latency {count}"))?.into_iter().map(seconds).collect())
    }

    /// Seconds from the due time to the start, of delayed jobs and of retries.
    pub(super) fn late(&mut self, count: u32) -> Result<Vec<f64>> {
        Ok(self.ask(&format!("late {count}"))?.into_iter().map(seconds).collect())
    }

    /// Seconds to submit the first tenth and the last tenth of jobs that wait for one job.
    pub(super) fn dependants(&mut self, count: u32) -> Result<[f64; 2]> {
        let reply = self.ask(&format!("dependants {count}"))?;
        let [first, last] = reply[..] else { bail!("two times should come back: {reply:?}") };
        Ok([seconds(first), seconds(last)])
    }

    /// Starts a worker that never finishes a job; returns once it has so many.
    pub(super) fn hold(&mut self, count: u32) -> Result<()> {
        self.ask(&format!("hold {count}")).map(drop)
    }

    /// Ends it with SIGKILL.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill().with_context(|| format!("could not kill \"{}\"", self.name))
    }

    /// The processor time it has used so far, over all its threads, in seconds.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let ticks = stat.ok().as_deref().and_then(parse_ticks);
        let ticks = ticks.with_context(|| format!("no processor time of \"{}\"", self.name))?;
        Ok(ticks as f64 / TICKS_PER_SECOND)
    }

    fn ask(&mut self, request: &str) -> Result<Vec<u64>> {
        self.send(request)?;
        self.receive(request)
    }

    fn send(&mut self, request: &str) -> Result<()> {
        writeln!(self.requests, "{request}")
            .with_context(|| format!("\"{}\" takes no more requests", self.name))
    }

    fn receive(&mut self, request: &str) -> Result<Vec<u64>> {
        let reply = match self.replies.recv_timeout(PATIENCE) {
            Ok(reply) => reply,
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait()?;
                bail!("\"{}\" ended during \"{request}\" with {status}", self.name)
            }
            Err(RecvTimeoutError::Timeout) => {
                bail!("\"{}\" has not answered \"{request}\": did it lose a job?", self.name)
            }
        };
        if let Some(error) = reply.strip_prefix("error ") {
            bail!("\"{}\" failed at \"{request}\": {error}", self.name);
        }
        let numbers = reply.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        numbers.with_context(|| format!("\"{}\" answered \"{reply}\"", self.name))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // One that has already ended is what we want.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Which jobs to submit.
#[derive(Clone, Copy)]
pub(super) struct Jobs {
    /// The number of the first one.
    pub(super) first: u32,
    pub(super) count: u32,
    /// Levels of priority; with one, the jobs have none.
    pub(super) levels: u32,
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Driver {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Driver::start("sh", command).unwrap()
    }

    #[test]
    fn drain_has_its_time_and_the_order_of_jobs() {
        let mut driver = shell("read line; echo 1500000 2 0 1; read line");
        let drained = driver.drain(3).unwrap();
        assert_eq!((drained.seconds, drained.started), (1.5, vec![2, 0, 1]));
    }

    #[test]
    fn failure_names_the_contender_and_the_request() {
        let mut driver = shell("read line; echo error no such queue; read line");
        let error = driver.left().unwrap_err().to_string();
        assert_eq!(error, "\"sh\" failed at \"left\": no such queue");
    }

    #[test]
    fn contender_that_ends_early_is_reported() {
        let error = shell("read line; exit 3").left().unwrap_err().to_string();
        assert_eq!(error, "\"sh\" ended during \"left\" with exit status: 3");
    }

    #[test]
    fn killed_contender_is_gone() {
        let driver = shell("read line");
        let stat = format!("/proc/{}/stat", driver.child.id());
        assert!(fs::exists(&stat).unwrap());
        driver.kill().unwrap();
        assert!(!fs::exists(&stat).unwrap());
    }
}

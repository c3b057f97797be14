//! What is run for each job.

use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use keyrack_jobs::bee::Job;
use keyrack_trace::TraceContext;
use tokio::process;

use crate::{Exit, Failure};

/// A program and its arguments.
#[derive(Debug)]
pub(super) struct Command {
    program: OsString,
    args: Vec<OsString>,
}

impl Command {
    /// A line for the shell, or else a program with its arguments, which has to be there.
    pub(super) fn new(line: Option<String>, argv: Vec<OsString>) -> Result<Command, Failure> {
        if let Some(line) = line {
            return Ok(Command { program: "sh".into(), args: vec!["-c".into(), line.into()] });
        }
        let mut argv = argv.into_iter();
        let program = argv.next().unwrap_or_default();
        if find(Path::new(&program)).is_none() {
            // Found out now, it costs no job an attempt.
            let message = format!("there is no program \"{}\"", program.display());
            let hint = "name one in PATH or by its path, or give a line for the shell with --exec";
            return Err(Failure::new(Exit::NotFound, message).hint(hint));
        }
        Ok(Command { program, args: argv.collect() })
    }

    /// The command for one job, ready to be started in a process group of its own.
    pub(super) fn of(&self, job: &Job, trace: Option<&TraceContext>) -> process::Command {
        let mut command = process::Command::new(&self.program);
        // Those of the worker itself are not the job's.
        command.env_remove("TRACEPARENT").env_remove("TRACESTATE");
        if let Some(trace) = trace {
            command.env("TRACEPARENT", trace.traceparent());
            command.envs(trace.tracestate().map(|state| ("TRACESTATE", state)));
        }
        command
            .args(&self.args)
            .env("KEYRACK_JOB_ID", job.jid())
            .env("KEYRACK_QUEUE", job.queue())
            .env("KEYRACK_ATTEMPT", job.attempts().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    /// Its name, for messages.
    pub(super) fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// Where a program is, looked for as the system does.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() != 1 {
        return Some(program.to_owned()).filter(|program| is_executable(program));
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

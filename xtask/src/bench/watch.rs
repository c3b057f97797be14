//! Traces that are watched: how late updates come to five thousand watchers over real WebSockets, and what each of them costs.
//!
//! Server and clients share the machine, so that a server of one's own does better.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::{machine, page};
use crate::shell;

const WATCHERS: u32 = 5_000;
const UPDATES: u32 = 100;
const UPDATES_PER_SECOND: u32 = 2;
/// What a watcher notices as late.
const P99_MS_MAX: f64 = 250.0;
const USER: &str = "alice";

/// What one run gave.
struct Outcome {
    ended: f64,
    updates: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    kb_per_watcher: f64,
}

/// Measures; fails when updates come too late, or somebody does not see the end.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let write = match arguments {
        [] => false,
        ["--write"] => true,
        [other, ..] => bail!("unknown argument \"{other}\"; there is --write"),
    };
    let programs = build()?;
    let outcome = measure(&programs)?;
    let section = section(&outcome);
    println!("\n{section}");
    if write {
        let text = format!(
            "How late updates of a trace come: `cargo xtask bench watch --write`.\n\n{}\n{section}",
            machine::describe()?
        );
        page::write_chapter("Watched traces", &text)?;
    }
    let missed: Vec<&str> = section.missed().map(|limit| limit.what.as_str()).collect();
    if !missed.is_empty() {
        bail!("missed: {}", missed.join("; "));
    }
    Ok(())
}

fn section(outcome: &Outcome) -> Section {
    let mut table =
        Table::new(&["watchers", "updates seen", "p50 ms", "p99 ms", "latest ms", "kB each"]);
    table.add(vec![
        WATCHERS.to_string(),
        whole(outcome.updates),
        tenths(outcome.p50_ms),
        tenths(outcome.p99_ms),
        tenths(outcome.max_ms),
        tenths(outcome.kb_per_watcher),
    ]);
    let limit = |what: &str, measured, bound| Limit { what: what.to_owned(), measured, bound };
    let limits = vec![
        limit("99 % of updates within, in ms", outcome.p99_ms, Bound::AtMost(P99_MS_MAX)),
        limit("watchers that saw the end", outcome.ended, Bound::AtLeast(f64::from(WATCHERS))),
        limit("kilobytes of the server for each watcher", outcome.kb_per_watcher, Bound::None),
    ];
    let words = format!(
        "{WATCHERS} watchers of one trace over WebSockets, {UPDATES} updates, {UPDATES_PER_SECOND} a second, then the end. An update \
         counts from before it is sent over HTTP until a client has read it. Server and clients share the machine."
    );
    Section { title: "Watchers of a trace", words, table, limits }
}

struct Programs {
    server: PathBuf,
    watchers: PathBuf,
}

fn build() -> Result<Programs> {
    shell::run(&mut shell::cargo("build --release --package keyrack"))?;
    shell::run(&mut shell::cargo(
        "build --release --package keyrack-http --example trace_watchers",
    ))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| shell::workspace().join("target"));
    Ok(Programs {
        server: target.join("release/keyrack"),
        watchers: target.join("release/examples/trace_watchers"),
    })
}

fn measure(programs: &Programs) -> Result<Outcome> {
    let serve = Serve::start(&programs.server)?;
    let store = format!("redis://{}", serve.resp);
    let mut make = Command::new(&programs.server);
    make.args(["token", "create", USER, "--store", &store]);
    let token = shell::output(&mut make)?;
    // Every client is a file to the system, and the usual limit is below what is needed.
    let script = format!("ulimit -n $(ulimit -Hn); exec {} \"$@\"", programs.watchers.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, "watchers", &serve.http, token.trim(), USER]);
    command.args([WATCHERS, UPDATES, UPDATES_PER_SECOND].map(|number| number.to_string()));
    command.arg(serve.child.id().to_string());
    parse(&shell::output(&mut command)?)
}

/// A running `keyrack serve`, killed when dropped.
struct Serve {
    child: Child,
    http: String,
    resp: String,
    _folder: TempDir,
}

impl Serve {
    fn start(program: &Path) -> Result<Serve> {
        const POLLS: u32 = 1_000;
        const POLL_INTERVAL: Duration = Duration::from_millis(10);
        let folder = TempDir::new()?;
        let log = folder.path().join("log");
        let mut command = Command::new(program);
        command.args(["serve", "--store", "embedded:memory"]);
        command.args(["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]);
        command.current_dir(folder.path()).stdin(Stdio::null()).stderr(fs::File::create(&log)?);
        let mut serve = Serve {
            child: command.spawn().context("could not start keyrack")?,
            http: String::new(),
            resp: String::new(),
            _folder: folder,
        };
        for _ in 0..POLLS {
            let words = fs::read_to_string(&log)?;
            if words.contains("ready; ") {
                serve.http = address(&words, "http   http://")?;
                serve.resp = address(&words, "resp   ")?;
                return Ok(serve);
            }
            thread::sleep(POLL_INTERVAL);
        }
        bail!("keyrack did not get ready:\n{}", fs::read_to_string(&log)?);
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What stands behind a label in what the server says.
fn address(words: &str, label: &str) -> Result<String> {
    let line = words.lines().find_map(|line| line.trim().strip_prefix(label));
    let word = line.and_then(|line| line.split(' ').next());
    word.map(str::to_owned).with_context(|| format!("no \"{label}\" in \"{words}\""))
}

fn parse(line: &str) -> Result<Outcome> {
    let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[ended, updates, p50_ms, p99_ms, max_ms, kb_per_watcher]) => {
            Ok(Outcome { ended, updates, p50_ms, p99_ms, max_ms, kb_per_watcher })
        }
        _ => bail!("the watchers printed \"{}\"", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_numbers_are_a_result() {
        let outcome = parse("10 20 1.5 2.5 3.5 9.5\n").unwrap();
        assert_eq!((outcome.ended, outcome.p99_ms, outcome.kb_per_watcher), (10.0, 2.5, 9.5));
        for bad in ["", "1 2 3 4 5", "1 2 3 4 5 x", "1 2 3 4 5 6 7"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn addresses_are_read_from_what_the_server_says() {
        let words =
            "keyrack\n  http   http://127.0.0.1:7700\n  resp   127.0.0.1:7701 (redis-cli)\n";
        assert_eq!(address(words, "http   http://").unwrap(), "127.0.0.1:7700");
        assert_eq!(address(words, "resp   ").unwrap(), "127.0.0.1:7701");
        assert!(address(words, "auth").is_err());
    }
}

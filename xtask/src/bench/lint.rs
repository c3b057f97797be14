//! `keyrack keys lint` against `redis-cli --bigkeys`: both walk the same million keys of a server, then of a cluster.
//!
//! The keys are of twenty families of a keys file, and 200 violations of every rule are planted among them: the lint has
//! to find all of them and nothing else. It reads every key's content, TTL and memory; bigkeys asks for type and length.
//! What it may take is bounded by what people already run on their servers without a second thought.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::cluster::Cluster;
use super::report::{Bound, Limit, Section, Table, whole};
use super::serve::released;
use super::server::{Role, Server, pinned};
use super::{machine, page};

#[path = "../../../crates/lint/tests/planted/world.rs"]
mod planted;

use planted::{FAMILIES, FILE, Line, Place, row, violation};

const KEYS: u32 = 1_000_000;
/// Violations of each rule.
const PLANTED: u32 = 200;
const ROUNDS: u32 = 3;
/// How much of the time of bigkeys the lint may take.
const RATIO_MAX: f64 = 0.5;
/// How much memory the lint may take.
const MEMORY_MB_MAX: f64 = 200.0;
/// How often the memory of a running lint is read.
const LOOK: Duration = Duration::from_millis(20);
/// The lint ends with this when it finds something.
const FINDINGS: i32 = 10;

/// Measures on a server and on a cluster, or on the one that is named; a number is how many keys to write.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let (mut keys, mut places, mut write) = (KEYS, vec![Place::Server, Place::Cluster], false);
    for argument in arguments {
        match *argument {
            "server" => places = vec![Place::Server],
            "cluster" => places = vec![Place::Cluster],
            "--write" => write = true,
            other => {
                let wrong = || {
                    format!("\"{other}\" is neither server, cluster, --write nor a number of keys")
                };
                keys = other.parse().with_context(wrong)?;
            }
        }
    }
    ensure!(!write || (keys == KEYS && places.len() == 2), "--write takes all keys and places");
    let keyrack = released("--package keyrack-cli", "keyrack")?;
    let sections: Result<Vec<Section>> =
        places.into_iter().map(|place| measure(&keyrack, place, keys)).collect();
    let about = format!(
        "`keyrack keys lint` against `redis-cli --bigkeys` on the same keys: `cargo xtask bench lint --write`. \
         The keys are of {FAMILIES} families, and {PLANTED} violations of every rule are planted among them. The \
         lint reads what each key holds, its TTL and its memory; bigkeys asks for type and length.\n\n{}",
        machine::with_redis()?
    );
    page::conclude("Lint", &about, &sections?, write)
}

/// Writes the keys and lets both take turns; fails when the lint misses something, or invents something.
fn measure(keyrack: &Path, place: Place, keys: u32) -> Result<Section> {
    let world = World::start(place)?;
    world.write(keys)?;
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    fs::write(folder.path().join("planted.keys.toml"), FILE)?;
    let title = world.title();
    let mut table = Table::new(&["round", "load before", "bigkeys s", "lint s", "ratio"]);
    let (mut bigkeys, mut lint, mut memory_mb) = (f64::MAX, f64::MAX, 0);
    for round in 1..=ROUNDS {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let one = world.time_bigkeys()?.as_secs_f64();
        let walk = run_lint(keyrack, &world.url(), &folder)?;
        check_findings(place, &walk.report)?;
        let other = walk.took.as_secs_f64();
        (bigkeys, lint, memory_mb) =
            (bigkeys.min(one), lint.min(other), memory_mb.max(walk.memory_mb));
        let two = |number: f64| format!("{number:.2}");
        let load = load.split(' ').next().unwrap_or_default().to_owned();
        println!("{title}, round {round}: load {load}, bigkeys {one:.2} s, lint {other:.2} s");
        table.add(vec![round.to_string(), load, two(one), two(other), two(other / one)]);
    }
    let n_planted = place.rules().count() as u32 * PLANTED;
    let keys = whole(f64::from(keys));
    let words = format!(
        "{keys} keys. All {n_planted} planted violations were found in each round, and nothing else."
    );
    let limit = |what: &str, measured, bound| Limit {
        what: format!("{title}, {what}"),
        measured,
        bound: Bound::AtMost(bound),
    };
    let limits = vec![
        limit("shortest lint ÷ shortest bigkeys", lint / bigkeys, RATIO_MAX),
        limit("memory of the lint, MB", memory_mb as f64, MEMORY_MB_MAX),
    ];
    Ok(Section { title, words, table, limits })
}

/// What is walked through.
enum World {
    Server(Server),
    Cluster(Cluster),
}

impl World {
    fn start(place: Place) -> Result<Self> {
        Ok(match place {
            Place::Server => Self::Server(Server::redis()?),
            Place::Cluster => Self::Cluster(Cluster::start()?),
        })
    }

    fn title(&self) -> &'static str {
        match self {
            Self::Server(_) => "Lint on a server",
            Self::Cluster(_) => "Lint on a cluster",
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Server(server) => format!("redis://127.0.0.1:{}", server.port()),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// Writes keys as they are declared, and the violations.
    fn write(&self, keys: u32) -> Result<()> {
        match self {
            Self::Server(server) => {
                server.feed(lines(Place::Server, keys).flat_map(|line| inline(&line)))
            }
            Self::Cluster(cluster) => {
                cluster.nodes().iter().enumerate().try_for_each(|(i, node)| {
                    let own = |(_, words): &Line| Cluster::owner(&words[1]) == i;
                    let lines = lines(Place::Cluster, keys).filter(own);
                    node.feed(lines.flat_map(|line| inline(&line)))
                })
            }
        }
    }

    /// How long bigkeys takes; on a cluster it is run on one master after the other.
    fn time_bigkeys(&self) -> Result<Duration> {
        match self {
            Self::Server(server) => time_bigkeys(server),
            Self::Cluster(cluster) => cluster.nodes().iter().map(time_bigkeys).sum(),
        }
    }
}

fn lines(place: Place, keys: u32) -> impl Iterator<Item = Line> {
    let rows = (1..=keys / FAMILIES).flat_map(move |n| row(place, n));
    let planted = place.rules().flat_map(|rule| (0..PLANTED).map(move |i| (rule, i)));
    rows.chain(planted.flat_map(move |(rule, i)| violation(place, rule, i)))
}

/// A command as a line for redis-cli, and the way to its database and back.
fn inline((db, words): &Line) -> Vec<String> {
    let words = words.iter().map(|word| {
        let plain = word.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(&byte));
        if plain { word.clone() } else { format!("{word:?}") }
    });
    let command = words.collect::<Vec<_>>().join(" ");
    match db {
        0 => vec![command],
        db => vec![format!("SELECT {db}"), command, "SELECT 0".to_owned()],
    }
}

fn time_bigkeys(server: &Server) -> Result<Duration> {
    let mut command = pinned("redis-cli", Role::Load);
    command.args(["-p", &server.port().to_string(), "--bigkeys"]);
    let started = Instant::now();
    let output = command.output().context("could not run redis-cli")?;
    ensure!(output.status.success(), "redis-cli --bigkeys ended with {}", output.status);
    Ok(started.elapsed())
}

struct Walk {
    took: Duration,
    memory_mb: u64,
    report: Value,
}

fn run_lint(keyrack: &Path, url: &str, folder: &TempDir) -> Result<Walk> {
    let printed = folder.path().join("report.json");
    let mut command = pinned(keyrack, Role::Load);
    command.args(["keys", "lint", "--quiet", "--json", "--limit", "100000"]);
    command.args(["--keys", "planted.keys.toml", "--store", url]);
    command.current_dir(folder.path()).stdout(File::create(&printed)?);
    let started = Instant::now();
    let (code, memory_mb) = wait(&mut command)?;
    let took = started.elapsed();
    ensure!(code == Some(FINDINGS), "the lint ended with {code:?}");
    let report = serde_json::from_str(&fs::read_to_string(&printed)?)?;
    Ok(Walk { took, memory_mb, report })
}

/// How a command ended, and the most memory it had.
fn wait(command: &mut Command) -> Result<(Option<i32>, u64)> {
    let mut child = command.spawn().context("could not run the lint")?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut memory_mb = 0;
    loop {
        memory_mb = memory_mb.max(peak_mb(&status).unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            return Ok((ended.code(), memory_mb));
        }
        std::thread::sleep(LOOK);
    }
}

fn peak_mb(status: &Path) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb / 1_000)
}

/// Every planted violation is there, and nothing else.
fn check_findings(place: Place, report: &Value) -> Result<()> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for finding in report["findings"].as_array().context("the report has no findings")? {
        let code = finding["code"].as_str().unwrap_or_default();
        // Keys of no family are one finding for each shape.
        let n = if code == "KL01" { finding["places"].as_u64().unwrap_or(0) } else { 1 };
        *found.entry(code.to_owned()).or_default() += n;
    }
    let expected: BTreeMap<String, u64> =
        place.rules().map(|rule| (format!("KL{rule:02}"), u64::from(PLANTED))).collect();
    ensure!(found == expected, "found {found:?}, planted {expected:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_quoted_where_they_have_to_be() {
        let words = ["SET", "a", r#"{"b":1}"#].map(str::to_owned).to_vec();
        assert_eq!(inline(&(0, words.clone())), [r#"SET a "{\"b\":1}""#]);
        let there_and_back = [r#"SELECT 1"#, r#"SET a "{\"b\":1}""#, "SELECT 0"];
        assert_eq!(inline(&(1, words)), there_and_back);
    }

    #[test]
    fn a_row_has_a_key_of_each_family() {
        let source = keyrack_keys::file::Source { name: "planted.keys.toml", text: FILE };
        let documents = keyrack_keys::file::read(&[source]).unwrap();
        let registry = keyrack_keys::Registry::new(&[&documents[0].families]);
        let ids: std::collections::BTreeSet<String> = row(Place::Server, 7)
            .iter()
            .map(|(_, words)| registry.family_of(words[1].as_bytes()).unwrap().0.id())
            .collect();
        assert_eq!(ids.len() as u32, FAMILIES);
    }
}

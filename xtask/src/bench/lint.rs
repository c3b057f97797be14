//! `keyrack keys lint` against `redis-cli --bigkeys`: both walk the same million keys of the same server.
//!
//! The lint reads every key's content, TTL and memory; bigkeys asks for type and length. What it may take is bounded
//! by what people already run on their servers without a second thought.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::serve::released;
use super::server::{Role, Server, pinned};

const KEYS: u32 = 1_000_000;
const ROUNDS: u32 = 3;
/// How much longer than bigkeys the lint may take.
const RATIO_MAX: f64 = 1.5;

/// Seeds the keys, lets both take turns, and fails when the best lint took too much longer than the best bigkeys.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let keys = match arguments {
        [] => KEYS,
        [keys] => keys.parse().with_context(|| format!("\"{keys}\" is no number of keys"))?,
        [_, other, ..] => bail!("unknown argument \"{other}\""),
    };
    let keyrack = released("--package keyrack", "keyrack")?;
    let server = Server::redis()?;
    server.feed((0..keys / 10).flat_map(family_lines))?;
    let (mut bigkeys, mut lint) = (Duration::MAX, Duration::MAX);
    for round in 1..=ROUNDS {
        bigkeys = bigkeys.min(timed(&mut bigkeys_command(&server))?);
        lint = lint.min(timed(&mut lint_command(&keyrack, &server))?);
        println!("round {round}: best so far bigkeys {bigkeys:.2?}, lint {lint:.2?}");
    }
    let ratio = lint.as_secs_f64() / bigkeys.as_secs_f64();
    println!("{keys} keys of 10 families: the lint takes {ratio:.2} times as long as bigkeys");
    if ratio > RATIO_MAX {
        bail!("{ratio:.2} is more than {RATIO_MAX:.2}");
    }
    Ok(())
}

fn bigkeys_command(server: &Server) -> Command {
    let mut command = pinned("redis-cli", Role::Load);
    command.args(["-p", &server.port().to_string(), "--bigkeys"]);
    command
}

fn lint_command(keyrack: &PathBuf, server: &Server) -> Command {
    let mut command = pinned(keyrack, Role::Load);
    let url = format!("redis://127.0.0.1:{}", server.port());
    command.args(["keys", "lint", "--store", &url]);
    command
}

/// How long a command takes, which has to succeed: a lint that finds something has met keys that are not as declared.
fn timed(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let output = command.output().context("could not run a walk")?;
    let took = started.elapsed();
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("a walk ended with {}: {words}", output.status);
    }
    Ok(took)
}

/// One key of each of ten families; those that must expire do so long after the benchmark.
fn family_lines(n: u32) -> Vec<String> {
    const JSON: &str = r#""{\"is_active\":true,\"expires_at\":null,\"checked_at\":1667950000.5}""#;
    const HISTORY: &str = r#""[{\"event\":\"new\",\"timestamp\":1667950000123,\"hive\":\"h\"}]""#;
    const OPTIONS: &str = r#""{\"priority\":0,\"delay\":0,\"dependencies\":{},\"dependenciesOnTags\":{},\"preferredHostname\":\"\",\"retries\":0,\"retryDelay\":0,\"progressiveDelay\":false,\"ttl\":60000}""#;
    let step = "step_name resize iteration 3 iterations 10 started_at 1667950000.25";
    vec![
        format!(
            "HSET trace:u{n}:import:{n} created_at 1667950000.5 last_updated_at 1667950001.5 current_step 2 done 0"
        ),
        format!("EXPIRE trace:u{n}:import:{n} 86400"),
        format!("HSET trace:u{n}:import:{n}:step:1 {step}"),
        format!("EXPIRE trace:u{n}:import:{n}:step:1 86400"),
        format!("SET stats:u{n}:import:0:percentile_75 12.5 EX 1800"),
        format!("HSET stats:u{n}:import:0:1:best_fit.linear a 0.25 b 1.5"),
        format!("EXPIRE stats:u{n}:import:0:1:best_fit.linear 1800"),
        format!("ZADD tcount:u{n}:import:0 1667950000.5 {n} 1667950001.5 {}", n + 1),
        format!("EXPIRE tcount:u{n}:import:0 864000"),
        format!("HSET entitlements:u{n} pro {JSON}"),
        format!("EXPIRE entitlements:u{n} 86400"),
        format!("SADD {n}_liked_posts 1 2 3 {n}"),
        format!("ZADD {n}_clgs_preference 1.5 1 0.25 2"),
        format!(
            "HSET bee:h:jobs:j{n} jid j{n} queue emails data [] options {OPTIONS} worker \"\" status queued \
             submitted 1667950000123 retries 0 tags [] history {HISTORY}"
        ),
        format!("ZADD bee:ss:queue:q{n} {n} j{n}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_write_one_key_of_each_of_ten_families() {
        let lines = family_lines(7);
        let keys = lines
            .iter()
            .filter(|line| !line.starts_with("EXPIRE"))
            .map(|line| line.split(' ').nth(1).expect("a key"));
        let registry = keyrack_contract::registry();
        let families: std::collections::BTreeSet<String> = keys
            .map(|key| registry.family_of(key.as_bytes()).expect("a declared key").0.id())
            .collect();
        assert_eq!(families.len(), 10);
    }
}

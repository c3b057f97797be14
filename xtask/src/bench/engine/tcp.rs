//! The engine as a server: the usual commands, and a script.

use anyhow::Result;

use super::super::compare::compare;
use super::super::load::{KEYSPACE, Load, Work};
use super::super::server::Server;
use super::Programs;

const ROUNDS: u32 = 7;
const COMMANDS: &[&str] = &["set", "get", "incr", "lpush", "rpop", "sadd", "hset", "zadd"];
/// What share of redis-server's rate a command has to reach.
const COMMAND_MIN: f64 = 0.8;
/// And the script, in a pipeline: one by one, both servers mostly wait for the network.
const SCRIPT_MIN: f64 = 1.0;

/// Two keys in one script, as most changes of keyrack are.
const SCRIPT: &str = "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) \
                      return redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])";

/// Measures commands and the script, in long pipelines and one by one.
pub(super) fn run(programs: &Programs) -> Result<()> {
    let (reference, subject) = (Server::redis()?, programs.engine()?);
    let commands = compare(
        &subject,
        &reference,
        &[
            load("-P 16", Work::Tests(COMMANDS), 200_000, 16),
            load("-P 1", Work::Tests(COMMANDS), 30_000, 1),
        ],
        ROUNDS,
    )?;
    println!("requests per second over TCP, 50 clients\n{commands}");

    let sha = reference.ask(&["SCRIPT", "LOAD", SCRIPT])?;
    subject.ask(&["SCRIPT", "LOAD", SCRIPT])?;
    let words =
        ["EVALSHA", &sha, "2", "zset:__rand_int__", "hash:__rand_int__", "__rand_int__", "job:1"];
    let script = |pipeline, requests| {
        let label = format!("EVALSHA -P {pipeline}");
        let load = load(&label, Work::Command(&words), requests, pipeline);
        compare(&subject, &reference, &[load], ROUNDS)
    };
    let (pipelined, singly) = (script(16, 100_000)?, script(1, 30_000)?);
    println!("a script of ZADD and HSET over TCP, 50 clients\n{pipelined}\n{singly}");
    commands.require(COMMAND_MIN..=f64::INFINITY)?;
    singly.require(COMMAND_MIN..=f64::INFINITY)?;
    pipelined.require(SCRIPT_MIN..=f64::INFINITY)
}

fn load<'a>(label: &'a str, work: Work<'a>, requests: u32, pipeline: u32) -> Load<'a> {
    Load { label, work, requests, clients: 50, pipeline, keyspace: KEYSPACE }
}

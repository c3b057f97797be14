//! The engine as a server: the usual commands, and a script.

use anyhow::Result;

use super::super::compare::{Rounds, compare};
use super::super::load::{KEYSPACE, Load, Work};
use super::super::server::Server;
use super::super::table::Table;
use super::Programs;

const ROUNDS: Rounds = Rounds::Best(7);
const COMMANDS: &[&str] = &["set", "get", "incr", "lpush", "rpop", "sadd", "hset", "zadd"];
/// What share of redis-server's rate a command has to reach.
const COMMAND_MIN: f64 = 0.8;
/// The two most used commands, sent one by one.
const GET_SET_MIN: f64 = 0.97;
/// The script, in a pipeline and one by one; one by one, both servers mostly wait for the network.
const SCRIPT_MIN: f64 = 1.0;
const SINGLE_SCRIPT_MIN: f64 = 0.95;

/// Two keys in one script, as most changes of keyrack are.
const SCRIPT: &str = "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2]) \
                      return redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])";

/// Measures commands and the script, in long pipelines and one by one.
pub(super) fn run(programs: &Programs) -> Result<()> {
    let (subject, reference) = (programs.engine()?, Server::redis()?);
    let rates = Rates::measure(&subject, &reference, ROUNDS)?;
    rates.commands.require(COMMAND_MIN..=f64::INFINITY)?;
    rates.single_commands.require(COMMAND_MIN..=f64::INFINITY)?;
    rates.single_commands.only(&["SET -P 1", "GET -P 1"]).require(GET_SET_MIN..=f64::INFINITY)?;
    rates.single_script.require(SINGLE_SCRIPT_MIN..=f64::INFINITY)?;
    rates.script.require(SCRIPT_MIN..=f64::INFINITY)
}

/// The rates of a server beside those of another.
pub(super) struct Rates {
    commands: Table,
    single_commands: Table,
    script: Table,
    single_script: Table,
}

impl Rates {
    /// Measures and prints.
    pub(super) fn measure(subject: &Server, reference: &Server, rounds: Rounds) -> Result<Rates> {
        let compare = |load| compare(subject, reference, &[load], rounds);
        let commands = compare(load("-P 16", Work::Tests(COMMANDS), 600_000, 16))?;
        let single_commands = compare(load("-P 1", Work::Tests(COMMANDS), 30_000, 1))?;
        println!("requests per second over TCP, 50 clients\n{commands}\n{single_commands}");

        let sha = reference.ask(&["SCRIPT", "LOAD", SCRIPT])?;
        subject.ask(&["SCRIPT", "LOAD", SCRIPT])?;
        let [zset, hash] = ["zset:__rand_int__", "hash:__rand_int__"];
        let words = ["EVALSHA", &sha, "2", zset, hash, "__rand_int__", "job:1"];
        let script = compare(load("EVALSHA -P 16", Work::Command(&words), 100_000, 16))?;
        let single_script = compare(load("EVALSHA -P 1", Work::Command(&words), 30_000, 1))?;
        println!("a script of ZADD and HSET over TCP, 50 clients\n{script}\n{single_script}");
        Ok(Rates { commands, single_commands, script, single_script })
    }

    pub(super) fn tables(&self) -> [&Table; 4] {
        [&self.commands, &self.single_commands, &self.script, &self.single_script]
    }
}

fn load<'a>(label: &'a str, work: Work<'a>, requests: u32, pipeline: u32) -> Load<'a> {
    Load { label, work, requests, clients: 50, pipeline, keyspace: KEYSPACE }
}

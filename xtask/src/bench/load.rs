//! Load from redis-benchmark, and reading what it measured.

use anyhow::{Context, Result};

use super::server::{Role, pinned};
use crate::shell;

/// What redis-benchmark does to a server.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    /// Tells the lines of this load from those of another in a table.
    pub(super) label: &'a str,
    pub(super) work: Work<'a>,
    pub(super) requests: u32,
    pub(super) clients: u32,
    pub(super) pipeline: u32,
    /// Out of how many numbers each request picks one.
    pub(super) keyspace: u32,
}

/// Which commands a load consists of.
#[derive(Clone, Copy)]
pub(super) enum Work<'a> {
    /// Tests that redis-benchmark brings along, by their names.
    Tests(&'a [&'a str]),
    /// One command, in which `__rand_int__` becomes a random number in every request.
    Command(&'a [&'a str]),
}

/// What was measured: the name of a line and its requests per second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) name: String,
    pub(super) per_second: f64,
}

/// Enough keys to leave the processor's caches.
pub(super) const KEYSPACE: u32 = 100_000;

impl<'a> Load<'a> {
    /// The same load one test at a time.
    pub(super) fn singly(self) -> Vec<Load<'a>> {
        match self.work {
            Work::Tests(names) => {
                names.chunks(1).map(|name| Load { work: Work::Tests(name), ..self }).collect()
            }
            Work::Command(_) => vec![self],
        }
    }

    /// Runs the load once against the server on this port.
    pub(super) fn run(&self, port: u16) -> Result<Vec<Rate>> {
        let mut command = pinned("redis-benchmark", Role::Load);
        command.args(["--csv", "-h", "127.0.0.1"]);
        let numbers = [
            ("-p", u32::from(port)),
            ("-n", self.requests),
            ("-c", self.clients),
            ("-P", self.pipeline),
            ("-r", self.keyspace),
        ];
        for (flag, number) in numbers {
            command.arg(flag).arg(number.to_string());
        }
        match self.work {
            Work::Tests(names) => command.arg("-t").arg(names.join(",")),
            Work::Command(words) => command.args(words),
        };
        let mut rates = parse_csv(&shell::output(&mut command)?)?;
        for rate in &mut rates {
            rate.name = match self.work {
                Work::Tests(_) => format!("{} {}", rate.name, self.label),
                Work::Command(_) => self.label.to_owned(),
            };
        }
        Ok(rates)
    }
}

/// Columns after the name, of which the first is the rate.
const CSV_NUMBERS: usize = 7;

fn parse_csv(text: &str) -> Result<Vec<Rate>> {
    let lines = text.lines().skip(1);
    lines
        .map(|line| {
            parse_line(line).with_context(|| format!("unknown line of redis-benchmark: {line}"))
        })
        .collect()
}

/// `"name","rps","avg",…`, read from the end because a name can hold anything.
fn parse_line(line: &str) -> Option<Rate> {
    let inner = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut fields = inner.rsplitn(CSV_NUMBERS + 1, "\",\"");
    let per_second: f64 = fields.nth(CSV_NUMBERS - 1)?.parse().ok()?;
    // A load that is over within a millisecond has an infinite rate, which measures nothing.
    let per_second = Some(per_second).filter(|rate| rate.is_finite())?;
    Some(Rate { name: fields.next()?.to_owned(), per_second })
}

#[cfg(test)]
mod tests {
    use super::super::server::Server;
    use super::*;

    fn parsed(line: &str) -> Option<(String, f64)> {
        parse_line(line).map(|rate| (rate.name, rate.per_second))
    }

    #[test]
    fn csv_line_gives_name_and_rate() {
        let line = r#""SET","83333.34","0.312","0.080","0.303","0.447","0.655","1.007""#;
        assert_eq!(parsed(line), Some(("SET".to_owned(), 83_333.34)));
    }

    #[test]
    fn name_may_hold_quotes_and_commas() {
        let line = r#""EVAL "return {1","2"} 0","10.5","1","1","1","1","1","1""#;
        assert_eq!(parsed(line), Some((r#"EVAL "return {1","2"} 0"#.to_owned(), 10.5)));
    }

    #[test]
    fn line_of_another_form_is_an_error() {
        assert_eq!(parsed("WARNING: no CONFIG"), None);
        assert_eq!(parsed(r#""SET","fast","1","1","1","1","1","1""#), None);
        assert_eq!(parsed(r#""SET","inf","1","1","1","1","1","1""#), None);
    }

    #[test]
    fn load_measures_each_test_and_a_command() {
        let server = Server::redis().unwrap();
        let load = |label, work| Load {
            label,
            work,
            requests: 10_000,
            clients: 2,
            pipeline: 4,
            keyspace: KEYSPACE,
        };
        let names = |load: Load| -> Vec<String> {
            let rates = load.run(server.port()).unwrap();
            assert!(rates.iter().all(|rate| rate.per_second > 0.0));
            rates.into_iter().map(|rate| rate.name).collect()
        };
        assert_eq!(names(load("-P 4", Work::Tests(&["set", "get"]))), ["SET -P 4", "GET -P 4"]);
        assert_eq!(names(load("ping", Work::Command(&["PING"]))), ["ping"]);
    }
}

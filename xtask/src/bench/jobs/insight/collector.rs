//! Jobs of a program that sends traces to a collector which takes none, beside those of one that sends none.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread;

use anyhow::{Context, Result, ensure};

use super::super::super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::super::super::server::Server;
use super::super::contender::{self, Contender, ours_on};
use super::super::driver::{Driver, Jobs};
use super::super::turn::{Figures, in_and_out};
use super::Load;
use super::pairs::{ratio, rounds};

/// Enough to fill the queue of spans.
const WARM_UP_JOBS: u32 = 10_000;
/// The share of the rate without a collector that has to be kept.
const SHARE_MIN: f64 = 0.97;

/// What the program sends its traces to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Collector {
    None,
    /// Nobody listens.
    Closed,
    /// It takes connections, and never answers.
    Silent,
}

const COLLECTORS: [Collector; 3] = [Collector::None, Collector::Closed, Collector::Silent];

impl Collector {
    fn name(self) -> &'static str {
        match self {
            Collector::None => "none",
            Collector::Closed => "port closed",
            Collector::Silent => "never answers",
        }
    }
}

/// Where the collectors are.
struct Ports {
    closed: u16,
    silent: u16,
}

impl Ports {
    fn open() -> Result<Ports> {
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port");
        let (closed, silent) = (bind()?, bind()?);
        let ports =
            Ports { closed: closed.local_addr()?.port(), silent: silent.local_addr()?.port() };
        // Ends with this program, and holds every connection until then.
        thread::spawn(move || silent.incoming().collect::<Vec<_>>());
        Ok(ports)
    }

    fn url(&self, collector: Collector) -> Option<String> {
        let port = match collector {
            Collector::None => return None,
            Collector::Closed => self.closed,
            Collector::Silent => self.silent,
        };
        Some(format!("http://127.0.0.1:{port}"))
    }
}

/// Measures ours on a redis-server and embedded.
pub(super) fn run(load: &Load) -> Result<Section> {
    let (program, server, ports) = (contender::ours()?, Server::redis()?, Ports::open()?);
    let mut table = Table::new(&[
        "system, collector",
        "submit, jobs/s",
        "drain, jobs/s",
        "submit, times the rate without",
        "drain, times the rate without",
        "client CPU, times",
        "Redis CPU, times",
    ]);
    let mut limits = Vec::new();
    for system in Contender::OURS {
        let turns = rounds(load.rounds, COLLECTORS, |round, collector| {
            let url = ports.url(collector);
            let take = || take_turn(load, &program, &server, system, url.as_deref());
            let turn = load.quiet.turn(take, |turn| turn.others)?;
            println!("round {round}: {:16} {:13} {turn}", system.name(), collector.name());
            Ok(turn)
        })?;
        for (collector, on) in COLLECTORS.iter().zip(&turns) {
            table.add(row(system, *collector, on, &turns[0]));
            if *collector != Collector::None {
                limits.push(Limit {
                    what: format!(
                        "{}, {}: drain, times the rate without",
                        system.name(),
                        collector.name()
                    ),
                    measured: ratio(on, &turns[0], |turn| turn.drain_rate).median,
                    bound: Bound::AtLeast(SHARE_MIN),
                });
            }
        }
    }
    Ok(Section { title: "A collector out of reach", words: words(load), table, limits })
}

fn row(system: Contender, collector: Collector, on: &[Figures], off: &[Figures]) -> Vec<String> {
    let middle = Figures::middle(on);
    let times = |is_told: bool, figure: fn(&Figures) -> f64| match is_told {
        true => ratio(on, off, figure).to_string(),
        false => "–".to_owned(),
    };
    let is_on = collector != Collector::None;
    vec![
        format!("{}, {}", system.name(), collector.name()),
        whole(middle.submit_rate),
        whole(middle.drain_rate),
        times(is_on, |turn| turn.submit_rate),
        times(is_on, |turn| turn.drain_rate),
        match is_on {
            true => times(true, |turn| turn.client_us),
            false => format!("{} µs a job", tenths(middle.client_us)),
        },
        match (is_on, system.needs_redis()) {
            (_, false) => "–".to_owned(),
            (true, _) => times(true, Figures::server_us),
            (false, _) => format!("{} µs a job", tenths(middle.server_us())),
        },
    ]
}

fn words(load: &Load) -> String {
    format!(
        "{} no-op jobs with 100 bytes of JSON each are submitted in bulk, then processed by one process that runs up to 100 at \
         once, {} rounds. It sends its traces, two spans a job, nowhere; to a port where nobody listens; and to a server that \
         takes connections and never answers. The queue of spans is full before the measured jobs begin.",
        whole(f64::from(load.jobs)),
        load.rounds,
    )
}

fn take_turn(
    load: &Load,
    program: &Path,
    server: &Server,
    system: Contender,
    collector: Option<&str>,
) -> Result<Figures> {
    server.ask(&["FLUSHALL"])?;
    let mut command = ours_on(program, system, server);
    command.args(collector);
    let mut driver = Driver::start(&system.name(), command)?;
    let jobs = |first, count| Jobs { first, count, levels: 1 };
    in_and_out(server, &mut driver, jobs(0, WARM_UP_JOBS))?;
    let total = in_and_out(server, &mut driver, jobs(WARM_UP_JOBS, load.jobs))?;
    let n_left = driver.left()?;
    ensure!(n_left == 0, "\"{}\" has {n_left} jobs left", system.name());
    Ok(Figures::new(&total, f64::from(load.jobs)))
}

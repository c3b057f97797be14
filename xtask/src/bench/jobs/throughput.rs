//! Jobs in and jobs out: all contenders, in turns, on one redis-server.

use anyhow::{Result, ensure};

use super::super::report::{Bound, Limit, Section, Table, tenths, whole};
use super::super::server::Server;
use super::Bench;
use super::before;
use super::contender::Contender;
use super::driver::Jobs;
use super::sent;
use super::turn::{Figures, InAndOut, in_and_out, ratio};

const CONTENDERS: [Contender; 7] = [
    Contender::BullMq { tuned: false },
    Contender::BullMq { tuned: true },
    Contender::Apalis { workers: 1, leases: true },
    Contender::Apalis { workers: 1, leases: false },
    Contender::Apalis { workers: 4, leases: false },
    Contender::OnRedis,
    Contender::Embedded,
];
/// Enough for Node to compile what it runs often.
const WARM_UP_JOBS: u32 = 5_000;

/// Measures all contenders and holds ours against the others.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let server = Server::redis()?;
    let mut turns = CONTENDERS.map(|_| Vec::new());
    for round in 1..=bench.rounds {
        for (contender, turns) in CONTENDERS.iter().zip(&mut turns) {
            let take = || take_turn(bench, &server, *contender);
            let turn = bench.quiet.turn(take, |turn| turn.others)?;
            println!("round {round}: {:26} {turn}", contender.name());
            turns.push(turn);
        }
    }
    let mut table = Table::new(&[
        "system",
        "submit, jobs/s",
        "drain, jobs/s",
        "Redis CPU, µs a job: submit",
        "drain",
        "client CPU, µs a job",
        "commands sent a job",
        "commands in scripts a job",
    ]);
    for (contender, turns) in CONTENDERS.iter().zip(&turns) {
        let middle = Figures::middle(turns);
        let n_sent = contender.needs_redis().then(|| sent_per_job(bench, &server, *contender));
        let n_sent = n_sent.transpose()?;
        table.add(row(*contender, &middle, n_sent));
    }
    let mut limits = limits(&turns);
    for contender in Contender::OURS {
        let take = |bench: &Bench| take_turn(bench, &server, contender);
        let pairs = before::pairs(bench, take, |turn| turn.others)?;
        limits.extend(pairs.iter().flat_map(|pairs| before::rates(&contender.name(), pairs)));
    }
    Ok(Section { title: "Throughput", words: words(bench), table, limits })
}

/// A contender's line; one without a server has nothing to tell of it.
fn row(contender: Contender, middle: &Figures, n_sent: Option<f64>) -> Vec<String> {
    let of_server = |text: String| n_sent.map_or("–".to_owned(), |_| text);
    let n_sent = n_sent.unwrap_or_default();
    vec![
        contender.name(),
        whole(middle.submit_rate),
        whole(middle.drain_rate),
        of_server(tenths(middle.submit_server_us)),
        of_server(tenths(middle.drain_server_us)),
        tenths(middle.client_us),
        of_server(format!("{n_sent:.2}")),
        of_server(format!("{:.2}", middle.commands - n_sent)),
    ]
}

fn words(bench: &Bench) -> String {
    format!(
        "{} no-op jobs with 100 bytes of JSON each are submitted in bulk, then processed by one process that runs up to 100 at \
         once. The systems take turns, {} rounds, medians. Every job has to be handled exactly once.\n\n\
         - apalis-redis gets its jobs in batches of {}, because more than 8,000 waiting jobs kill its worker, and fetches 200 at \
         once. Without leases it sends no events either.\n\
         - BullMQ gets 1,000 jobs with each `addBulk`. Tuned, it has four calls of 200 in flight at once and removes jobs when \
         they complete.\n\
         - keyrack keeps completed jobs, leases those it runs and rejects late reports of lost workers.",
        whole(f64::from(bench.jobs)),
        bench.rounds,
        whole(f64::from(CONTENDERS[2].backlog_max())),
    )
}

/// What ours has to reach. A ratio is taken within a round, whose turns follow each other, and then the median of all rounds.
fn limits(
    [bullmq, tuned, apalis, unleased, unleased_4, on_redis, embedded]: &[Vec<Figures>; 7],
) -> Vec<Limit> {
    let drain = |turn: &Figures| turn.drain_rate;
    let submit = |turn: &Figures| turn.submit_rate;
    let limit = |what: &str, measured, bound| Limit { what: what.to_owned(), measured, bound };
    let times = |what: &str, other: &[Figures], figure: fn(&Figures) -> f64, bound| {
        limit(what, ratio(on_redis, other, figure), bound)
    };
    let life = Figures::middle(on_redis).server_us();
    vec![
        times("drain, times BullMQ's rate", bullmq, drain, Bound::AtLeast(4.0)),
        times("drain, times tuned BullMQ's rate", tuned, drain, Bound::None),
        times("drain, times the rate of apalis-redis", apalis, drain, Bound::AtLeast(1.2)),
        times("drain, times that rate without leases", unleased, drain, Bound::None),
        times("drain, times that of four workers without leases", unleased_4, drain, Bound::None),
        times("submit, times BullMQ's rate", bullmq, submit, Bound::AtLeast(5.0)),
        times("submit, times tuned BullMQ's rate", tuned, submit, Bound::None),
        limit("Redis CPU for a job's whole life, µs", life, Bound::AtMost(40.0)),
        limit(
            "embedded drain, times the rate on redis",
            ratio(embedded, on_redis, drain),
            Bound::AtLeast(2.0),
        ),
    ]
}

/// One contender's share of a round: all jobs in, all jobs out.
fn take_turn(bench: &Bench, server: &Server, contender: Contender) -> Result<Figures> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = bench.programs.start(contender, server)?;
    in_and_out(server, &mut driver, Jobs { first: 0, count: WARM_UP_JOBS, levels: 1 })?;
    let mut total = InAndOut::default();
    let (mut first, end) = (WARM_UP_JOBS, WARM_UP_JOBS + bench.jobs);
    while first < end {
        let count = contender.backlog_max().min(end - first);
        total.add(&in_and_out(server, &mut driver, Jobs { first, count, levels: 1 })?);
        first += count;
    }
    let n_left = driver.left()?;
    ensure!(n_left == 0, "\"{}\" has {n_left} jobs left", contender.name());
    Ok(Figures::new(&total, f64::from(bench.jobs)))
}

/// How many commands a client sends for each job.
fn sent_per_job(bench: &Bench, server: &Server, contender: Contender) -> Result<f64> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = bench.programs.start(contender, server)?;
    let jobs = |first| Jobs { first, count: WARM_UP_JOBS, levels: 1 };
    in_and_out(server, &mut driver, jobs(0))?;
    let n_sent = sent::count(server, || {
        driver.submit(jobs(WARM_UP_JOBS))?;
        driver.drain(WARM_UP_JOBS).map(drop)
    })?;
    Ok(n_sent as f64 / f64::from(WARM_UP_JOBS))
}

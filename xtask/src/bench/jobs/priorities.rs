//! Jobs of ten priorities, mixed: the most urgent ones have to come first, and it should cost little.

use anyhow::Result;

use super::super::report::{Bound, Limit, Section, Table, whole};
use super::super::server::Server;
use super::Bench;
use super::contender::Contender;
use super::delivery::by_urgency;
use super::driver::Jobs;
use super::turn::{Figures, in_and_out, ratio};

/// apalis-redis has no priorities.
const CONTENDERS: [Contender; 3] =
    [Contender::BullMq { tuned: true }, Contender::OnRedis, Contender::Embedded];
const LEVELS: u32 = 10;
const WARM_UP_JOBS: u32 = 5_000;
/// The share of the rate without priorities that ours have to keep.
const SHARE_MIN: f64 = 0.8;

/// Measures with and without priorities, in turns.
pub(super) fn run(bench: &Bench) -> Result<Section> {
    let server = Server::redis()?;
    let mut turns = CONTENDERS.map(|_| [Vec::new(), Vec::new()]);
    for round in 1..=bench.rounds {
        for (contender, turns) in CONTENDERS.iter().zip(&mut turns) {
            let take = || take_turn(bench, &server, *contender);
            let [plain, mixed] =
                bench.quiet.turn(take, |[plain, mixed]| plain.others.max(mixed.others))?;
            println!("round {round}: {:26} {mixed}", contender.name());
            turns[0].push(plain);
            turns[1].push(mixed);
        }
    }
    let mut table = Table::new(&[
        "system",
        "submit, jobs/s",
        "of its rate without priorities",
        "drain, jobs/s",
        "of its rate without priorities",
    ]);
    for (contender, [plain, mixed]) in CONTENDERS.iter().zip(&turns) {
        let (plain, mixed) = (Figures::middle(plain), Figures::middle(mixed));
        let percent = |of: f64, whole: f64| format!("{:.0}%", 100.0 * of / whole);
        table.add(vec![
            contender.name(),
            whole(mixed.submit_rate),
            percent(mixed.submit_rate, plain.submit_rate),
            whole(mixed.drain_rate),
            percent(mixed.drain_rate, plain.drain_rate),
        ]);
    }
    let ours = CONTENDERS.iter().zip(&turns).filter(|(contender, _)| contender.is_ours());
    let limits = ours.flat_map(|(contender, [plain, mixed])| limits(*contender, plain, mixed));
    let limits = limits.collect();
    let words = format!(
        "{} jobs of {LEVELS} priorities, mixed. In BullMQ an urgent job passes all others; keyrack's documented score lets it pass \
         them by a share of the time that they have waited, so that none waits forever. Each priority's jobs have to be started before \
         those of the next, on average.",
        whole(f64::from(bench.jobs)),
    );
    Ok(Section { title: "Ten priorities", words, table, limits })
}

/// What ours has to reach, as the median of the rounds' ratios.
fn limits(contender: Contender, plain: &[Figures], mixed: &[Figures]) -> [Limit; 2] {
    let limit = |what: &str, figure: fn(&Figures) -> f64| Limit {
        what: format!("{}, {what}, of its rate without priorities", contender.name()),
        measured: ratio(mixed, plain, figure),
        bound: Bound::AtLeast(SHARE_MIN),
    };
    [limit("submit", |turn| turn.submit_rate), limit("drain", |turn| turn.drain_rate)]
}

/// The same number of jobs without priorities and with them.
fn take_turn(bench: &Bench, server: &Server, contender: Contender) -> Result<[Figures; 2]> {
    server.ask(&["FLUSHALL"])?;
    let mut driver = bench.programs.start(contender, server)?;
    let mut first = 0;
    let mut run = |count, levels| {
        let done = in_and_out(server, &mut driver, Jobs { first, count, levels })?;
        first += count;
        by_urgency(levels, &done.started)?;
        anyhow::Ok(Figures::new(&done, f64::from(count)))
    };
    run(WARM_UP_JOBS, 1)?;
    run(WARM_UP_JOBS, LEVELS)?;
    Ok([run(bench.jobs, 1)?, run(bench.jobs, LEVELS)?])
}

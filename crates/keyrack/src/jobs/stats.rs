//! `keyrack jobs stats`.

mod detail;
pub(crate) mod throughput;

use std::{
    io::{self, IsTerminal as _, Write},
    time::Duration,
};

use keyrack_format as format;
use keyrack_jobs::bee::{Hive, Stats, keys::QueueName};

use self::throughput::Throughput;
use super::{names, open};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The queues [default: all]; a single queue is shown with its workers and limits
    #[arg(value_name = "QUEUE", value_parser = names::queue)]
    queues: Vec<QueueName>,
    /// Print again every TIME [default: 2s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "2s",
        value_parser = format::duration::parse_positive)]
    watch: Option<Duration>,
}

const AFTER_HELP: &str = "\
IN and OUT count the jobs submitted and ended in the last minute. The bars show the jobs completed
in each of the last 20 minutes. Jobs run by Node workers are not counted.";

/// Prints what queues hold.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open(globals).await?;
    for queue in &args.queues {
        hive.check_queue(queue).await?;
    }
    let Some(period) = args.watch else {
        let all = load(&hive, &args.queues).await?;
        if globals.json {
            globals.print_json(&all)?;
        } else {
            print(&all, args, &hive, globals)?;
        }
        return Ok(Exit::Ok);
    };
    let mut ticks = tokio::time::interval(period);
    loop {
        ticks.tick().await;
        let all = load(&hive, &args.queues).await?;
        if globals.json {
            let mut out = globals.out();
            writeln!(out, "{}", serde_json::to_string(&all)?)?;
            out.flush()?;
            continue;
        }
        if io::stdout().is_terminal() {
            clear(&mut globals.out())?;
        }
        print(&all, args, &hive, globals)?;
    }
}

/// Puts the cursor into the upper left corner and clears what is below.
fn clear(out: &mut impl Write) -> io::Result<()> {
    write!(out, "\u{1b}[H\u{1b}[J")?;
    out.flush()
}

async fn load(hive: &Hive, queues: &[QueueName]) -> anyhow::Result<Vec<Stats>> {
    let known = if queues.is_empty() { hive.queues().await? } else { queues.to_vec() };
    let mut all = Vec::with_capacity(known.len());
    for queue in &known {
        all.push(hive.stats(queue).await?);
    }
    Ok(all)
}

fn print(all: &[Stats], args: &Args, hive: &Hive, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    match (all, &args.queues[..]) {
        ([], _) => globals.say("no queues yet; \"keyrack jobs submit\" creates one"),
        ([one], [_]) => detail::print(&mut out, one, hive.now_ms())?,
        _ => table(all, hive.now_ms()).print(&mut out)?,
    }
    Ok(out.flush()?)
}

fn table(all: &[Stats], now_ms: u64) -> Table {
    let mut table = Table::new(&[
        "QUEUE",
        "QUEUED",
        "DELAYED",
        "WAITING",
        "RUNNING",
        "FAILED",
        "WORKERS",
        "OLDEST",
        "IN",
        "OUT",
        "COMPLETED",
    ]);
    for stats in all {
        let pace = Throughput::of(stats, now_ms);
        let number = |n: u64| Cell::number(format::count(n));
        let name =
            if stats.paused { format!("{} (paused)", stats.queue) } else { stats.queue.clone() };
        let oldest = stats.oldest_ms.filter(|_| stats.queued > 0);
        let oldest = oldest.map(format::duration_ms);
        let alive = stats.workers_alive(now_ms);
        let is_stuck = alive == 0 && stats.queued > 0;
        table.row(vec![
            Cell::painted(name, stats.paused.then_some(Color::Yellow)),
            number(stats.queued),
            number(stats.delayed),
            number(stats.waiting + stats.parked),
            number(stats.running),
            number(stats.failed).in_color((stats.failed > 0).then_some(Color::Red)),
            number(alive).in_color(is_stuck.then_some(Color::Red)),
            Cell::number(oldest.unwrap_or_else(|| "-".into())),
            number(pace.submitted),
            number(pace.ended),
            Cell::painted(pace.bars(20), Some(Color::Green)).keeping_end(),
        ]);
    }
    table
}

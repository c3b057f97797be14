//! `keyrack jobs scaling`.

use std::{io::Write as _, time::Duration};

use keyrack_format as format;
use keyrack_jobs::bee::{Scaling, keys::QueueName};

use super::{names, open_queue};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = names::queue)]
    queue: QueueName,
    /// Start 95 % of the jobs within TIME [default: as the queue says, or 1m]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse_positive)]
    wait_target: Option<Duration>,
}

const AFTER_HELP: &str = "\
The number follows from how many jobs arrive, how long they run, how many wait and how many run.
\"keyrack jobs limits QUEUE --wait-target TIME\" sets the target of a queue.";

/// Prints how many workers a queue needs.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let hive = open_queue(globals, &args.queue).await?;
    let target = args.wait_target.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let scaling = hive.scaling(&args.queue, target).await?;
    if globals.json {
        globals.print_json(&scaling)?;
        return Ok(Exit::Ok);
    }
    let mut out = globals.out();
    for line in lines(&scaling) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

fn lines(scaling: &Scaling) -> [String; 4] {
    let time = |ms: Option<f64>| {
        ms.map_or_else(|| "unknown".to_owned(), |ms| format::duration_ms(ms.round() as u64))
    };
    let workers = format::counted(scaling.workers, "worker");
    let target = format::duration_ms(scaling.wait_target_ms);
    [
        format!("{workers} wanted, {} there", scaling.workers_alive),
        format!(
            "  for {} at once, {:.1} per worker, so that 95 % start within {target}",
            format::counted(scaling.slots, "job"),
            scaling.slots_per_worker
        ),
        format!(
            "  arriving: {:.2} jobs/s of {} each",
            scaling.arrivals_per_s,
            time(scaling.run_mean_ms)
        ),
        format!(
            "  waiting: {} (p95 of the last hour: {}), running: {}",
            format::count(scaling.waiting),
            time(scaling.wait_p95_ms),
            format::count(scaling.running)
        ),
    ]
}

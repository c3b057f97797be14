//! What an event costs: through the library and through HTTP, embedded and on redis, at few and at a million values, and against
//! recomputing everything with each event.
//!
//! `crates/calculations/examples/measure_calculations` does most of what is measured here; `http` sends events to a server, `import` reads
//! them from a file.

mod http;
mod import;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{
    machine, page,
    report::{Bound, Limit, Section, Table, tenths, whole},
    server::{Role, Server, pinned},
};
use crate::shell;

/// Events of one measurement of speed.
const EVENTS: u64 = 100_000;
/// Values at which growth is measured, against a thousand.
const MANY: u64 = 1_000_000;
/// Values at which everything is recomputed.
const BASELINE: u64 = 10_000;

/// Clients that send single events at once.
const CLIENTS: u64 = 64;
/// Ten times what a first version did on a machine of two cores.
const IMPORT_MIN: f64 = 39_000.0;
const POSTS_MIN: f64 = 2_410.0;

/// What is measured where.
#[derive(Clone, Copy)]
enum Place {
    Embedded,
    Redis,
}

impl Place {
    const ALL: [Place; 2] = [Place::Embedded, Place::Redis];

    fn name(self) -> &'static str {
        match self {
            Place::Embedded => "embedded",
            Place::Redis => "redis",
        }
    }
}

/// The programs that are measured.
struct Programs {
    measure: PathBuf,
    keyrack: PathBuf,
}

/// Measures, prints, and fails when a limit was missed.
pub(super) fn run(arguments: &[&str]) -> Result<()> {
    let (write, scale) = match arguments {
        [] => (false, 1),
        ["--write"] => (true, 1),
        // For whoever wants to see it run rather than the figures.
        ["--short"] => (false, 20),
        _ => bail!("usage: cargo xtask bench calc [--write | --short]"),
    };
    let programs = build()?;
    let sections = [
        speed(&programs, EVENTS / scale)?,
        full(&programs, EVENTS / 5 / scale)?,
        as_used(&programs, scale)?,
        cost(&programs, scale)?,
        by_shape(&programs, scale)?,
    ];
    let about = format!(
        "What an event costs that updates five calculations over three intervals each: `cargo xtask bench calc --write`.\n\n{}",
        machine::with_redis()?
    );
    page::conclude("Calculations", &about, &sections, write)
}

fn build() -> Result<Programs> {
    let mut example =
        shell::cargo("build --release -p keyrack-calculations --example measure_calculations");
    shell::run(&mut example)?;
    shell::run(&mut shell::cargo("build --release -p keyrack-cli"))?;
    let folder = shell::target().join("release");
    Ok(Programs {
        measure: folder.join("examples/measure_calculations"),
        keyrack: folder.join("keyrack"),
    })
}

/// Events a second.
fn speed(programs: &Programs, events: u64) -> Result<Section> {
    let mut table = Table::new(&["store", "library, events/s", "HTTP, events/s"]);
    for place in Place::ALL {
        let server = Server::redis()?;
        let library = measured(programs, place, &server, "rate", events)?;
        let http = http::rate(&programs.keyrack, place, events)?;
        let library = number(&library, "events_per_s")?;
        table.add(vec![place.name().to_owned(), whole(library), whole(http)]);
    }
    let words = format!(
        "{} events for ten keys: through the library in batches of 1,000, and over HTTP as lines in one request. The embedded store is in \
         memory for the library, and on disk with fsync before each answer for HTTP.",
        whole(events as f64)
    );
    Ok(Section { title: "Speed", words, table, limits: Vec::new() })
}

/// Events a second for a key with everything that can be calculated.
fn full(programs: &Programs, events: u64) -> Result<Section> {
    let mut table = Table::new(&["store", "in batches, events/s", "64 at once, events/s"]);
    for place in Place::ALL {
        let fresh = |what: &str| {
            let server = Server::redis()?;
            number(&measured(programs, place, &server, what, events)?, "events_per_s")
        };
        table.add(vec![place.name().to_owned(), whole(fresh("all")?), whole(fresh("together")?)]);
    }
    let words = format!(
        "{} events of one key, a second apart, with all calculations over all seven intervals: through the library in batches of 2,000, \
         and one by one, 64 at once. Those that come while others are stored are stored together.",
        whole(events as f64)
    );
    Ok(Section { title: "Everything for one key", words, table, limits: Vec::new() })
}

/// Everything for one key as users do it: importing a file, and single requests.
fn as_used(programs: &Programs, scale: u64) -> Result<Section> {
    let (values, posts) = (MANY / scale, EVENTS / 2 / scale);
    let mut table = Table::new(&["store", "import, values/s", "single POSTs, events/s"]);
    let mut limits = Vec::new();
    for place in Place::ALL {
        let imported = import::rate(&programs.keyrack, place, values)?;
        let posted = http::singles(&programs.keyrack, place, posts, CLIENTS)?;
        table.add(vec![place.name().to_owned(), whole(imported), whole(posted)]);
        for (what, measured, least) in
            [("import", imported, IMPORT_MIN), ("single POSTs", posted, POSTS_MIN)]
        {
            limits.push(Limit {
                what: format!("{}: {what} a second", place.name()),
                measured,
                bound: Bound::AtLeast(least),
            });
        }
    }
    let words = format!(
        "One key with all calculations over all seven intervals: `keyrack calc import` of {} values a second apart, and {} events, one \
         in each `POST /api/1.0/event`, by {CLIENTS} clients at once. The embedded store is on disk with fsync before each answer.",
        whole(values as f64),
        whole(posts as f64)
    );
    Ok(Section { title: "Everything for one key, as users do it", words, table, limits })
}

/// What one event costs, at few values and at many.
fn cost(programs: &Programs, scale: u64) -> Result<Section> {
    let headings = ["store", "at 1,000, µs", "at many, µs", "recomputing, µs", "bytes a value"];
    let (mut table, mut limits) = (Table::new(&headings), Vec::new());
    for place in Place::ALL {
        let fresh = |what: &str, n: u64| {
            let server = Server::redis()?;
            measured(programs, place, &server, what, n)
        };
        let growth = fresh("growth", MANY / scale)?;
        let baseline = fresh("baseline", BASELINE)?;
        let memory = fresh("memory", EVENTS / scale)?;
        let (few, many) = (number(&growth, "us_at_1000")?, number(&growth, "us_at_n")?);
        let (ours, plain) = (number(&baseline, "us")?, number(&baseline, "us_baseline")?);
        let bytes = number(&memory, "bytes_per_value")?;
        table.add(vec![
            place.name().to_owned(),
            tenths(few),
            tenths(many),
            whole(plain),
            whole(bytes),
        ]);
        limits.push(Limit {
            what: format!("{}: an event at many values against one at 1,000", place.name()),
            measured: many / few,
            bound: Bound::AtMost(1.3),
        });
        limits.push(Limit {
            what: format!("{}: recomputing against an event at 10,000 values", place.name()),
            measured: plain / ours,
            bound: Bound::AtLeast(10.0),
        });
    }
    let words = format!(
        "One event by itself through the library, the median of 500, for a key with so many values; many are {}. Recomputing is \
         the straightforward way: read all {} values after each event and calculate everything again.",
        whole((MANY / scale) as f64),
        whole(BASELINE as f64)
    );
    Ok(Section { title: "Cost of one event", words, table, limits })
}

/// What one event costs by how many intervals and calculations it has.
fn by_shape(programs: &Programs, scale: u64) -> Result<Section> {
    let headings = [
        "intervals x calculations",
        "embedded, in batches, µs",
        "embedded, alone, µs",
        "redis, in batches, µs",
        "redis, alone, µs",
    ];
    let mut table = Table::new(&headings);
    for intervals in [1, 3, 7] {
        for calculations in [1, 5, 13] {
            let mut row = vec![format!("{intervals} x {calculations}")];
            for place in Place::ALL {
                let server = Server::redis()?;
                let what = format!("shape:{intervals}x{calculations}");
                let told = measured(programs, place, &server, &what, EVENTS / 10 / scale)?;
                row.push(tenths(number(&told, "us_in_batches")?));
                row.push(tenths(number(&told, "us_alone")?));
            }
            table.add(row);
        }
    }
    let words = format!(
        "Microseconds for one event through the library, for a key whose {} values are a second apart: in batches of 1,000, and alone, the \
         median of 500. Intervals are seconds; with minutes and hours; and all seven. Calculations are the sum; the five of the key \
         document; and all. The embedded store is in memory.",
        whole((EVENTS / 10 / scale) as f64)
    );
    Ok(Section { title: "Cost by intervals and calculations", words, table, limits: Vec::new() })
}

/// What the measuring program prints.
fn measured(
    programs: &Programs,
    place: Place,
    server: &Server,
    what: &str,
    n: u64,
) -> Result<String> {
    let url = match place {
        Place::Embedded => "embedded:memory".to_owned(),
        Place::Redis => format!("redis://127.0.0.1:{}", server.port()),
    };
    let mut command = pinned(&programs.measure, Role::Load);
    command.args([url.as_str(), what, &n.to_string()]);
    shell::output(&mut command)
}

/// The number behind a name.
fn number(text: &str, name: &str) -> Result<f64> {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let found = found.with_context(|| format!("no \"{name}\" in \"{text}\""))?;
    found.trim().parse().with_context(|| format!("\"{found}\" is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_whole_names() {
        let text = "us 12.5\nus_baseline 1000.25\n";
        assert_eq!(number(text, "us").unwrap(), 12.5);
        assert_eq!(number(text, "us_baseline").unwrap(), 1000.25);
        assert!(number(text, "bytes").is_err());
    }

    #[test]
    fn unknown_argument_is_answered_with_the_usage() {
        assert!(run(&["--fast"]).unwrap_err().to_string().starts_with("usage: "));
    }
}

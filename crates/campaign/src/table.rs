//! The table at the end, and the page that has it.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use anyhow::{Context as _, Result};

use crate::{
    campaign::Plan,
    deployment::Outcome,
    fault::{Fault, StoreKind},
};

const BEGIN: &str =
    "<!-- the table of a campaign begins; cargo xtask campaign --write replaces it -->";
const END: &str = "<!-- the table of a campaign ends -->";

const HEADINGS: [&str; 9] = [
    "fault",
    "store",
    "times",
    "acknowledged",
    "lost",
    "run twice",
    "unreachable",
    "longest gap",
    "lint findings",
];

/// How many lines of details a fault may print.
const DETAILS_MAX: usize = 20;

/// What all faults did so far, a row for each fault and store.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: BTreeMap<(StoreKind, Fault), Row>,
    pub(crate) ran_for: Duration,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Row {
    times: u64,
    acknowledged: u64,
    lost: u64,
    run_twice: u64,
    unreachable: u64,
    longest_gap_ms: u64,
    lint: u64,
    started_early: u64,
    errors: u64,
    /// Faults that could not be carried out, or after which the store could not be judged.
    broken: u64,
}

impl Table {
    /// Adds what a fault did, and tells of it.
    pub(crate) fn add(
        &mut self,
        store: StoreKind,
        fault: Fault,
        outcome: Result<Outcome, String>,
    ) -> String {
        let row = self.rows.entry((store, fault)).or_default();
        row.times += 1;
        match outcome {
            Ok(outcome) => {
                row.add(&outcome);
                told(store, fault, &outcome)
            }
            Err(error) => {
                row.broken += 1;
                format!("{} {fault}: BROKEN: {error}", store.name())
            }
        }
    }

    /// Whether nothing was lost or out of reach, and nothing else happened that must not.
    pub(crate) fn passed(&self) -> bool {
        self.rows.iter().all(|((_, fault), row)| row.problems(*fault).is_empty())
    }

    /// The table, and what is wrong with it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.markdown();
        for ((store, fault), row) in &self.rows {
            for problem in row.problems(*fault) {
                text += &format!("FAILED {} {fault}: {problem}\n", store.name());
            }
        }
        text
    }

    /// Puts the table into the page, between its marks.
    ///
    /// # Errors
    /// When the page has no marks, or cannot be read or written.
    pub(crate) fn write_to(&self, page: &Path, plan: &Plan) -> Result<()> {
        let context = || format!("could not put the table into \"{}\"", page.display());
        let text = fs::read_to_string(page).with_context(context)?;
        let block = format!("{}\n\n{}", self.caption(plan), self.markdown());
        let text =
            replace_block(&text, &block).context("its marks are missing").with_context(context)?;
        fs::write(page, text).with_context(context)
    }

    fn caption(&self, plan: &Plan) -> String {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let faults: u64 = self.rows.values().map(|row| row.times).sum();
        let verdict = if self.passed() { "It passed." } else { "It failed." };
        format!(
            "The run of {}: {} minutes, {faults} faults, seed {}, {build} build, {cores} cores, {}. {verdict}",
            jiff::Zoned::now().date(),
            self.ran_for.as_secs() / 60,
            plan.seed,
            redis_version(),
        )
    }

    fn markdown(&self) -> String {
        let mut lines = vec![HEADINGS.map(str::to_owned)];
        lines.extend(self.rows.iter().map(|((store, fault), row)| row.cells(*store, *fault)));
        let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
        let widths: [usize; 9] = std::array::from_fn(width);
        let is_text = |column: usize| column < 2;
        let line = |cells: &[String; 9]| {
            let cells = cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
                if is_text(column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = widths.iter().enumerate().map(|(column, &width)| {
            if is_text(column) { "-".repeat(width + 2) } else { "-".repeat(width + 1) + ":" }
        });
        let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
        let (heading, rows) = lines.split_first().expect("there is a heading");
        line(heading) + &rule + &rows.iter().map(line).collect::<String>()
    }
}

impl Row {
    fn add(&mut self, outcome: &Outcome) {
        self.acknowledged += outcome.acknowledged as u64;
        self.lost += outcome.lost.len() as u64;
        self.run_twice += outcome.run_twice as u64;
        self.unreachable += outcome.unreachable.len() as u64;
        self.longest_gap_ms = self.longest_gap_ms.max(outcome.longest_gap_ms);
        self.lint += outcome.lint.len() as u64;
        self.started_early += outcome.started_early as u64;
        self.errors += outcome.errors.len() as u64;
    }

    fn cells(&self, store: StoreKind, fault: Fault) -> [String; 9] {
        [
            fault.name().to_owned(),
            store.name().to_owned(),
            self.times.to_string(),
            self.acknowledged.to_string(),
            self.lost.to_string(),
            self.run_twice.to_string(),
            self.unreachable.to_string(),
            format!("{:.1} s", self.longest_gap_ms as f64 / 1000.0),
            self.lint.to_string(),
        ]
    }

    fn problems(&self, fault: Fault) -> Vec<String> {
        let run_twice = if fault.repeats_because().is_none() { self.run_twice } else { 0 };
        let counts = [
            (self.lost, "acknowledged jobs lost"),
            (self.unreachable, "jobs, queues or slots out of reach"),
            (run_twice, "jobs run twice, which this fault does not explain"),
            (self.started_early, "jobs started before their time"),
            (self.lint, "lint findings"),
            (self.errors, "kinds of errors that do not tell clients to try again"),
            (self.broken, "times the fault could not be carried out or judged"),
        ];
        let counts = counts.into_iter().filter(|(n, _)| *n > 0);
        counts.map(|(n, what)| format!("{n} {what}")).collect()
    }
}

fn told(store: StoreKind, fault: Fault, outcome: &Outcome) -> String {
    let mut text = format!(
        "{} {fault}: {} acknowledged, {} lost, {} run twice, {} unreachable, longest gap {:.1} s, {} lint findings",
        store.name(),
        outcome.acknowledged,
        outcome.lost.len(),
        outcome.run_twice,
        outcome.unreachable.len(),
        outcome.longest_gap_ms as f64 / 1000.0,
        outcome.lint.len(),
    );
    if outcome.started_early > 0 {
        text += &format!(", {} started early", outcome.started_early);
    }
    let kinds = [
        ("lost", &outcome.lost),
        ("unreachable", &outcome.unreachable),
        ("lint", &outcome.lint),
        ("error", &outcome.errors),
        ("ran twice", &outcome.repeats),
    ];
    for (kind, lines) in kinds {
        for line in lines.iter().take(DETAILS_MAX) {
            text += &format!("\n        {kind}: {line}");
        }
    }
    text
}

fn replace_block(page: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{block}\n{END}{after}"))
}

fn redis_version() -> String {
    let output = std::process::Command::new("redis-server").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = text.unwrap_or_default();
    let version = version.split(' ').find_map(|word| word.strip_prefix("v=")).unwrap_or("unknown");
    format!("redis-server {version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_the_longest_gap_stays() {
        let mut table = Table::default();
        for gap in [200, 1500, 300] {
            let outcome = Outcome {
                acknowledged: 10,
                run_twice: 1,
                longest_gap_ms: gap,
                ..Outcome::default()
            };
            table.add(StoreKind::Cluster, Fault::Reshard, Ok(outcome));
        }
        assert!(table.passed());
        let text = table.text();
        let row = "| reshard | cluster |     3 |           30 |    0 |         3 |           0 |       1.5 s |             0 |";
        assert!(text.ends_with(&format!("{row}\n")), "{text}");
    }

    #[test]
    fn what_must_not_happen_fails_the_campaign() {
        let fails = |fault, outcome: Result<Outcome, String>| {
            let mut table = Table::default();
            table.add(StoreKind::Standalone, fault, outcome);
            assert_eq!(table.passed(), !table.text().contains("FAILED"));
            !table.passed()
        };
        let one = || vec!["one".to_owned()];
        let twice = || Ok(Outcome { run_twice: 1, ..Outcome::default() });
        assert!(fails(Fault::KillServer, Ok(Outcome { lost: one(), ..Outcome::default() })));
        assert!(fails(Fault::KillServer, Ok(Outcome { unreachable: one(), ..Outcome::default() })));
        assert!(fails(Fault::KillServer, Ok(Outcome { lint: one(), ..Outcome::default() })));
        assert!(fails(Fault::KillServer, Err("did not start".into())));
        assert!(fails(Fault::StepWorkerClock, twice()));
        assert!(!fails(Fault::KillWorker, twice()));
    }

    #[test]
    fn a_page_keeps_what_stands_around_the_table() {
        let page = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let page = replace_block(&page, "new").expect("marks");
        assert_eq!(page, format!("above\n{BEGIN}\n\nnew\n{END}\nbelow\n"));
        assert_eq!(replace_block("no marks", "new"), None);
    }
}

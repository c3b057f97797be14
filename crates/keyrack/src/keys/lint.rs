//! `keyrack keys lint`.

use std::{
    io::Write as _,
    num::{NonZeroU32, NonZeroU64},
};

use keyrack_contract::registry;
use keyrack_format as format;
use keyrack_lint::{Options, Report, Rule, Severity, Tally, WalkRate};
use keyrack_store::Store;
use serde_json::{Value, json};

use super::{families, progress::Bar};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
#[command(after_long_help = rules())]
pub(super) struct Args {
    /// Check only this family: its id, its template, or one of its keys
    #[arg(long)]
    family: Option<String>,
    /// Read the value of every Nth key; all names are checked
    #[arg(long, value_name = "N", default_value = "1")]
    sample: NonZeroU64,
    /// List at most N findings; the totals count all
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    limit: usize,
    /// Scan at most N keys per second [default: unlimited]
    #[arg(long, value_name = "N")]
    pace: Option<NonZeroU32>,
}

/// The rules, for `--help`.
fn rules() -> String {
    let rules = Rule::ALL.map(|rule| {
        let note = if rule.severity() == Severity::Info { " (information)" } else { "" };
        format!("\n  {}  {}{note}", rule.code(), rule.title())
    });
    format!("Rules:{}\n\nEnds with 10 when it finds a problem.", rules.concat())
}

/// Checks the store against the declarations.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let family = args.family.as_deref().map(families::find).transpose()?;
    let options = Options {
        family,
        sample: args.sample,
        findings_max: args.limit,
        pace: WalkRate { keys_per_second: args.pace },
    };
    let store = globals.open_existing_store().await?;
    let bar = Bar::new(globals);
    let report =
        keyrack_lint::lint(&store, registry(), &options, |progress| bar.show(progress)).await?;
    drop(bar);
    if globals.json {
        globals.print_json(&as_json(&store, &report))?;
    } else {
        print(&report, globals)?;
    }
    globals.say(verdict(&store, &report));
    Ok(if report.is_clean() { Exit::Ok } else { Exit::Findings })
}

fn print(report: &Report, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    for finding in &report.findings {
        writeln!(out, "{finding}")?;
    }
    if !report.findings.is_empty() && report.keys > 0 {
        writeln!(out)?;
    }
    let known = report.families.iter().map(|(id, tally)| (id.as_str(), tally));
    let unknown = (report.unknown.keys > 0).then_some(("no family", &report.unknown));
    let rows: Vec<[String; 3]> =
        known.chain(unknown).map(|(name, tally)| row(name, tally)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let [name, keys, memory] = [0, 1, 2].map(width);
    for [a, b, c] in &rows {
        writeln!(out, "{a:name$}  {b:>keys$}  {c:>memory$}")?;
    }
    Ok(out.flush()?)
}

fn row(name: &str, tally: &Tally) -> [String; 3] {
    let estimate = if tally.is_estimate() { "~" } else { "" };
    let memory = match tally.bytes() {
        Some(bytes) => format!("{estimate}{}", format::bytes(bytes)),
        None => "not looked into".into(),
    };
    [name.to_owned(), format::counted(tally.keys, "key"), memory]
}

fn verdict(store: &Store, report: &Report) -> String {
    let mut words = format!("{store}: {}", format::counted(report.keys, "key"));
    if report.checked < report.keys {
        words += &format!(", {} looked into", format::count(report.checked));
    }
    words += match report.problems() {
        0 => "; no problem found".to_owned(),
        n => format!("; {} found", format::counted(n, "problem")),
    }
    .as_str();
    for (rule, count) in &report.counts {
        words += &format!("\n  {}  {}: {}", rule.code(), rule.title(), format::count(*count));
    }
    if report.left_out() > 0 {
        words += &format!(
            "\n{} not listed; --limit lists more",
            format::counted(report.left_out(), "finding")
        );
    }
    words
}

fn as_json(store: &Store, report: &Report) -> Value {
    let tally = |tally: &Tally| json!({ "keys": tally.keys, "bytes": tally.bytes(), "estimated": tally.is_estimate() });
    let families = report.families.iter().map(|(id, one)| (id.clone(), tally(one)));
    let findings = report.findings.iter().map(|finding| {
        json!({
            "code": finding.rule.code(),
            "rule": finding.rule.title(),
            "severity": finding.severity(),
            "db": finding.db,
            "key": finding.key,
            "family": finding.family,
            "detail": finding.detail,
            "places": finding.places,
        })
    });
    json!({
        "store": store.to_string(),
        "clean": report.is_clean(),
        "keys": report.keys,
        "checked": report.checked,
        "problems": report.problems(),
        "counts": report.counts,
        "left_out": report.left_out(),
        "findings": findings.collect::<Vec<_>>(),
        "families": families.collect::<serde_json::Map<_, _>>(),
        "no_family": tally(&report.unknown),
    })
}

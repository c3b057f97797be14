//! `keyrack keys check`.

mod sarif;

use std::io::Write as _;

use keyrack_contract::registry;
use keyrack_format as format;
use keyrack_keys::{CheckFinding, CheckRule, Family};
use serde_json::{Value, json};

use super::declared::Declared;
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_long_help = rules())]
pub(super) struct Args {
    /// How to print findings
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Rules that do not count, such as KC03
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A line for each finding
    Text,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

fn rules() -> String {
    let rules = CheckRule::ALL.map(|rule| {
        let note = if rule.is_problem() { "" } else { " (advice)" };
        format!("\n  {}  {}{note}", rule.code(), rule.title())
    });
    format!("Rules:{}\n\nEnds with 10 when it finds a problem.", rules.concat())
}

/// A finding, and where the family is declared.
struct Located {
    finding: CheckFinding,
    place: Option<(String, usize)>,
}

impl Located {
    fn place(&self) -> (&str, usize) {
        self.place.as_ref().map_or(("", 0), |(file, line)| (file, *line))
    }

    fn level(&self) -> &'static str {
        if self.finding.rule.is_problem() { "error" } else { "note" }
    }
}

/// Checks the declarations.
pub(super) fn run(args: &Args, declared: &Declared, globals: &Globals) -> anyhow::Result<Exit> {
    for code in &args.allow {
        if !CheckRule::ALL.iter().any(|rule| rule.code() == code) {
            let message = format!("there is no rule \"{code}\"");
            return Err(Failure::new(Exit::Usage, message).hint("KC01 to KC08; see --help").into());
        }
    }
    let families: Vec<&'static Family> = registry().all().collect();
    let found: Vec<Located> = keyrack_keys::check(&families)
        .into_iter()
        .filter(|finding| !args.allow.iter().any(|code| code == finding.rule.code()))
        .map(|finding| {
            let place = declared.place(&finding.family).map(|(file, line)| (file.to_owned(), line));
            Located { finding, place }
        })
        .collect();
    let n_problems = found.iter().filter(|found| found.finding.rule.is_problem()).count();
    match args.format {
        _ if globals.json => globals.print_json(&as_json(&found, families.len(), n_problems))?,
        Format::Sarif => globals.print_json(&sarif::log(&found))?,
        Format::Text => lines(&found, globals, text)?,
        Format::Github => lines(&found, globals, annotation)?,
    }
    globals.say(format_args!(
        "{}; {}",
        format::counted(families.len() as u64, "declaration"),
        match n_problems {
            0 => "no problem found".to_owned(),
            n => format!("{} found", format::counted(n as u64, "problem")),
        }
    ));
    Ok(if n_problems == 0 { Exit::Ok } else { Exit::Findings })
}

fn lines(
    found: &[Located],
    globals: &Globals,
    line: impl Fn(&Located) -> String,
) -> anyhow::Result<()> {
    let mut out = globals.out();
    for found in found {
        writeln!(out, "{}", line(found))?;
    }
    Ok(out.flush()?)
}

fn text(found: &Located) -> String {
    let CheckFinding { rule, family, detail } = &found.finding;
    match &found.place {
        Some((file, line)) => format!("{file}:{line}: {rule} {family}: {detail}"),
        None => format!("{rule} {family}: {detail}"),
    }
}

/// A workflow command, which shows up beside the line in a pull request.
fn annotation(found: &Located) -> String {
    let (file, line) = found.place();
    let level = if found.finding.rule.is_problem() { "error" } else { "notice" };
    let CheckFinding { rule, family, detail } = &found.finding;
    let value = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| value(text).replace(':', "%3A").replace(',', "%2C");
    let title = property(&format!("{rule} {}", rule.title()));
    let detail = value(&format!("{family}: {detail}"));
    format!("::{level} file={},line={line},title={title}::{detail}", property(file))
}

fn as_json(found: &[Located], n_families: usize, n_problems: usize) -> Value {
    let findings: Vec<Value> = found
        .iter()
        .map(|found| {
            let (file, line) = found.place.clone().unzip();
            json!({
                "code": found.finding.rule.code(),
                "rule": found.finding.rule.title(),
                "problem": found.finding.rule.is_problem(),
                "family": found.finding.family,
                "detail": found.finding.detail,
                "file": file,
                "line": line,
            })
        })
        .collect();
    json!({ "families": n_families, "problems": n_problems, "findings": findings })
}

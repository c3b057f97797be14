//! `keyrack work --file`: commands for many queues, in a TOML file.

use std::{collections::BTreeMap, ops::RangeInclusive, path::Path};

use keyrack_format as format;
use keyrack_jobs::bee::{keys::QueueName, worker::WEIGHT_MAX};
use serde::Deserialize;

use super::{
    CONCURRENCY, TIMEOUT,
    command::Command,
    queue_work::{QueueWork, Work},
};
use crate::{Exit, Failure};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkFile {
    /// How many jobs of all queues run at once.
    concurrency: Option<i64>,
    #[serde(default)]
    queues: BTreeMap<String, QueueTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueTable {
    /// A line for the shell
    exec: Option<String>,
    /// or a program and its arguments.
    command: Option<Vec<String>>,
    concurrency: Option<i64>,
    weight: Option<i64>,
    timeout: Option<String>,
    #[serde(default)]
    unique: bool,
}

/// Reads what is to be done.
pub(super) fn read(file: &Path) -> Result<Work, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        let exit = if is_missing { Exit::NotFound } else { Exit::Failed };
        Failure::new(exit, format!("could not read \"{name}\": {error}"))
    })?;
    parse(&text).map_err(|wrong| match wrong {
        Wrong::Text(text) => Failure::new(Exit::Usage, format!("\"{name}\": {text}")),
        Wrong::Command(failure) => failure,
    })
}

#[derive(Debug)]
enum Wrong {
    Text(String),
    Command(Failure),
}

fn parse(text: &str) -> Result<Work, Wrong> {
    let file: WorkFile =
        toml::from_str(text).map_err(|error| Wrong::Text(error.to_string().trim_end().into()))?;
    if file.queues.is_empty() {
        let text = "it names no queue; add a table such as [queues.emails] with exec = \"…\"";
        return Err(Wrong::Text(text.into()));
    }
    let shared_concurrency = file
        .concurrency
        .map(|n| within("concurrency", n, CONCURRENCY))
        .transpose()
        .map_err(Wrong::Text)?;
    let queues = file.queues.into_iter().map(|(name, table)| queue_work(&name, table));
    Ok(Work { queues: queues.collect::<Result<_, _>>()?, shared_concurrency })
}

fn queue_work(name: &str, table: QueueTable) -> Result<QueueWork, Wrong> {
    let of = |text: String| Wrong::Text(format!("queues.{name:?}.{text}"));
    let queue = QueueName::new(name).map_err(|error| Wrong::Text(error.to_string()))?;
    let number = |field, given: Option<i64>, default: i64, allowed| {
        within(field, given.unwrap_or(default), allowed).map_err(of)
    };
    let time_limit = match &table.timeout {
        Some(text) => format::duration::parse_positive(text)
            .map_err(|error| of(format!("timeout: \"{text}\": {error}")))?,
        None => TIMEOUT,
    };
    let concurrency = number("concurrency", table.concurrency, 1, CONCURRENCY)?;
    let weight = number("weight", table.weight, 1, 1..=i64::from(WEIGHT_MAX))?;
    let command = match (table.exec, table.command) {
        (Some(line), None) => Command::new(Some(line), Vec::new()),
        (None, Some(argv)) if !argv.is_empty() => {
            Command::new(None, argv.into_iter().map(Into::into).collect())
        }
        (Some(_), Some(_)) => {
            return Err(of("exec: given beside command; give one of them".into()));
        }
        _ => {
            let text =
                "exec: missing; give a line for the shell, or command = [\"PROGRAM\", \"ARG\"]";
            return Err(of(text.into()));
        }
    };
    let command = command.map_err(Wrong::Command)?;
    let weight = u32::try_from(weight).expect("at most WEIGHT_MAX");
    Ok(QueueWork { queue, command, concurrency, weight, time_limit, unique: table.unique })
}

fn within(field: &str, n: i64, allowed: RangeInclusive<i64>) -> Result<usize, String> {
    if !allowed.contains(&n) {
        return Err(format!("{field}: {n}; give {} to {}", allowed.start(), allowed.end()));
    }
    Ok(usize::try_from(n).expect("a range of positive numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(wrong: Wrong) -> String {
        match wrong {
            Wrong::Text(text) => text,
            Wrong::Command(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_file_says_what_to_run_for_each_queue() {
        let work = parse(
            r#"
            concurrency = 8
            [queues."mail/send"]
            exec = "cat"
            concurrency = 4
            weight = 3
            timeout = "5m"
            unique = true
            [queues.plain]
            command = ["sh", "-c", "true"]
            "#,
        )
        .map_err(text_of)
        .expect("a file that makes sense");
        assert_eq!(work.shared_concurrency, Some(8));
        let told: Vec<_> = work.queues.iter().map(QueueWork::in_words).collect();
        assert_eq!(
            told,
            [
                "mail/send: sh, 4 at once, weight 3, 300s, unique true",
                "plain: sh, 1 at once, weight 1, 1800s, unique false"
            ]
        );
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_value_and_what_is_allowed() {
        for (text, expected) in [
            ("", "it names no queue"),
            ("concurrency = 0\n[queues.q]\nexec = 'x'", "concurrency: 0; give 1 to 1000"),
            (
                "[queues.q]\nexec = 'x'\nconcurrency = -1",
                "queues.\"q\".concurrency: -1; give 1 to 1000",
            ),
            ("[queues.q]\nexec = 'x'\nweight = 101", "queues.\"q\".weight: 101; give 1 to 100"),
            ("[queues.q]\nexec = 'x'\ntimeout = '0s'", "queues.\"q\".timeout: \"0s\":"),
            ("[queues.q]\n", "queues.\"q\".exec: missing"),
            ("[queues.q]\nexec = 'x'\ncommand = ['y']", "queues.\"q\".exec: given beside command"),
            ("[queues.q]\ncommand = []", "queues.\"q\".exec: missing"),
            ("[queues.q]\nexec = 'x'\nretries = 3", "unknown field `retries`"),
            ("[queues.q]\ncommand = ['no-such-program']", "there is no program"),
            ("[queues.'']\nexec = 'x'", "the queue name is empty"),
            ("[queues.q", "TOML parse error"),
        ] {
            let wrong = text_of(parse(text).map(|_| ()).expect_err(text));
            assert!(wrong.contains(expected), "{text:?}: {wrong}");
        }
    }
}

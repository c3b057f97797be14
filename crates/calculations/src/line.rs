//! Events on lines: those of any account, as they come from files, lists and channels.

use std::collections::HashMap;

use serde::Deserialize;

use crate::{
    accounts::{Accounts, Grant},
    error::Error,
    event::{self, Event, EventBody},
    ledger::EventResults,
};

/// An event, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The account and the project.
    pub grant: Grant,
    /// The event.
    pub event: Event,
}

/// The fields of a line: those of a published event, with `account` and `project` in place of the token.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineBody {
    account: String,
    project: String,
    dimension: String,
    key: String,
    value: Box<serde_json::value::RawValue>,
    created_at: String,
    interval: Vec<String>,
    calculation: Vec<String>,
}

impl Line {
    /// Reads a line of JSON.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_json(text: &str) -> Result<Line, Error> {
        let body: LineBody = serde_json::from_str(text)
            .map_err(|error| Error::invalid("line", format!("not an event: {error}")))?;
        let LineBody { account, project, dimension, key, value, created_at, interval, calculation } =
            body;
        let event = EventBody { dimension, key, value, created_at, interval, calculation };
        Ok(Line { grant: grant(&account, &project)?, event: event.check()? })
    }

    /// Takes the cells of a table's row under the names of its columns; lists are separated by spaces, `;` or `|`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_cells(cells: &HashMap<&str, &str>) -> Result<Line, Error> {
        let cell = |name: &'static str| {
            cells.get(name).copied().ok_or_else(|| Error::invalid(name, "there is no such column"))
        };
        let list = |name: &'static str| -> Result<Vec<&str>, Error> {
            let words = cell(name)?.split([' ', ';', '|']);
            Ok(words.filter(|word| !word.is_empty()).collect())
        };
        Ok(Line {
            grant: grant(cell("account")?, cell("project")?)?,
            event: Event::new(
                cell("dimension")?,
                cell("key")?,
                cell("value")?,
                cell("created_at")?,
                &list("interval")?,
                &list("calculation")?,
            )?,
        })
    }
}

fn grant(account: &str, project: &str) -> Result<Grant, Error> {
    Ok(Grant { account: event::account(account)?, project: event::project(project)? })
}

impl Accounts {
    /// Takes in events of any accounts; what becomes of each is told in their order.
    ///
    /// # Errors
    /// When the store failed; some of the events may have been stored.
    pub async fn record(&self, lines: Vec<Line>) -> Result<EventResults, Error> {
        let mut told: EventResults = Vec::new();
        told.resize_with(lines.len(), || Ok(()));
        let mut groups: HashMap<Grant, (Vec<usize>, Vec<Event>)> = HashMap::new();
        for (at, line) in lines.into_iter().enumerate() {
            let (places, events) = groups.entry(line.grant).or_default();
            places.push(at);
            events.push(line.event);
        }
        for (grant, (places, events)) in groups {
            let ledger = self.ledger(&grant.account).await?;
            let group = ledger.record(&grant.project, events).await?;
            places.into_iter().zip(group).for_each(|(at, outcome)| told[at] = outcome);
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_rows_say_the_same() {
        let json = r#"{"account":"7","project":"2","dimension":"job-skills","key":"python","value":8,
            "created_at":"2014-10-17 21:34:07 -0400","interval":["months","weeks"],"calculation":["sum"]}"#;
        let cells = [
            ("account", "7"),
            ("project", "2"),
            ("dimension", "job-skills"),
            ("key", "python"),
            ("value", "8"),
            ("created_at", "2014-10-17 21:34:07 -0400"),
            ("interval", "months;weeks"),
            ("calculation", "sum"),
        ];
        let row = Line::from_cells(&cells.into()).unwrap();
        assert_eq!(Line::from_json(json).unwrap(), row);
    }

    #[test]
    fn what_is_missing_or_unknown_is_told() {
        let error = |json: &str| Line::from_json(json).expect_err("a bad line").to_string();
        assert!(error("{").starts_with("line: not an event"));
        assert!(error(r#"{"colour":1}"#).contains("colour"));
        let missing = Line::from_cells(&HashMap::from([("account", "7")])).expect_err("a bad row");
        assert_eq!(missing.to_string(), "project: there is no such column");
    }
}

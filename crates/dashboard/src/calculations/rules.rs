//! Rules on the pages: how they read, and the forms that make and delete them.

use std::{collections::HashMap, sync::Arc};

use axum::{
    body::Bytes,
    extract::{Path, State},
    response::Response,
};
use keyrack_calculations::{
    Condition, NumberedRule, Rule,
    keys::{RuleNumber, RuleType},
};
use keyrack_format as format;
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    super::{
        form,
        frame::{go_and_tell, own_path},
    },
    named,
};
use crate::Site;

/// A rule as people read it.
pub(super) struct RuleRow {
    pub(super) number: u64,
    /// `job-skills / python`
    pub(super) about: String,
    /// `sum by weeks >= 50`
    pub(super) condition: String,
    /// `after 5 min, resolved after 1 min`
    pub(super) waits: String,
}

impl RuleRow {
    pub(super) fn of(numbered: &NumberedRule) -> RuleRow {
        let rule = &numbered.rule;
        let (condition, hold_ms, resolve_ms) = match &rule.condition {
            Condition::Comparator { calculation, operator, threshold, hold_ms, resolve_ms } => {
                let (interval, operator) = (rule.interval, operator.as_str());
                let condition = format!("{calculation} by {interval} {operator} {threshold}");
                (condition, *hold_ms, *resolve_ms)
            }
            Condition::Observer { trigger, hold_ms } => {
                let condition = format!("{trigger} keys are first seen, by {}", rule.interval);
                (condition, *hold_ms, None)
            }
        };
        let mut waits = Vec::new();
        waits.extend((hold_ms > 0).then(|| format!("after {}", format::duration_ms(hold_ms))));
        waits.extend(resolve_ms.map(|ms| format!("resolved after {}", format::duration_ms(ms))));
        let about = match rule.condition {
            Condition::Comparator { .. } => format!("{} / {}", rule.dimension, rule.key),
            Condition::Observer { .. } => rule.dimension.to_string(),
        };
        RuleRow { number: numbered.number.get(), about, condition, waits: waits.join(", ") }
    }
}

/// A rule as the form has it.
#[derive(Debug, Deserialize)]
struct NewRule {
    back: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    hold_s: String,
    #[serde(default)]
    resolve_s: String,
    #[serde(flatten)]
    fields: HashMap<String, String>,
}

/// `POST /calculations/{account}/{project}/rules`
pub(super) async fn create(
    State(site): State<Arc<Site>>,
    Path((account, project)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let (back, done) = match form::read::<NewRule>(&body) {
        Ok(new) => (new.back.clone(), make(&site, &account, &project, new).await),
        Err(problem) => (String::new(), Err(problem)),
    };
    match done {
        Ok(number) => go_and_tell(own_path(&back), true, &format!("Rule {number} is in force.")),
        Err(problem) => go_and_tell(own_path(&back), false, problem.message()),
    }
}

async fn make(
    site: &Site,
    account: &str,
    project: &str,
    new: NewRule,
) -> Result<RuleNumber, Problem> {
    let (ledger, project) = named(site, account, project).await?;
    let kind = new.kind.parse::<RuleType>();
    let kind = kind.map_err(|_| form::wrong("kind", "give \"comparator\" or \"observer\""))?;
    let mut fields = new.fields;
    for (name, text) in [("hold_ms", &new.hold_s), ("resolve_ms", &new.resolve_s)] {
        if let Some(seconds) = form::number::<f64>(name, text)? {
            let is_time = (0.0..=f64::from(u32::MAX)).contains(&seconds);
            let ms = is_time.then(|| (seconds * 1000.0).round() as u64);
            let ms = ms.ok_or_else(|| form::wrong(name, "give a number of seconds"))?;
            fields.insert(name.to_owned(), ms.to_string());
        }
    }
    Ok(ledger.create_rule(&project, &Rule::from_fields(kind, &fields)?).await?)
}

/// Where to go back to.
#[derive(Debug, Deserialize)]
struct ReturnTo {
    back: String,
}

/// `POST /calculations/{account}/{project}/rules/{number}/delete`
pub(super) async fn delete(
    State(site): State<Arc<Site>>,
    Path((account, project, number)): Path<(String, String, String)>,
    body: Bytes,
) -> Response {
    let back = form::read::<ReturnTo>(&body).map(|form| form.back).unwrap_or_default();
    let done = async {
        let (ledger, project) = named(&site, &account, &project).await?;
        let number = number.parse().map_err(|_| form::wrong("rule", "it has no such number"))?;
        Ok::<(), Problem>(ledger.delete_rule(&project, number).await?)
    };
    match done.await {
        Ok(()) => go_and_tell(own_path(&back), true, "The rule is gone; what it has said stays."),
        Err(problem) => go_and_tell(own_path(&back), false, problem.message()),
    }
}

//! What a change means for the rules.

use jiff::civil::DateTime;
use serde_json::json;

use super::{
    change::IntervalPart,
    commit::Steps,
    key::{KeyId, Pair},
};
use crate::{
    bucket::Bucket,
    decimal::Decimal,
    keys::{self, Calculation, Interval},
    results,
    rule::{Condition, NumberedRule},
    settings::Settings,
};

/// The intervals in which first-seen keys are counted: those that rules may be about.
const OBSERVED: [Interval; 4] =
    [Interval::Hours, Interval::Days, Interval::Weeks, Interval::Months];

/// The results that comparators of this key look at, which are calculated for them.
pub(super) fn declares(rules: &[NumberedRule], id: &KeyId) -> impl Iterator<Item = Pair> {
    let of_key = rules.iter().filter(move |rule| is_about(rule, id));
    of_key.filter_map(|rule| match rule.rule.condition {
        Condition::Comparator { calculation, .. } => Some((calculation, rule.rule.interval)),
        Condition::Observer { .. } => None,
    })
}

fn is_about(rule: &NumberedRule, id: &KeyId) -> bool {
    rule.rule.dimension == id.dimension && rule.rule.key == id.key
}

/// Moves the comparators of a key on, for every bucket that was touched.
pub(super) fn judge(
    rules: &[NumberedRule],
    id: &KeyId,
    settings: &Settings,
    all: &[IntervalPart],
    now_ms: u64,
    steps: &mut Steps<'_>,
) {
    for rule in rules.iter().filter(|rule| is_about(rule, id)) {
        let Condition::Comparator { calculation, operator, threshold, hold_ms, resolve_ms } =
            &rule.rule.condition
        else {
            continue;
        };
        let interval = rule.rule.interval;
        let Some(touched) = all.iter().find(|touched| touched.state.interval() == interval) else {
            continue;
        };
        for (number, value) in values(*calculation, touched, settings) {
            let Some(bucket) = Bucket::numbered(interval, number) else { continue };
            let label = bucket.label(settings.labels);
            let is_true = if operator.holds(&value, threshold) { "1" } else { "0" };
            let mut args = vec![
                label.clone(),
                is_true.to_owned(),
                hold_ms.to_string(),
                resolve_ms.map(|ms| ms.to_string()).unwrap_or_default(),
                settings.firing.as_str().to_owned(),
            ];
            args.extend(about(rule, id, &label, now_ms));
            let fields = [
                ("calculation", calculation.to_string()),
                ("calculated_value", value.to_string()),
                ("threshold", threshold.to_string()),
                ("operator", operator.as_str().to_owned()),
            ];
            args.extend(fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
            steps.step("judge", &keys::rule_state(&id.project, &rule.number, &id.account), args);
        }
    }
}

/// What a comparator looks at: each touched bucket, or the one statistic in the last bucket.
fn values(
    calculation: Calculation,
    touched: &IntervalPart,
    settings: &Settings,
) -> Vec<(u64, Decimal)> {
    if touched.buckets.is_empty() {
        return Vec::new();
    }
    if results::is_by_bucket(calculation) {
        let leaves = touched.buckets.keys().filter_map(|&number| {
            let leaf = touched.state.leaf(number)?;
            let value = match calculation {
                Calculation::Count => leaf.values.to_string().parse().ok()?,
                _ => leaf.sum.clone(),
            };
            Some((number, value))
        });
        return leaves.collect();
    }
    let moments = touched.state.moments(settings.gaps);
    let statistic = match calculation {
        Calculation::Average => moments.average(),
        _ => moments.deviation(settings.deviation),
    };
    // The text that is stored is what people see and compare with.
    let value = statistic.and_then(|number| results::number(number).parse().ok());
    value.map(|value| (touched.state.total.last, value)).into_iter().collect()
}

/// What every output event says.
fn about(rule: &NumberedRule, id: &KeyId, label: &str, now_ms: u64) -> Vec<String> {
    let fields = [
        ("rule", rule.number.to_string()),
        ("account_id", id.account.to_string()),
        ("project_id", id.project.to_string()),
        ("dimension", id.dimension.to_string()),
        ("key", id.key.to_string()),
        ("interval", rule.rule.interval.to_string()),
        ("bucket", label.to_owned()),
        ("created_at", stamp(now_ms)),
    ];
    fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

/// A moment as events write it.
pub(super) fn stamp(now_ms: u64) -> String {
    let at = i64::try_from(now_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S +0000").to_string()).unwrap_or_default()
}

/// Where a new key is to be counted, and whom its number may complete: JSON for the script.
pub(super) fn first_seen(
    rules: &[NumberedRule],
    id: &KeyId,
    settings: &Settings,
    wall: DateTime,
    now_ms: u64,
    steps: &mut Steps<'_>,
) -> String {
    let buckets = OBSERVED.map(|interval| {
        let label = Bucket::of(interval, wall).label(settings.labels);
        let observers: Vec<_> = rules
            .iter()
            .filter(|rule| rule.rule.dimension == id.dimension && rule.rule.interval == interval)
            .filter_map(|rule| match rule.rule.condition {
                Condition::Observer { trigger, hold_ms } => {
                    let state = keys::rule_state(&id.project, &rule.number, &id.account);
                    let mut fields = about(rule, id, &label, now_ms);
                    fields.extend(["trigger".to_owned(), trigger.to_string()]);
                    Some(json!({
                        "trigger": trigger,
                        "hold_ms": hold_ms,
                        "state": state.name(),
                        "fields": fields,
                    }))
                }
                Condition::Comparator { .. } => None,
            })
            .collect();
        let seen = keys::first_seen(&id.project, &id.dimension, &interval, &id.account);
        json!({ "key": steps.place(&seen), "label": label, "rules": observers })
    });
    json!(buckets).to_string()
}

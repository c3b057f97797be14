//! What a walk has found, as a whole.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_keys::Family;
use serde::Serialize;

use crate::finding::Finding;
use crate::rule::{Rule, Severity};

/// The outcome of a walk.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Keys met.
    pub keys: u64,
    /// Keys whose type, TTL and content were looked at; fewer than `keys` with sampling.
    pub checked: u64,
    /// What each family holds, by id. Families without keys are left out.
    pub families: BTreeMap<String, Tally>,
    /// What keys of no family hold.
    pub unknown: Tally,
    /// How often each rule was broken, whether listed or not.
    pub counts: BTreeMap<Rule, u64>,
    /// How many problems the keys of each family have, whether listed or not; those without are left out.
    pub family_problems: BTreeMap<String, u64>,
    /// The findings by database, key and rule: the first ones, up to the limit.
    pub findings: BTreeSet<Finding>,
}

/// Tallies by family while a walk is going on; there are few families, and most keys are of even fewer.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    known: Vec<(&'static Family, Tally)>,
    unknown: Tally,
}

impl Tallies {
    pub(crate) fn of(&mut self, family: Option<&'static Family>) -> &mut Tally {
        let Some(family) = family else { return &mut self.unknown };
        let at = self.known.iter().position(|(known, _)| std::ptr::eq(*known, family));
        let at = at.unwrap_or_else(|| {
            self.known.push((family, Tally::default()));
            self.known.len() - 1
        });
        &mut self.known[at].1
    }

    pub(crate) fn finish(self, report: &mut Report) {
        let known = self.known.into_iter().filter(|(_, tally)| tally.keys > 0);
        report.families = known.map(|(family, tally)| (family.id(), tally)).collect();
        report.unknown = self.unknown;
    }
}

/// How many keys, and how much memory they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Keys met.
    pub keys: u64,
    /// Keys whose memory was asked for.
    pub measured: u64,
    /// The memory of those, in bytes.
    pub measured_bytes: u64,
}

impl Tally {
    /// The memory of all keys, as far as the measured ones are like the others.
    ///
    /// `None` when there are keys and none of them was looked into.
    pub fn bytes(&self) -> Option<u64> {
        if self.measured == 0 {
            return (self.keys == 0).then_some(0);
        }
        let bytes = u128::from(self.measured_bytes) * u128::from(self.keys);
        Some(u64::try_from(bytes / u128::from(self.measured)).unwrap_or(u64::MAX))
    }

    /// Whether [`Tally::bytes`] is an estimate.
    pub fn is_estimate(&self) -> bool {
        self.measured < self.keys
    }
}

impl Report {
    /// Whether nothing has to be done.
    pub fn is_clean(&self) -> bool {
        self.problems() == 0
    }

    /// How many findings are problems, listed or not.
    pub fn problems(&self) -> u64 {
        let problems = self.counts.iter().filter(|(rule, _)| rule.severity() == Severity::Problem);
        problems.map(|(_, count)| count).sum()
    }

    /// How many findings are not listed.
    pub fn left_out(&self) -> u64 {
        self.counts.values().sum::<u64>() - self.findings.len() as u64
    }

    /// Adds a finding; keeps the first `max` in order, however the walk came upon them.
    pub(crate) fn add(&mut self, finding: Finding, max: usize) {
        let rule = finding.rule;
        let family = finding.family.clone().filter(|_| rule.severity() == Severity::Problem);
        let is_new = if self.findings.len() < max
            || self.findings.last().is_some_and(|last| finding < *last)
        {
            self.findings.insert(finding)
        } else {
            // Its twin, if it was met before, may be among those that were dropped.
            !self.findings.contains(&finding)
        };
        if is_new {
            *self.counts.entry(rule).or_default() += 1;
            if let Some(family) = family {
                *self.family_problems.entry(family).or_default() += 1;
            }
        }
        if self.findings.len() > max {
            self.findings.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(key: &str) -> Finding {
        Finding {
            db: 0,
            key: key.into(),
            rule: Rule::NoFamily,
            family: None,
            detail: String::new(),
            places: 1,
        }
    }

    #[test]
    fn first_findings_are_kept_in_whatever_order_they_come() {
        for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
            let mut report = Report::default();
            for key in order {
                report.add(finding(key), 2);
            }
            let keys: Vec<&str> = report.findings.iter().map(|found| found.key.as_str()).collect();
            assert_eq!(keys, ["a", "b"]);
            assert_eq!((report.problems(), report.left_out()), (3, 1));
        }
    }

    #[test]
    fn key_met_twice_is_reported_once() {
        let mut report = Report::default();
        report.add(finding("a"), 2);
        report.add(finding("a"), 2);
        assert_eq!(report.problems(), 1);
    }

    #[test]
    fn unmeasured_keys_weigh_as_much_as_measured_ones() {
        let tally = Tally { keys: 10, measured: 4, measured_bytes: 400 };
        assert_eq!((tally.bytes(), tally.is_estimate()), (Some(1000), true));
        assert_eq!(Tally { measured: 0, ..tally }.bytes(), None);
        assert_eq!(Tally::default().bytes(), Some(0));
    }
}

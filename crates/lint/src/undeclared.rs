//! Keys of no declared family, told by the shape of their names: a million keys of another program are a few findings.

use std::collections::{BTreeMap, HashSet};

use crate::finding::{Finding, printable};
use crate::infer::group_names;
use crate::report::Report;
use crate::rule::Rule;

/// Names that are kept to be grouped, of all databases together; the others are counted.
const NAMES_MAX: usize = 100_000;

/// Keys that were met and belong to no family.
#[derive(Debug, Default)]
pub(crate) struct Undeclared {
    names: BTreeMap<i64, HashSet<Vec<u8>>>,
    kept: usize,
    /// How many more there are in each database.
    more: BTreeMap<i64, u64>,
}

impl Undeclared {
    /// Takes in keys of a database; SCAN may give a key twice.
    pub(crate) fn add(&mut self, db: i64, keys: &[Vec<u8>]) {
        let names = self.names.entry(db).or_default();
        for key in keys {
            if names.contains(key) {
                continue;
            }
            if self.kept < NAMES_MAX {
                names.insert(key.clone());
                self.kept += 1;
            } else {
                *self.more.entry(db).or_default() += 1;
            }
        }
    }

    /// One finding for each shape.
    pub(crate) fn report(self, report: &mut Report, findings_max: usize) {
        for (db, names) in self.names {
            let mut shown: Vec<String> = names.iter().map(|name| printable(name)).collect();
            shown.sort_unstable();
            let rows: Vec<(&str, &str)> = shown.iter().map(|name| (name.as_str(), "")).collect();
            for (template, members) in group_names(&rows) {
                let first = members.iter().map(|&i| &shown[i]).min().cloned().unwrap_or_default();
                let (key, detail) = match members.as_slice() {
                    [_] => (first, "belongs to no declared family".to_owned()),
                    _ => (template, format!("keys of no declared family, such as {first}")),
                };
                report.add(found(db, key, detail, members.len() as u64), findings_max);
            }
        }
        for (db, more) in self.more {
            let detail = format!("{more} more keys of no declared family");
            report.add(found(db, "*".to_owned(), detail, 1), findings_max);
        }
    }
}

fn found(db: i64, key: String, detail: String, places: u64) -> Finding {
    Finding { db, key, rule: Rule::NoFamily, family: None, detail, places }
}

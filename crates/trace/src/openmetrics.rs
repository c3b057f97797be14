//! Reading metrics as text in the form of OpenMetrics: those that [`export_metrics`](crate::export_metrics) gets.
//!
//! keyrack's metrics are collected when somebody reads them, and that text is the one place where they all are. Other forms are made
//! of it, so they cannot differ from it.

use std::collections::BTreeMap;

/// Names and values, in the order of the text.
pub type Labels = Vec<(String, String)>;

/// A family of metrics: what its comments say, and its samples.
#[derive(Debug, Default)]
pub struct MetricFamily<'a> {
    /// The name, without what the names of samples add to it.
    pub name: &'a str,
    /// Such as `counter`.
    pub kind: &'a str,
    /// What is measured.
    pub help: &'a str,
    /// Such as `seconds`, or nothing.
    pub unit: &'a str,
    /// In the order of the text.
    pub samples: Vec<Sample<'a>>,
}

/// A line with a value.
#[derive(Debug)]
pub struct Sample<'a> {
    /// What its name adds to that of the family, such as `_total`.
    pub end: &'a str,
    /// Its labels.
    pub labels: Labels,
    /// Its value.
    pub value: f64,
}

/// What the lines of a histogram with the same labels say.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Buckets {
    /// How many values there are up to each bound, from the lowest bound on. The last bound is infinite.
    pub up_to: Vec<(f64, u64)>,
    /// All values together.
    pub sum: f64,
    /// How many there are.
    pub count: u64,
}

/// The families of a text that have samples. Lines that are not of the form are left out.
pub fn families(text: &str) -> Vec<MetricFamily<'_>> {
    let mut families: Vec<MetricFamily<'_>> = Vec::new();
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            if let Some((family, sample)) = families.last_mut().zip(sample(line)) {
                let (name, labels, value) = sample;
                let end = name.strip_prefix(family.name).unwrap_or(name);
                family.samples.push(Sample { end, labels, value });
            }
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        let (Some(what), Some(name)) = (words.next(), words.next()) else { continue };
        if families.last().is_none_or(|last| last.name != name) {
            families.push(MetricFamily { name, ..MetricFamily::default() });
        }
        let (Some(last), said) = (families.last_mut(), words.next().unwrap_or_default()) else {
            continue;
        };
        match what {
            "HELP" => last.help = said,
            "TYPE" => last.kind = said,
            "UNIT" => last.unit = said,
            _ => {}
        }
    }
    families.retain(|family| !family.samples.is_empty());
    families
}

/// The histograms of a family, by the labels that their lines share.
pub fn by_labels(samples: Vec<Sample<'_>>) -> BTreeMap<Labels, Buckets> {
    let mut histograms: BTreeMap<Labels, Buckets> = BTreeMap::new();
    for Sample { end, mut labels, value } in samples {
        let bound = labels.iter().position(|(name, _)| name == "le");
        let bound = bound.map(|at| labels.remove(at).1);
        let buckets = histograms.entry(labels).or_default();
        match (end, bound.and_then(|bound| bound.parse::<f64>().ok())) {
            ("_bucket", Some(bound)) => buckets.up_to.push((bound, value as u64)),
            ("_sum", _) => buckets.sum = value,
            ("_count", _) => buckets.count = value as u64,
            _ => {}
        }
    }
    for buckets in histograms.values_mut() {
        buckets.up_to.sort_by(|(bound, _), (other, _)| bound.total_cmp(other));
    }
    histograms
}

/// The name, the labels and the value of a line such as `a_total{b="c"} 1`.
fn sample(line: &str) -> Option<(&str, Labels, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Labels::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some((name, labels, value))
}

/// Labels up to the bracket that closes them, and what comes then.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Labels::new();
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, value) = rest.split_once("=\"")?;
        let mut text = String::new();
        let mut chars = value.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, other) => text.push(other),
            }
        };
        labels.push((name.to_owned(), text));
        rest = &value[end + 1..];
    }
}

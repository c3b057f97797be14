//! One key of a dimension, and the names of everything that is stored about it.

use keyrack_keys::Key;

use crate::{
    keys::{self, Account, Calculation, Dimension, DimensionKey, Interval, Project},
    results::{Needs, needs},
};

/// The form in which sums and values are kept. A key in an earlier one is calculated afresh with its next event.
const FORM: &str = "form:2";

/// A calculation over an interval.
pub(crate) type Pair = (Calculation, Interval);

/// A key of a dimension of a project of an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyId {
    pub(crate) account: Account,
    /// The project.
    pub project: Project,
    /// The dimension.
    pub dimension: Dimension,
    /// The key.
    pub key: DimensionKey,
}

impl KeyId {
    pub(crate) fn head(&self) -> Key {
        keys::head(&self.project, &self.dimension, &self.key, &self.account)
    }

    pub(crate) fn values(&self) -> Key {
        keys::values(&self.project, &self.dimension, &self.key, &self.account)
    }

    pub(crate) fn calculations(&self) -> Key {
        keys::calculations(&self.project, &self.dimension, &self.key, &self.account)
    }

    pub(crate) fn intervals(&self, calculation: Calculation) -> Key {
        keys::intervals(&self.project, &self.dimension, &self.key, &calculation, &self.account)
    }

    pub(crate) fn result(&self, (calculation, interval): Pair) -> Key {
        let (project, dimension, key) = (&self.project, &self.dimension, &self.key);
        keys::result(project, dimension, key, &calculation, &interval, &self.account)
    }

    pub(crate) fn state(&self, interval: Interval) -> Key {
        keys::state(&self.project, &self.dimension, &self.key, &interval, &self.account)
    }

    pub(crate) fn sketch(&self, interval: Interval) -> Key {
        keys::sketch(&self.project, &self.dimension, &self.key, &interval, &self.account)
    }

    pub(crate) fn order(&self, interval: Interval) -> Key {
        keys::order(&self.project, &self.dimension, &self.key, &interval, &self.account)
    }

    pub(crate) fn repeats(&self, interval: Interval) -> Key {
        keys::repeats(&self.project, &self.dimension, &self.key, &interval, &self.account)
    }

    pub(crate) fn events(&self) -> Key {
        keys::events(&self.project, &self.dimension, &self.key, &self.account)
    }

    pub(crate) fn changes(&self) -> Key {
        keys::changes(&self.account, &self.project)
    }

    /// For messages: `job-skills/python`.
    pub(crate) fn shown(&self) -> String {
        format!("{}/{}", self.dimension, self.key)
    }
}

/// The declared calculations of a key, each over its intervals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    pairs: Vec<Pair>,
}

impl Declared {
    /// Adds a pair, if it is new.
    pub(crate) fn insert(&mut self, pair: Pair) {
        if let Err(at) = self.pairs.binary_search(&pair) {
            self.pairs.insert(at, pair);
        }
    }

    pub(crate) fn contains(&self, pair: Pair) -> bool {
        self.pairs.binary_search(&pair).is_ok()
    }

    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The intervals that anything is calculated over, each once.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let mut intervals: Vec<Interval> = self.pairs.iter().map(|pair| pair.1).collect();
        intervals.sort_unstable();
        intervals.dedup();
        intervals
    }

    /// What is calculated over an interval.
    pub(crate) fn over(&self, interval: Interval) -> impl Iterator<Item = Calculation> + '_ {
        self.pairs.iter().filter(move |pair| pair.1 == interval).map(|pair| pair.0)
    }

    /// Whether something over the interval needs this.
    pub(crate) fn need(&self, interval: Interval, what: Needs) -> bool {
        self.over(interval).any(|calculation| needs(calculation) == what)
    }

    /// `sum:weeks count:months`
    fn text(&self) -> String {
        let pairs = self.pairs.iter().map(|(calculation, interval)| {
            format!("{}:{}", calculation.as_str(), interval.as_str())
        });
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// What is up to date, as a key's head has it: after the form in which it is kept.
    pub(crate) fn built_text(&self) -> String {
        if self.pairs.is_empty() { String::new() } else { format!("{FORM} {}", self.text()) }
    }

    /// Reads what [`Declared::built_text`] wrote. What is kept in another form is not up to date.
    pub(crate) fn parse_built(text: &str) -> Declared {
        text.strip_prefix(FORM).map(Declared::parse).unwrap_or_default()
    }

    /// Reads what [`Declared::text`] wrote; words that are not known are left out.
    fn parse(text: &str) -> Declared {
        let mut declared = Declared::default();
        for pair in text.split(' ').filter_map(|pair| pair.split_once(':')) {
            if let (Ok(calculation), Ok(interval)) = (pair.0.parse(), pair.1.parse()) {
                declared.insert((calculation, interval));
            }
        }
        declared
    }
}

impl Extend<Pair> for Declared {
    fn extend<T: IntoIterator<Item = Pair>>(&mut self, pairs: T) {
        pairs.into_iter().for_each(|pair| self.insert(pair));
    }
}

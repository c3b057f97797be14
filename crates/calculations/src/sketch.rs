//! The values of a bucket: what median, percentiles, smallest, largest and different values are read from.
//!
//! Up to [`EXACT_MAX`] values are kept as they are, and quantiles of them are exact. Beyond, each power of two is cut into
//! 64 equal sizes, and values are counted by size. Counts add up, so the order of values does not matter, and a value that
//! is replaced is taken out again. A quantile is the middle of the size in which it lies: at most 1/128 of it, 0.8 %, from
//! the true one. In the sizes of the largest and the smallest value it is the inner edge, at most 1/64 from the true one,
//! so that no quantile is above the largest value or below the smallest.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{decimal::Decimal, state::Leaf};

/// How many values are kept as they are: those of a minute that has one each second.
pub(crate) const EXACT_MAX: usize = 64;

/// What a text begins with that holds the values themselves.
const EXACT: &str = "=";

/// Bits of a number's fraction that do not matter for its size: 52 less the 6 that make 64 sizes.
const FRACTION_BITS: u32 = 46;

/// Values, or counts of them by size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sketch {
    /// The values, the smallest first.
    Exact(Vec<Decimal>),
    /// Counts by size.
    Counts(BTreeMap<i64, u64>),
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch::Exact(Vec::new())
    }
}

impl Sketch {
    /// The values of a bucket from what is stored about it. One value is its bucket's sum, and stored nowhere else.
    pub(crate) fn stored(leaf: Option<&Leaf>, text: Option<&str>) -> Sketch {
        match leaf {
            None => Sketch::default(),
            Some(leaf) if leaf.values == 1 => Sketch::Exact(vec![leaf.sum.clone()]),
            Some(leaf) if leaf.values > EXACT_MAX as u64 && text.is_none() => {
                Sketch::Counts(BTreeMap::new())
            }
            Some(_) => Sketch::parse(text.unwrap_or_default()),
        }
    }

    /// One more value, whose size is known.
    pub(crate) fn add(&mut self, value: &Decimal, size: i64) {
        match self {
            Sketch::Exact(values) if values.len() < EXACT_MAX => {
                let at = values.partition_point(|other| other <= value);
                values.insert(at, value.clone());
            }
            Sketch::Exact(values) => {
                let mut counts = BTreeMap::from([(size, 1)]);
                for value in values {
                    *counts.entry(size_of(value)).or_default() += 1;
                }
                *self = Sketch::Counts(counts);
            }
            Sketch::Counts(counts) => *counts.entry(size).or_default() += 1,
        }
    }

    /// One value less.
    pub(crate) fn remove(&mut self, value: &Decimal, size: i64) {
        match self {
            Sketch::Exact(values) => {
                if let Ok(at) = values.binary_search(value) {
                    values.remove(at);
                }
            }
            Sketch::Counts(counts) => {
                if let Some(count) = counts.get_mut(&size) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(&size);
                    }
                }
            }
        }
    }

    /// The value that this part of all values does not exceed; `None` when there are none.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let rank = |n: u64| ((n as f64 * part).ceil() as u64).clamp(1, n.max(1));
        match self {
            Sketch::Exact(values) => {
                let at = rank(values.len() as u64) - 1;
                values.get(usize::try_from(at).ok()?).map(Decimal::to_f64)
            }
            Sketch::Counts(counts) => {
                let (rank, mut passed) = (rank(counts.values().sum()), 0);
                let size = counts.iter().find_map(|(size, count)| {
                    passed += count;
                    (passed >= rank).then_some(*size)
                })?;
                let (low, high) = edges(size);
                let is_last = |end: Option<(&i64, &u64)>| end.is_some_and(|(end, _)| *end == size);
                Some(match (is_last(counts.last_key_value()), is_last(counts.first_key_value())) {
                    (true, _) => low,
                    (false, true) => high,
                    (false, false) => low.midpoint(high),
                })
            }
        }
    }

    /// The text to be stored; none for a single value.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Sketch::Exact(values) if values.len() < 2 => None,
            Sketch::Exact(values) => {
                let mut text = EXACT.to_owned();
                values.iter().for_each(|value| _ = write!(text, " {value}"));
                Some(text)
            }
            Sketch::Counts(counts) => {
                let mut text = String::with_capacity(8 * counts.len());
                for (size, count) in counts {
                    let space = if text.is_empty() { "" } else { " " };
                    _ = write!(text, "{space}{size}:{count}");
                }
                Some(text)
            }
        }
    }

    /// Reads what [`Sketch::text`] wrote; whatever makes no sense is left out.
    fn parse(text: &str) -> Sketch {
        if text.is_empty() {
            return Sketch::default();
        }
        if let Some(values) = text.strip_prefix(EXACT) {
            let values = values.split(' ').filter_map(|value| Decimal::stored(value).ok());
            return Sketch::Exact(values.collect());
        }
        let counts = text.split(' ').filter_map(|pair| {
            let (size, count) = pair.split_once(':')?;
            Some((size.parse().ok()?, count.parse().ok()?))
        });
        Sketch::Counts(counts.collect())
    }
}

/// The size of a value.
pub(crate) fn size_of(value: &Decimal) -> i64 {
    size(value.to_f64())
}

/// Sizes are in the order of values; 0 has one of its own.
fn size(value: f64) -> i64 {
    let size = (value.abs().to_bits() >> FRACTION_BITS) as i64 + 1;
    match value {
        0.0 => 0,
        value if value < 0.0 => -size,
        _ => size,
    }
}

/// Between which values a size lies, the smaller first.
fn edges(size: i64) -> (f64, f64) {
    let edge = |size: u64| f64::from_bits(size << FRACTION_BITS);
    match size.unsigned_abs() {
        0 => (0.0, 0.0),
        above if size > 0 => (edge(above - 1), edge(above)),
        above => (-edge(above), -edge(above - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: f64) -> Decimal {
        format!("{value}").parse().unwrap()
    }

    fn sketch(values: &[f64]) -> Sketch {
        let mut sketch = Sketch::default();
        values.iter().for_each(|value| add(&mut sketch, *value));
        sketch
    }

    fn add(sketch: &mut Sketch, value: f64) {
        sketch.add(&decimal(value), size(value));
    }

    fn read_back(sketch: &Sketch) -> Sketch {
        Sketch::parse(&sketch.text().unwrap())
    }

    #[test]
    fn quantiles_are_within_the_stated_error() {
        let mut values: Vec<f64> = (1..=1000)
            .flat_map(|n| [f64::from(n) * 1.37, -f64::from(n) * 1e-6, f64::from(n).powi(9)])
            .collect();
        let sketch = sketch(&values);
        values.sort_by(f64::total_cmp);
        for percent in 1..=100 {
            let part = f64::from(percent) / 100.0;
            let exact = values[(3000.0 * part).ceil() as usize - 1];
            let found = sketch.quantile(part).unwrap();
            let error = if percent == 100 { 64.0 } else { 128.0 };
            assert!(
                (found - exact).abs() <= exact.abs() / error,
                "{percent}%: {found} for {exact}"
            );
        }
    }

    #[test]
    fn quantiles_of_few_values_are_exact_and_none_is_beyond_the_extremes() {
        for n in 1..200_u32 {
            let mut values: Vec<f64> =
                (0..n).map(|i| (f64::from(i * 7919 % 211) - 90.0) * 1.01).collect();
            let sketch = sketch(&values);
            values.sort_by(f64::total_cmp);
            for part in [0.01, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let found = sketch.quantile(part).unwrap();
                assert!(found >= values[0] && found <= values[values.len() - 1], "{n}: {found}");
                if values.len() <= EXACT_MAX {
                    let exact = values[(f64::from(n) * part).ceil() as usize - 1];
                    assert_eq!(found, exact, "{n}: {part}");
                }
            }
        }
        let (one, two) = (sketch(&[1.0]), sketch(&[1.0, -0.5]));
        assert_eq!((one.quantile(0.5), one.text()), (Some(1.0), None));
        assert_eq!(two.text().as_deref(), Some("= -0.5 1"));
    }

    #[test]
    fn a_single_value_is_read_from_the_sum() {
        let leaf = Leaf { values: 1, sum: decimal(7.5), ordered: None };
        assert_eq!(Sketch::stored(Some(&leaf), None), sketch(&[7.5]));
        assert_eq!(Sketch::stored(None, None), Sketch::default());
    }

    #[test]
    fn what_is_taken_out_leaves_no_trace() {
        let mut sketch = sketch(&[5.0, -3.0, 0.0, 5.0]);
        let before = sketch.clone();
        add(&mut sketch, 77.7);
        sketch.remove(&decimal(77.7), size(77.7));
        assert_eq!(sketch, before);
        assert_eq!(read_back(&sketch), sketch);
        for n in 0..100 {
            add(&mut sketch, f64::from(n));
        }
        assert_eq!(read_back(&sketch), sketch);
        assert_eq!(Sketch::default().quantile(0.5), None);
    }
}

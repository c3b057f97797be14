//! How the values of a bucket are spread over sizes: what median and percentiles are read from.
//!
//! Each power of two is cut into 64 equal sizes, and values are counted by size. Counts add up, so the order of values
//! does not matter, two sketches merge by adding, and a value that is replaced is taken out again. A quantile is the
//! middle of the size in which it lies: at most 1/128 of it, 0.8 %, from the true one.

use std::collections::BTreeMap;

/// Bits of a number's fraction that do not matter for its size: 52 less the 6 that make 64 sizes.
const FRACTION_BITS: u32 = 46;

/// Counts of values by size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sketch {
    counts: BTreeMap<i64, u64>,
}

impl Sketch {
    /// One more value.
    pub(crate) fn add(&mut self, value: f64) {
        *self.counts.entry(size(value)).or_default() += 1;
    }

    /// One value less.
    pub(crate) fn remove(&mut self, value: f64) {
        let size = size(value);
        if let Some(count) = self.counts.get_mut(&size) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&size);
            }
        }
    }

    /// The value that this part of all values does not exceed; `None` when there are none.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let n: u64 = self.counts.values().sum();
        let rank = ((n as f64 * part).ceil() as u64).clamp(1, n.max(1));
        let mut passed = 0;
        self.counts.iter().find_map(|(size, count)| {
            passed += count;
            (passed >= rank).then(|| middle(*size))
        })
    }

    pub(crate) fn text(&self) -> String {
        let counts = self.counts.iter().map(|(size, count)| format!("{size}:{count}"));
        counts.collect::<Vec<_>>().join(" ")
    }

    /// Reads what [`Sketch::text`] wrote; whatever makes no sense is left out.
    pub(crate) fn parse(text: &str) -> Sketch {
        let counts = text.split(' ').filter_map(|pair| {
            let (size, count) = pair.split_once(':')?;
            Some((size.parse().ok()?, count.parse().ok()?))
        });
        Sketch { counts: counts.collect() }
    }
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

fn middle(size: i64) -> f64 {
    let edge = |size: u64| f64::from_bits(size << FRACTION_BITS);
    match size.unsigned_abs() {
        0 => 0.0,
        above => {
            let middle = edge(above - 1).midpoint(edge(above));
            if size < 0 { -middle } else { middle }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_the_stated_error() {
        let mut values: Vec<f64> = (1..=1000)
            .flat_map(|n| [f64::from(n) * 1.37, -f64::from(n) * 1e-6, f64::from(n).powi(9)])
            .collect();
        let mut sketch = Sketch::default();
        values.iter().for_each(|value| sketch.add(*value));
        values.sort_by(f64::total_cmp);
        for percent in 1..=100 {
            let part = f64::from(percent) / 100.0;
            let exact = values[(3000.0 * part).ceil() as usize - 1];
            let found = sketch.quantile(part).unwrap();
            assert!(
                (found - exact).abs() <= exact.abs() / 128.0,
                "{percent}%: {found} for {exact}"
            );
        }
    }

    #[test]
    fn what_is_taken_out_leaves_no_trace() {
        let mut sketch = Sketch::default();
        for value in [5.0, -3.0, 0.0, 5.0] {
            sketch.add(value);
        }
        let before = sketch.clone();
        sketch.add(77.7);
        sketch.remove(77.7);
        assert_eq!(sketch, before);
        assert_eq!(Sketch::parse(&sketch.text()), sketch);
        assert_eq!(Sketch::default().quantile(0.5), None);
    }
}

//! What stands in a result: from exact sums to the texts that are stored.

use crate::{
    bucket::Bucket,
    keys::Calculation,
    moments::Moments,
    settings::{Settings, Undefined},
    sketch::Sketch,
    state::{Leaf, Ordered},
};

/// What a calculation needs beside the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Sums,
    /// The values by size.
    Order,
    /// Counts of values by size.
    Sketch,
}

/// What the calculation needs.
pub(crate) fn needs(calculation: Calculation) -> Needs {
    use Calculation::*;
    match calculation {
        Sum | Count | Average | StandardDeviation | LinearRegression | Rate => Needs::Sums,
        Min | Max | DistinctCount => Needs::Order,
        Median | Percentile90 | Percentile95 | Percentile99 => Needs::Sketch,
    }
}

/// Whether its result has a field for each bucket, rather than statistics over all of them.
pub fn is_by_bucket(calculation: Calculation) -> bool {
    use Calculation::*;
    !matches!(calculation, Average | StandardDeviation | LinearRegression)
}

/// What is known of a bucket.
#[derive(Debug, Default)]
pub(crate) struct Facts<'a> {
    pub(crate) leaf: Option<&'a Leaf>,
    pub(crate) sketch: Option<&'a Sketch>,
    pub(crate) ordered: Option<&'a Ordered>,
}

/// A calculation's value for a bucket.
pub(crate) fn of_bucket(
    calculation: Calculation,
    bucket: Bucket,
    facts: &Facts<'_>,
) -> Option<String> {
    use Calculation::*;
    let quantile = |part: f64| facts.sketch?.quantile(part).map(number);
    match calculation {
        Count => facts.leaf.map(|leaf| leaf.values.to_string()),
        Sum => facts.leaf.map(|leaf| leaf.sum.to_string()),
        DistinctCount => facts.ordered.map(|ordered| ordered.distinct.to_string()),
        Rate => facts.leaf.map(|leaf| number(leaf.sum.per(bucket.seconds()))),
        Min => facts.ordered.map(|ordered| ordered.min.to_string()),
        Max => facts.ordered.map(|ordered| ordered.max.to_string()),
        Median => quantile(0.5),
        Percentile90 => quantile(0.9),
        Percentile95 => quantile(0.95),
        Percentile99 => quantile(0.99),
        Average | StandardDeviation | LinearRegression => None,
    }
}

/// A calculation's statistics over all buckets; `None` stands for a field that is to be absent.
pub(crate) fn over_buckets(
    calculation: Calculation,
    moments: &Moments,
    settings: &Settings,
) -> Vec<(&'static str, Option<String>)> {
    let line = || moments.line();
    let fields = match calculation {
        Calculation::Average => vec![("average", moments.average())],
        Calculation::StandardDeviation => {
            vec![("standard_deviation", moments.deviation(settings.deviation))]
        }
        Calculation::LinearRegression => {
            let line = line();
            let ci = |at: usize| line.and_then(|line| line.ci).map(|ci| ci[at]);
            vec![
                ("intercept", line.map(|line| line.intercept)),
                ("slope", line.map(|line| line.slope)),
                ("ci_90", ci(0)),
                ("ci_95", ci(1)),
                ("ci_99", ci(2)),
                ("r", line.and_then(|line| line.r)),
                ("r_squared", line.and_then(|line| line.r).map(|r| r * r)),
            ]
        }
        _ => Vec::new(),
    };
    let undefined = match settings.undefined {
        Undefined::Absent => None,
        Undefined::Zero => Some(0.0),
    };
    fields.into_iter().map(|(name, value)| (name, value.or(undefined).map(number))).collect()
}

/// A number as text: the shortest that reads back the same, with a point.
pub(crate) fn number(number: f64) -> String {
    format!("{number:?}")
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_written_as_the_key_document_has_them() {
        assert_eq!(number(219.0), "219.0");
        assert_eq!(number(5.6571428571428575), "5.6571428571428575");
        assert_eq!(number(60.53333333333333), "60.53333333333333");
    }
}

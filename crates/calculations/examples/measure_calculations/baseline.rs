//! The straightforward way, to compare with: after each event, read all values and calculate everything again.

use std::collections::{BTreeMap, HashMap};

use keyrack_store::Store;

use crate::{Failed, time};

/// Labels of hours, days and months are so many characters of the time.
const LABEL_LENS: [usize; 3] = [13, 10, 7];

/// Values and results of one key, under names of its own.
pub(crate) struct Baseline {
    store: Store,
}

impl Baseline {
    pub(crate) fn new(store: Store) -> Baseline {
        Baseline { store }
    }

    /// Stores values without calculating.
    pub(crate) async fn fill(&mut self, range: std::ops::Range<u64>) -> Result<(), Failed> {
        for at in range {
            self.set(at).await?;
        }
        Ok(())
    }

    async fn set(&mut self, at: u64) -> Result<(), Failed> {
        let value = format!("{}.{}", at % 97, at % 10);
        let mut cmd = redis::cmd("HSET");
        cmd.arg("baseline:values").arg(time(at)).arg(value);
        Ok(cmd.query_async(&mut self.store.connection()).await?)
    }

    /// Stores a value and calculates everything afresh.
    pub(crate) async fn record(&mut self, at: u64) -> Result<(), Failed> {
        self.set(at).await?;
        let mut cmd = redis::cmd("HGETALL");
        let values: HashMap<String, String> =
            cmd.arg("baseline:values").query_async(&mut self.store.connection()).await?;
        let mut pipeline = redis::pipe();
        for len in LABEL_LENS {
            let mut buckets: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
            for (time, value) in &values {
                let bucket = buckets.entry(&time[..len]).or_default();
                bucket.0 += 1;
                bucket.1 += value.parse::<f64>()?;
            }
            for (what, text) in [("count", 0), ("sum", 1)] {
                let fields: Vec<(&str, String)> = buckets
                    .iter()
                    .map(|(label, (n, sum))| {
                        (*label, if text == 0 { n.to_string() } else { sum.to_string() })
                    })
                    .collect();
                pipeline.cmd("HSET").arg(format!("baseline:{what}:{len}")).arg(&fields).ignore();
            }
            let statistics = statistics(&buckets.values().map(|(_, sum)| *sum).collect::<Vec<_>>());
            pipeline
                .cmd("HSET")
                .arg(format!("baseline:statistics:{len}"))
                .arg(&statistics)
                .ignore();
        }
        Ok(pipeline.query_async(&mut self.store.connection()).await?)
    }
}

/// Average, deviation, and the line through the sums.
fn statistics(sums: &[f64]) -> Vec<(&'static str, String)> {
    let n = sums.len() as f64;
    let mean = sums.iter().sum::<f64>() / n;
    let spread: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
    let middle = (n + 1.0) / 2.0;
    let lean: f64 = (1..).zip(sums).map(|(x, sum)| (f64::from(x) - middle) * (sum - mean)).sum();
    let slope = lean / (n * (n * n - 1.0) / 12.0);
    vec![
        ("average", mean.to_string()),
        ("standard_deviation", (spread / (n - 1.0)).sqrt().to_string()),
        ("slope", slope.to_string()),
        ("intercept", (mean - slope * middle).to_string()),
    ]
}

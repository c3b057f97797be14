//! What an estimate costs.

use std::{hint::black_box, time::Instant};

use keyrack_progress::estimate::{Model, PastRun};

use super::{
    super::report::{Bound, Limit, Section, Table},
    recorded::Recorded,
    shapes::{Shape, Trait},
};

const PASTS: [usize; 3] = [10, 100, 500];
const BARS: u64 = 20;
const REPEATS: u32 = 20;
/// For so many past runs, both together may take a millisecond.
const LIMIT_MS: f64 = 1.0;

/// Measures learning and estimating for bars of some sizes.
pub(super) fn section() -> Section {
    let mut table = Table::new(&["past runs", "learning, µs", "estimating, µs", "both, µs"]);
    let mut limits = Vec::new();
    for past in PASTS {
        let (learning, estimating) = mean_cost(past);
        let cell = |seconds: f64| format!("{:.0}", seconds * 1e6);
        table.add(vec![
            past.to_string(),
            cell(learning),
            cell(estimating),
            cell(learning + estimating),
        ]);
        if past == PASTS[PASTS.len() - 1] {
            limits.push(Limit {
                what: format!("milliseconds to learn from {past} past runs and estimate"),
                measured: (learning + estimating) * 1e3,
                bound: Bound::AtMost(LIMIT_MS),
            });
        }
    }
    let words = "\
The time that it takes to read what past runs say and to estimate a run that is half through, for bars of the third part.";
    Section { title: "Cost of an estimate", words: words.to_owned(), table, limits }
}

fn mean_cost(past: usize) -> (f64, f64) {
    let (mut learning, mut estimating) = (0.0, 0.0);
    for bar in 0..BARS {
        let mut shape = Shape::draw(Trait::Even, bar);
        let known: Vec<PastRun> = (0..past).map(|_| shape.run().past()).collect();
        let run: Recorded = shape.run();
        let running = run.at(run.seconds() / 2.0);
        let model = Model::learn(&known);
        learning += fastest(|| {
            black_box(Model::learn(black_box(&known)));
        });
        estimating += fastest(|| {
            black_box(model.estimate(black_box(&running)));
        });
    }
    (learning / BARS as f64, estimating / BARS as f64)
}

/// The fastest of some times: whatever else runs only ever makes it slower.
fn fastest(work: impl Fn()) -> f64 {
    let took = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(took).fold(f64::INFINITY, f64::min)
}

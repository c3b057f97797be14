//! Charts with axes: round ticks, units, a legend, and what each place is worth for the pointer.
//!
//! The drawing is [`Chart::WIDTH`] by [`Chart::HEIGHT`] units and is stretched to the width of the page. Letters must not be
//! stretched, so labels lie outside of it: those of the values at a height in pixels, those of the times at a share of the width.

mod scale;
mod ticks;

use std::fmt::Write as _;

pub(super) use self::scale::{Scale, Unit};
pub(super) use self::ticks::time_ticks;

/// A chart, worked out for a template to draw.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Chart {
    pub(super) title: String,
    /// What it shows, for those who cannot see it.
    pub(super) label: String,
    /// Labels of values, by their height.
    pub(super) values: Vec<ValueTick>,
    /// Labels of places, by their share of the width.
    pub(super) places: Vec<PlaceTick>,
    /// What each place is worth.
    pub(super) slots: Vec<Slot>,
    pub(super) bars: Vec<Bar>,
    pub(super) lines: Vec<Line>,
    /// Corners of an area behind a line; empty where there is none.
    pub(super) band: String,
    /// Where zero is, if that is not the lower edge.
    pub(super) zero: Option<f64>,
    /// Names of what is drawn, with their classes.
    pub(super) legend: Vec<(&'static str, String)>,
    /// What else has to be known.
    pub(super) note: String,
}

/// A value on the scale.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueTick {
    pub(super) y: f64,
    pub(super) label: String,
}

/// A place below the chart, in hundredths of its width.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlaceTick {
    pub(super) x: f64,
    pub(super) label: String,
    /// Every other label is left out on a narrow screen.
    pub(super) is_minor: bool,
}

impl PlaceTick {
    /// On which side of its place the label lies, so that it is not cut off.
    pub(super) fn anchor(&self) -> &'static str {
        match self.x {
            ..4.0 => "start",
            96.0.. => "end",
            _ => "middle",
        }
    }
}

/// The whole height of one place, for the pointer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) title: String,
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) class: &'static str,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A line, in pieces where values are missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) class: &'static str,
    pub(super) path: String,
}

/// The share of its place that a bar takes.
const BAR_SHARE: f64 = 0.8;
/// The same of a value that has no neighbour.
const ALONE_SHARE: f64 = 0.6;

impl Chart {
    pub(super) const WIDTH: f64 = 1000.0;
    pub(super) const HEIGHT: f64 = 160.0;
    /// Pixels above the drawing, for half a letter of the highest label.
    pub(super) const TOP: f64 = 8.0;

    /// An empty chart of so many places with a scale.
    pub(super) fn new(title: &str, scale: &Scale) -> Chart {
        let values =
            scale.ticks().map(|(value, label)| ValueTick { y: scale.y(value), label }).collect();
        let zero = scale.y(0.0);
        let zero = (!scale.is_log() && zero < Chart::HEIGHT - 0.5).then_some(zero);
        Chart { title: title.to_owned(), values, zero, ..Chart::default() }
    }

    /// Adds what each place is worth, from the left to the right.
    pub(super) fn with_slots(mut self, titles: impl ExactSizeIterator<Item = String>) -> Chart {
        let width = Chart::WIDTH / titles.len().max(1) as f64;
        let slots = titles.enumerate();
        self.slots = slots.map(|(at, title)| Slot { x: at as f64 * width, width, title }).collect();
        self
    }

    /// Adds bars, which stand on those that were added before for the same place.
    pub(super) fn with_bars(
        mut self,
        class: &'static str,
        name: String,
        scale: &Scale,
        values: &[(f64, f64)],
    ) -> Chart {
        let place = Chart::WIDTH / values.len().max(1) as f64;
        for (at, (from, to)) in values.iter().enumerate().filter(|(_, (from, to))| from != to) {
            let (start, end) = (scale.y(*from), scale.y(*to));
            self.bars.push(Bar {
                class,
                x: place * (at as f64 + (1.0 - BAR_SHARE) / 2.0),
                y: start.min(end),
                width: place * BAR_SHARE,
                // What is there can be seen.
                height: (start - end).abs().max(1.0),
            });
        }
        self.legend.push((class, name));
        self
    }

    /// Adds a line through the middle of its places. It has a gap where there is no value.
    pub(super) fn with_line(
        mut self,
        class: &'static str,
        name: String,
        scale: &Scale,
        values: &[Option<f64>],
    ) -> Chart {
        let place = Chart::WIDTH / values.len().max(1) as f64;
        let mut path = String::new();
        for (at, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (x, y) = (place * (at as f64 + 0.5), scale.y(*value));
            let has = |at: Option<usize>| at.and_then(|at| values.get(at)?.as_ref()).is_some();
            let (before, after) = (has(at.checked_sub(1)), has(at.checked_add(1)));
            // Writing to a string does not fail.
            let _ = match (before, after) {
                // A value alone is a dash, which can be seen.
                (false, false) => {
                    let half = place * ALONE_SHARE / 2.0;
                    write!(path, "M{:.1} {y:.1}h{:.1}", x - half, 2.0 * half)
                }
                (true, _) => write!(path, "L{x:.1} {y:.1}"),
                (false, true) => write!(path, "M{x:.1} {y:.1}"),
            };
        }
        self.lines.push(Line { class, path });
        self.legend.push((class, name));
        self
    }

    /// Adds an area behind the line, by places with their lower and upper values.
    pub(super) fn with_band(
        mut self,
        name: String,
        scale: &Scale,
        corners: &[(usize, f64, f64)],
    ) -> Chart {
        let place = Chart::WIDTH / self.slots.len().max(1) as f64;
        let upper = corners.iter().map(|(at, _, upper)| (*at, *upper));
        let lower = corners.iter().rev().map(|(at, lower, _)| (*at, *lower));
        for (at, value) in upper.chain(lower) {
            let gap = if self.band.is_empty() { "" } else { " " };
            let (x, y) = (place * (at as f64 + 0.5), scale.y(value));
            let _ = write!(self.band, "{gap}{x:.1},{y:.1}");
        }
        self.legend.push(("band", name));
        self
    }

    /// Adds labels below the chart, each at its share of the width.
    pub(super) fn with_places(mut self, places: Vec<(f64, String)>) -> Chart {
        let tick = |(at, (share, label)): (usize, (f64, String))| PlaceTick {
            x: 100.0 * share,
            label,
            is_minor: at % 2 == 1,
        };
        self.places = places.into_iter().enumerate().map(tick).collect();
        self
    }
}

/// Labels of buckets that have names: at most so many, each at the middle of its bucket.
pub(super) fn named_places(names: &[String], max: usize) -> Vec<(f64, String)> {
    let step = names.len().div_ceil(max.max(1)).max(1);
    let all = names.iter().enumerate().step_by(step);
    all.map(|(at, name)| ((at as f64 + 0.5) / names.len() as f64, name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_gaps_where_values_are_missing_and_dashes_for_values_alone() {
        let scale = Scale::linear(0.0, 10.0, Unit::Count);
        let values = [Some(0.0), Some(10.0), None, Some(10.0), None];
        let chart = Chart::new("", &scale).with_line("p50", "p50".into(), &scale, &values);
        let bottom = Chart::HEIGHT;
        assert_eq!(chart.lines[0].path, format!("M100.0 {bottom:.1}L300.0 0.0M640.0 0.0h120.0"));
    }

    #[test]
    fn bars_stand_on_each_other_inside_of_the_drawing() {
        let scale = Scale::linear(0.0, 8.0, Unit::Count);
        let chart = Chart::new("", &scale)
            .with_bars("failed", "failed".into(), &scale, &[(0.0, 2.0), (0.0, 0.0)])
            .with_bars("done", "done".into(), &scale, &[(2.0, 8.0), (0.0, 4.0)]);
        assert_eq!(chart.bars.len(), 3, "nothing is drawn of nothing");
        let (low, high) = (&chart.bars[0], &chart.bars[1]);
        assert_eq!((high.y, high.y + high.height), (0.0, low.y));
        assert_eq!(low.y + low.height, Chart::HEIGHT);
        assert!(chart.bars.iter().all(|bar| bar.x >= 0.0 && bar.x + bar.width <= Chart::WIDTH));
    }

    #[test]
    fn labels_lie_below_their_bars() {
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        let places = named_places(&names, 5);
        assert_eq!(places.len(), 5);
        assert_eq!(places[1], (0.25, "2".to_owned()));
        assert_eq!(named_places(&[], 5), []);
        let chart = Chart::default().with_places(vec![(0.0, "a".into()), (1.0, "b".into())]);
        assert_eq!([chart.places[0].anchor(), chart.places[1].anchor()], ["start", "end"]);
        assert_eq!([chart.places[0].is_minor, chart.places[1].is_minor], [false, true]);
    }
}

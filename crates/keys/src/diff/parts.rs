//! Changes of what may stand in a placeholder.

use super::{Breaks, Change, Differ, Version, values};
use crate::family::Slot;
use crate::part::{Escape, Kind, Shape};

impl Differ<'_> {
    pub(super) fn part(&mut self, was: &Slot, is: &Slot) {
        let name = is.name;
        if was.name != name {
            self.changes.push(Change {
                family: self.id.to_owned(),
                what: format!("part <{}> renamed to <{name}>", was.name),
                breaks: Breaks::Nobody,
                migration: "keys stay as they are; regenerate code that names the part".to_owned(),
                version: Version::Major,
            });
        }
        if (was.kind.escape == Escape::Percent) != (is.kind.escape == Escape::Percent) {
            let what = format!("part <{name}>: written in another way");
            self.add(Breaks::Both, what, "rename keys whose part is written differently");
            return;
        }
        let (breaks, changes) = kind(&was.kind, &is.kind);
        if changes.is_empty() {
            return;
        }
        let migration = match breaks {
            Breaks::Nobody => "",
            Breaks::Readers => "readers take the new names first, then writers change",
            _ => "check which keys no longer fit: \"keyrack keys lint\"",
        };
        self.add(breaks, format!("part <{name}>: {}", changes.join(", ")), migration);
    }
}

/// Whom another kind of part breaks, and what is different: wider names surprise readers, narrower ones refuse writers.
fn kind(was: &Kind, is: &Kind) -> (Breaks, Vec<String>) {
    let (mut breaks, mut changes) = (Breaks::Nobody, Vec::new());
    if format!("{:?}", was.shape) != format!("{:?}", is.shape) {
        breaks = breaks.and(shape(&was.shape, &is.shape));
        changes.push(format!("{} became {}", was.shape, is.shape));
    }
    // For other shapes it follows from the shape.
    if matches!((&was.shape, &is.shape), (Shape::Text { .. }, Shape::Text { .. }))
        && let (Escape::Raw { without: a }, Escape::Raw { without: b }) = (was.escape, is.escape)
        && a != b
    {
        let all_in = |a: &str, b: &str| a.chars().all(|letter| b.contains(letter));
        breaks = breaks.and(values::widened(all_in(b, a), all_in(a, b)));
        changes.push(format!("without \"{a}\" became without \"{b}\""));
    }
    if was.bytes_max != is.bytes_max {
        let wider = is.bytes_max > was.bytes_max;
        breaks = breaks.and(values::widened(wider, !wider));
        changes.push(format!("max_bytes: {} became {}", was.bytes_max, is.bytes_max));
    }
    (breaks, changes)
}

fn shape(was: &Shape, is: &Shape) -> Breaks {
    let has_colons = |shape: &Shape| matches!(shape, Shape::Colons { .. } | Shape::Rest);
    match (was, is) {
        (Shape::Words(before), Shape::Words(after)) => values::words(before, after),
        (Shape::Number { min: a, max: b }, Shape::Number { min: c, max: d }) => {
            values::widened(c <= a && d >= b, c >= a && d <= b)
        }
        (Shape::Text { except: before }, Shape::Text { except: after }) => {
            values::words(after, before)
        }
        (Shape::Text { .. } | Shape::Colons { .. }, Shape::Rest) => Breaks::Readers,
        (Shape::Rest, Shape::Text { except: [] } | Shape::Colons { .. }) => Breaks::Writers,
        (was, is) if has_colons(was) || has_colons(is) => Breaks::Both,
        (_, Shape::Text { except: [] }) => Breaks::Readers,
        (Shape::Text { except: [] }, _) => Breaks::Writers,
        _ => Breaks::Both,
    }
}

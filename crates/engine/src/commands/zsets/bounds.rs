//! Where a range of ranks, scores or members begins and ends.

use std::ops::Range;

use crate::{
    commands::int,
    num::parse_bound,
    reply::Error,
    types::{Edge, ScoreRange, ZSet},
};

/// What a range is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Rank,
    Score,
    Member,
}

/// A range as the client gave it, lower end first.
#[derive(Debug, Clone, Copy)]
pub(super) enum Span<'a> {
    /// Negative ranks count from the end.
    Ranks(i64, i64),
    Scores(ScoreRange),
    Members(MemberRange<'a>),
}

impl<'a> Span<'a> {
    pub(super) fn parse(by: By, min: &'a [u8], max: &'a [u8]) -> Result<Span<'a>, Error> {
        Ok(match by {
            By::Rank => Span::Ranks(int(min)?, int(max)?),
            By::Score => Span::Scores(scores(min, max)?),
            By::Member => Span::Members(MemberRange { min: end(min)?, max: end(max)? }),
        })
    }

    /// The ranks, counted from the lowest score, that are in this span once `skipped` members of it have been passed.
    /// With `reverse` it is passed through from its high end, and ranks in the span itself count from there too.
    pub(super) fn ranks(&self, zset: &ZSet, reverse: bool, skipped: usize) -> Range<usize> {
        let (from, to) = match *self {
            Span::Ranks(first, last) => return by_rank(first, last, zset.len(), reverse),
            Span::Members(range) if zset.len() <= WALKED_MAX => {
                return range.walk(zset, reverse, skipped);
            }
            Span::Scores(range) => (range.low(), range.high()),
            Span::Members(range) => (range.min.as_low_edge(), range.max.as_high_edge()),
        };
        let low = zset.rank_of_edge(from);
        let high = zset.rank_of_edge(to).max(low);
        if reverse {
            low..high.saturating_sub(skipped).max(low)
        } else {
            low.saturating_add(skipped).min(high)..high
        }
    }
}

fn by_rank(first: i64, last: i64, len: usize, reverse: bool) -> Range<usize> {
    let n = len as i64;
    let from_start = |rank: i64| if rank < 0 { rank.saturating_add(n) } else { rank };
    let first = from_start(first).max(0);
    let last = from_start(last).min(n - 1);
    if first > last {
        return 0..0;
    }
    let (first, end) = (first as usize, last as usize + 1);
    if reverse { len - end..len - first } else { first..end }
}

/// `1.5`, `(1.5` without the end itself, `-inf`.
fn scores(min: &[u8], max: &[u8]) -> Result<ScoreRange, Error> {
    let bound = |arg: &[u8]| {
        let (open, number) = match arg {
            [b'(', number @ ..] => (true, number),
            number => (false, number),
        };
        parse_bound(number).map(|n| (n, open)).ok_or(Error::fixed("ERR min or max is not a float"))
    };
    let ((min, min_open), (max, max_open)) = (bound(min)?, bound(max)?);
    Ok(ScoreRange { min, min_open, max, max_open })
}

/// A range of members by their bytes. It has a meaning only where all scores are the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberRange<'a> {
    min: End<'a>,
    max: End<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End<'a> {
    /// `-`
    Lowest,
    /// `[member`, or `(member` without the member itself.
    At { member: &'a [u8], open: bool },
    /// `+`
    Highest,
}

fn end(arg: &[u8]) -> Result<End<'_>, Error> {
    match arg {
        [b'-'] => Ok(End::Lowest),
        [b'+'] => Ok(End::Highest),
        [b'[', member @ ..] => Ok(End::At { member, open: false }),
        [b'(', member @ ..] => Ok(End::At { member, open: true }),
        _ => Err(Error::fixed("ERR min or max not valid string range item")),
    }
}

impl<'a> End<'a> {
    fn as_low_edge(self) -> Edge<'a> {
        match self {
            End::Lowest => Edge::First,
            End::Highest => Edge::Last,
            End::At { member, open: false } => Edge::BeforeMember(member),
            End::At { member, open: true } => Edge::AfterMember(member),
        }
    }

    fn as_high_edge(self) -> Edge<'a> {
        match self {
            End::Lowest => Edge::First,
            End::Highest => Edge::Last,
            End::At { member, open: false } => Edge::AfterMember(member),
            End::At { member, open: true } => Edge::BeforeMember(member),
        }
    }
}

/// Sets up to this size are walked for members. With one score for all this finds what a search finds; with different
/// ones, where the answer is what a walk happens to pass, it finds what Redis finds.
const WALKED_MAX: usize = 128;

impl MemberRange<'_> {
    fn walk(&self, zset: &ZSet, reverse: bool, skipped: usize) -> Range<usize> {
        let mut members: Vec<&[u8]> = zset.iter().map(|(member, _)| member).collect();
        let (Some(first), Some(last)) = (members.first(), members.last()) else { return 0..0 };
        if self.is_empty() || !self.is_above_min(last) || !self.is_below_max(first) {
            return 0..0;
        }
        if reverse {
            members.reverse();
        }
        let is_past_near_end =
            |m: &[u8]| if reverse { self.is_below_max(m) } else { self.is_above_min(m) };
        let is_before_far_end =
            |m: &[u8]| if reverse { self.is_above_min(m) } else { self.is_below_max(m) };
        let start = match members.iter().position(|m| is_past_near_end(m)) {
            Some(start) if is_before_far_end(members[start]) => start,
            _ => return 0..0,
        };
        let len = members.len();
        let start = start.saturating_add(skipped).min(len);
        let n = members[start..].iter().take_while(|m| is_before_far_end(m)).count();
        if reverse { len - start - n..len - start } else { start..start + n }
    }

    fn is_empty(&self) -> bool {
        match (self.min, self.max) {
            (End::At { member: min, open: min_open }, End::At { member: max, open: max_open }) => {
                min > max || (min == max && (min_open || max_open))
            }
            (min, max) => min >= max,
        }
    }

    fn is_above_min(&self, member: &[u8]) -> bool {
        match self.min {
            End::Lowest => true,
            End::Highest => false,
            End::At { member: min, open } => {
                if open {
                    member > min
                } else {
                    member >= min
                }
            }
        }
    }

    fn is_below_max(&self, member: &[u8]) -> bool {
        match self.max {
            End::Lowest => false,
            End::Highest => true,
            End::At { member: max, open } => {
                if open {
                    member < max
                } else {
                    member <= max
                }
            }
        }
    }
}

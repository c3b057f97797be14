//! Looking at lists: LLEN, LRANGE, LINDEX and LPOS.

use super::{index, positions};
use crate::{
    commands::{int, is},
    ctx::Ctx,
    num::parse_int,
    reply::{Error, Reply},
};

pub(super) fn llen(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.list(args[1])?.map_or(0, |list| list.len() as i64)))
}

pub(super) fn lrange(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (start, stop) = (int(args[2])?, int(args[3])?);
    let Some(list) = ctx.list(args[1])? else { return Ok(Reply::Array(Vec::new())) };
    Ok(match positions(start, stop, list.len()) {
        Some(range) => Reply::bulks(list.range(range)),
        None => Reply::Array(Vec::new()),
    })
}

pub(super) fn lindex(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let Some(list) = ctx.list(args[1])? else { return Ok(Reply::Nil) };
    let item = index(int(args[2])?, list.len()).and_then(|index| list.get(index));
    Ok(Reply::bulk_or_nil(item))
}

/// What LPOS looks for.
struct Search {
    /// The first match to tell, from 1.
    rank: i64,
    from_right: bool,
    /// How many matches to tell, 0 for all; `None` for one that is not in an array.
    count: Option<usize>,
    /// How many items to look at, 0 for all.
    n_items_max: usize,
}

impl Search {
    fn parse(options: &[&[u8]]) -> Result<Search, Error> {
        let mut search = Search { rank: 1, from_right: false, count: None, n_items_max: 0 };
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let value = options.next().ok_or(Error::SYNTAX)?;
            if is(option, "rank") {
                let rank = int(value)?;
                if rank == 0 {
                    return Err(RANK_ZERO);
                }
                // The lowest number has no opposite; Redis leaves it negative too, which every match has reached.
                search.rank = if rank < 0 { rank.wrapping_neg() } else { rank };
                search.from_right = rank < 0;
            } else if is(option, "count") {
                search.count = Some(amount(value, "ERR COUNT can't be negative")?);
            } else if is(option, "maxlen") {
                search.n_items_max = amount(value, "ERR MAXLEN can't be negative")?;
            } else {
                return Err(Error::SYNTAX);
            }
        }
        Ok(search)
    }

    /// The positions of the matches, given which items match in the order they are looked at.
    fn run(&self, matching: impl Iterator<Item = bool>) -> Vec<usize> {
        let n_items_max = if self.n_items_max == 0 { usize::MAX } else { self.n_items_max };
        let n_told_max = match self.count {
            None => 1,
            Some(0) => usize::MAX,
            Some(count) => count,
        };
        let n_skipped = usize::try_from(self.rank.saturating_sub(1)).unwrap_or(0);
        let found = matching.take(n_items_max).enumerate().filter(|(_, matches)| *matches);
        found.map(|(nth, _)| nth).skip(n_skipped).take(n_told_max).collect()
    }
}

const RANK_ZERO: Error = Error::fixed(
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
);

fn amount(arg: &[u8], otherwise: &'static str) -> Result<usize, Error> {
    parse_int(arg).and_then(|n| usize::try_from(n).ok()).ok_or(Error::fixed(otherwise))
}

pub(super) fn lpos(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let (key, wanted) = (args[1], args[2]);
    let search = Search::parse(&args[3..])?;
    let found: Vec<usize> = match ctx.list(key)? {
        None => Vec::new(),
        Some(list) if search.from_right => {
            let found = search.run(list.iter().rev().map(|item| **item == *wanted));
            found.into_iter().map(|nth| list.len() - 1 - nth).collect()
        }
        Some(list) => search.run(list.iter().map(|item| **item == *wanted)),
    };
    let mut positions = found.into_iter().map(|position| Reply::Int(position as i64));
    Ok(match search.count {
        Some(_) => Reply::Array(positions.collect()),
        None => positions.next().unwrap_or(Reply::Nil),
    })
}

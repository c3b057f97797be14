//! Sets: sorted integers while small and all integers, a table otherwise.

use super::allocation;
use crate::{
    dict::Dict,
    num::{format_int, parse_int},
};

/// A set value.
#[derive(Debug, Clone)]
pub(crate) enum Set {
    /// Ascending.
    #[expect(
        clippy::box_collection,
        reason = "a Vec in place would make every value of every key larger"
    )]
    Ints(Box<Vec<i64>>),
    Table(Box<Dict<()>>),
}

/// Redis' own default (`set-max-intset-entries`).
const INTS_MAX: usize = 512;

impl Set {
    pub(crate) fn new() -> Set {
        Set::Ints(Box::default())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Set::Ints(ints) => ints.len(),
            Set::Table(dict) => dict.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn contains(&self, member: &[u8]) -> bool {
        match self {
            Set::Ints(ints) => parse_int(member).is_some_and(|n| ints.binary_search(&n).is_ok()),
            Set::Table(dict) => dict.contains(member),
        }
    }

    /// Adds a member and says whether it is new. `seed` is for the table, should this grow into one.
    pub(crate) fn insert(&mut self, member: &[u8], seed: u64) -> bool {
        if let Set::Ints(ints) = self {
            match parse_int(member) {
                Some(n) => {
                    let Err(at) = ints.binary_search(&n) else { return false };
                    ints.insert(at, n);
                    if ints.len() > INTS_MAX {
                        self.enlarge(seed);
                    }
                    return true;
                }
                None => self.enlarge(seed),
            }
        }
        let Set::Table(dict) = self else { unreachable!("enlarged above") };
        if dict.contains(member) {
            return false;
        }
        dict.insert_new(member.into(), ());
        true
    }

    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        match self {
            Set::Ints(ints) => {
                let found = parse_int(member).and_then(|n| ints.binary_search(&n).ok());
                found.map(|at| ints.remove(at)).is_some()
            }
            Set::Table(dict) => dict.remove(member).is_some(),
        }
    }

    /// A random member; `random` gives uniform 64-bit numbers.
    pub(crate) fn random(&self, mut random: impl FnMut() -> u64) -> Option<Vec<u8>> {
        match self {
            Set::Ints(ints) if ints.is_empty() => None,
            Set::Ints(ints) => Some(format_int(ints[(random() % ints.len() as u64) as usize])),
            Set::Table(dict) => dict.random(random).map(|(member, _)| member.to_vec()),
        }
    }

    /// The members, each as a text of its own: integers have none to borrow.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = std::borrow::Cow<'_, [u8]>> + '_> {
        match self {
            Set::Ints(ints) => Box::new(ints.iter().map(|n| format_int(*n).into())),
            Set::Table(dict) => Box::new(dict.keys().map(|member| (&**member).into())),
        }
    }

    /// Visits members at `cursor` and returns the next cursor; integers are visited whole.
    pub(crate) fn scan(&self, cursor: u64, mut visit: impl FnMut(&[u8])) -> u64 {
        match self {
            Set::Ints(_) => {
                self.iter().for_each(|member| visit(&member));
                0
            }
            Set::Table(dict) => dict.scan(cursor, |member, ()| visit(member)),
        }
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self {
            Set::Ints(_) => "intset",
            Set::Table(_) => "hashtable",
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Set::Ints(ints) => {
                allocation(size_of::<Vec<i64>>()) + allocation(ints.capacity() * size_of::<i64>())
            }
            Set::Table(dict) => {
                let node = allocation(size_of::<usize>() * 4);
                allocation(size_of::<Dict<()>>())
                    + dict.n_buckets() * size_of::<usize>()
                    + dict.keys().map(|member| node + allocation(member.len())).sum::<usize>()
            }
        }
    }

    fn enlarge(&mut self, seed: u64) {
        let Set::Ints(ints) = self else { return };
        let mut dict = Dict::with_capacity(seed, ints.len());
        for n in ints.iter() {
            dict.insert_new(format_int(*n).into(), ());
        }
        *self = Set::Table(Box::new(dict));
    }
}

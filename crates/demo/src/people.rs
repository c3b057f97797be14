//! The people who use what the company makes.

use keyrack_keys::{PartError, UserSub};

use crate::{mark::MARK, random::Random};

/// How many there are.
pub(crate) const PEOPLE: u64 = 3_000;

const NAMES: [&str; 32] = [
    "ada", "alan", "amir", "anna", "bela", "carl", "chen", "dana", "edith", "emil", "fatima",
    "finn", "grace", "hana", "igor", "ines", "jonas", "kofi", "lena", "luis", "mara", "mei",
    "nils", "olga", "pia", "ravi", "rosa", "sam", "tara", "uma", "viktor", "yara",
];

/// Somebody, by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Person(pub(crate) u64);

impl Person {
    /// Anybody; some are around more often than others.
    pub(crate) fn any(random: &mut Random) -> Person {
        let regulars = PEOPLE / 10;
        Person(if random.percent(60) { random.below(regulars) } else { random.below(PEOPLE) })
    }

    /// Their id, by which all services know them.
    pub(crate) fn id(self) -> String {
        let name = NAMES[(self.0 % NAMES.len() as u64) as usize];
        format!("{MARK}-{name}-{:04}", self.0)
    }

    /// The same as the subject of tokens.
    pub(crate) fn sub(self) -> Result<UserSub, PartError> {
        UserSub::new(self.id())
    }

    /// Where they get mail. Nothing can be sent there: the domain is reserved.
    pub(crate) fn address(self) -> String {
        let name = NAMES[(self.0 % NAMES.len() as u64) as usize];
        format!("{name}.{}@example.com", self.0)
    }
}

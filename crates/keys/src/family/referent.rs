//! References between families, which may go in circles: a job names its parent, which is a job.

use std::fmt;
use std::sync::OnceLock;

use super::{By, Family};

/// A family that another one names: the declaration itself, or the place where a file's reader will put it.
pub trait Referent: Sync {
    /// The family that is named.
    fn family(&self) -> &Family;
}

impl Referent for Family {
    fn family(&self) -> &Family {
        self
    }
}

/// A family of a file, which is known once the whole file is read.
#[derive(Default)]
pub struct LateFamily(OnceLock<&'static Family>);

impl LateFamily {
    /// Says which family it is; the first call counts.
    pub fn set(&self, family: &'static Family) {
        let _ = self.0.set(family);
    }
}

impl Referent for LateFamily {
    fn family(&self) -> &Family {
        static NOTHING: Family = Family::BLANK;
        self.0.get().copied().unwrap_or(&NOTHING)
    }
}

/// Ids only: declarations that name each other would be printed for ever.
impl fmt::Debug for dyn Referent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.family().id())
    }
}

impl fmt::Debug for LateFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.family().id())
    }
}

impl fmt::Debug for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_key() { "Key" } else { "Entry" };
        write!(f, "{kind}({})", self.family().id())
    }
}

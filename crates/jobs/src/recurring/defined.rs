//! Recurring jobs that are defined at run time: their definitions live in the store, beside the list of a program.
//!
//! Every scheduler of the store runs them, whatever list it has. A definition has a version, which no other definition had before it,
//! so a change can name what it is based on. One script reads or changes a definition together with its next run.
//!
//! In reading order: `text` is a definition as it is stored; `define` creates and changes, `delete` removes; `due` and `fire` are what
//! a scheduler does.

mod define;
mod delete;
mod due;
mod fire;
mod text;

use super::{
    definition::Definition,
    error::Error,
    keys,
    service::{Recurring, from_score},
};
use jiff::Timestamp;

/// The most definitions in a store, so that all of them can be listed at once.
pub const DEFINED_MAX: usize = 1000;

/// The most bytes of one, so that a listing stays small.
const DEFINED_BYTES_MAX: usize = 16 * 1024;

/// A recurring job that was defined at run time.
#[derive(Debug, Clone)]
pub struct Defined {
    /// What runs, when, and where it is put.
    pub definition: Definition,
    /// Its version. Each change gives it a higher one.
    pub version: u64,
    /// Whether its runs are skipped.
    pub paused: bool,
    /// When it was created, in unix milliseconds.
    pub created_at: u64,
    /// When it was last changed, in unix milliseconds.
    pub changed_at: u64,
}

/// A definition with its next run.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) name: String,
    /// `Err` says why it cannot be read.
    pub(super) defined: Result<Defined, Error>,
    pub(super) next_run: Option<Timestamp>,
}

impl Recurring {
    /// A recurring job that was defined at run time.
    ///
    /// # Errors
    /// When there is none of that name, or the store cannot be reached.
    pub async fn defined(&self, name: &str) -> Result<Defined, Error> {
        let Some(text) = self.defined_text(name).await? else {
            return Err(self.not_defined(name));
        };
        text::read(name, &text)
    }

    /// All definitions in the store with their next runs, by name.
    pub(super) async fn all_defined(&self) -> Result<Vec<Scheduled>, Error> {
        type Reply = (Vec<(String, String)>, Vec<(String, String)>);
        let store = self.store();
        let mut pipeline = redis::pipe();
        pipeline.cmd("HGETALL").arg(&*store.place(&keys::defined()));
        pipeline.cmd("ZRANGE").arg(&*store.place(&keys::defined_due())).arg(0).arg(-1);
        pipeline.arg("WITHSCORES");
        let (texts, due): Reply = pipeline.query_async(&mut store.connection()).await?;
        let due: std::collections::HashMap<String, String> = due.into_iter().collect();
        let mut all: Vec<Scheduled> = texts
            .into_iter()
            .map(|(name, text)| Scheduled {
                defined: text::read(&name, &text),
                next_run: due.get(&name).and_then(|score| from_score(score)),
                name,
            })
            .collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Brings forward the definitions that are scheduled later than their next run by the present time. Returns how many there were.
    pub(super) async fn schedule_defined_anew(&self, now: Timestamp) -> Result<u64, Error> {
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store().place(&keys::defined_due())).arg("XX").arg("LT").arg("CH");
        let mut any = false;
        for scheduled in self.all_defined().await? {
            let Ok(defined) = scheduled.defined else { continue };
            if let Some(next) = defined.definition.schedule().next_after(now) {
                cmd.arg(next.as_second()).arg(scheduled.name);
                any = true;
            }
        }
        Ok(if any { cmd.query_async(&mut self.store().connection()).await? } else { 0 })
    }

    async fn defined_text(&self, name: &str) -> Result<Option<String>, Error> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store().place(&keys::defined())).arg(name);
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Why a job cannot be changed at run time that the store does not define.
    fn not_defined(&self, name: &str) -> Error {
        if self.plan.named(name).is_ok() {
            return Error::InList { name: name.to_owned(), origin: self.origin.to_string() };
        }
        Error::NoSuchJob { name: name.to_owned() }
    }
}

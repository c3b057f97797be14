//! Creating a recurring job at run time, and changing one.

use jiff::{SignedDuration, Timestamp};
use keyrack_store::{Script, script};

use super::{DEFINED_MAX, Defined, text};
use crate::recurring::{
    definition::Definition,
    error::{DefinitionError, Error},
    keys,
    schedule::Schedule,
    service::{Recurring, score},
};

static DEFINE: Script = script!("define.lua");

/// How often a change is tried again that came across another one.
pub(super) const TRIES: usize = 10;

/// What a change does with the next run.
enum NextRun {
    Keep,
    Set(Option<Timestamp>),
}

impl Recurring {
    /// Creates a recurring job in the store. All schedulers of the store run it from now on, each run once.
    ///
    /// # Errors
    /// When there is one of that name, the definition is not valid, there are too many, or the store cannot be reached.
    pub async fn create(&self, definition: Definition) -> Result<Defined, Error> {
        definition.check()?;
        let now = self.now();
        let definition = counted_from(definition, None, now);
        check_new(&definition, now)?;
        if self.plan.named(definition.name()).is_ok() {
            return Err(self.not_defined(definition.name()));
        }
        let now_ms = self.hive.now_ms();
        let (created_at, changed_at) = (now_ms, now_ms);
        let next = NextRun::Set(definition.schedule().next_after(now));
        let new = Defined { definition, version: 0, paused: false, created_at, changed_at };
        let name = new.definition.name().to_owned();
        for _ in 0..TRIES {
            if let Some(version) = self.define(&new, "", &next).await? {
                return Ok(Defined { version, ..new });
            }
            if let Some(held) = self.defined_text(&name).await? {
                let version = text::version(&held).parse().unwrap_or_default();
                return Err(Error::Exists { name, version });
            }
        }
        Err(Error::Busy { name })
    }

    /// Gives a recurring job of the store another definition, if it still has the version that the change is `based_on`. A job whose
    /// schedule stays the same keeps its next run, and a paused one stays paused.
    ///
    /// # Errors
    /// As [`Recurring::create`], and when there is no such job or it has another version.
    pub async fn change(
        &self,
        definition: Definition,
        based_on: Option<u64>,
    ) -> Result<Defined, Error> {
        definition.check()?;
        let (name, now) = (definition.name().to_owned(), self.now());
        self.change_with(&name, based_on, |old| {
            let old_schedule = old.definition.schedule();
            let definition = counted_from(definition.clone(), Some(old_schedule), now);
            let next = if definition.schedule().to_string() == old_schedule.to_string()
                && first_run(definition.schedule()) == first_run(old_schedule)
            {
                NextRun::Keep
            } else {
                check_new(&definition, now)?;
                NextRun::Set(definition.schedule().next_after(now))
            };
            Ok((Defined { definition, ..old.clone() }, next))
        })
        .await
    }

    /// Pauses or resumes a recurring job of the store.
    pub(in crate::recurring) async fn set_defined_paused(
        &self,
        name: &str,
        paused: bool,
    ) -> Result<(), Error> {
        let set = |old: &Defined| Ok((Defined { paused, ..old.clone() }, NextRun::Keep));
        self.change_with(name, None, set).await.map(drop)
    }

    async fn change_with(
        &self,
        name: &str,
        based_on: Option<u64>,
        change: impl Fn(&Defined) -> Result<(Defined, NextRun), Error>,
    ) -> Result<Defined, Error> {
        for _ in 0..TRIES {
            let Some(held) = self.defined_text(name).await? else {
                return Err(self.not_defined(name));
            };
            let old = text::read(name, &held)?;
            check_version(name, based_on, old.version)?;
            let (mut new, next) = change(&old)?;
            new.changed_at = self.hive.now_ms();
            if let Some(version) = self.define(&new, &held, &next).await? {
                return Ok(Defined { version, ..new });
            }
        }
        Err(Error::Busy { name: name.to_owned() })
    }

    /// Stores a definition; `None` when the store no longer has what is held.
    async fn define(
        &self,
        new: &Defined,
        held: &str,
        next: &NextRun,
    ) -> Result<Option<u64>, Error> {
        let next = match next {
            NextRun::Keep => "keep".to_owned(),
            NextRun::Set(next) => score(*next),
        };
        let result: Result<u64, _> = DEFINE
            .call(self.store())
            .key("defined", &keys::defined())
            .key("due", &keys::defined_due())
            .key("version", &keys::defined_version())
            .key("events", &keys::defined_events())
            .arg("name", new.definition.name())
            .arg("held", held)
            .arg("fields", text::fields(new)?)
            .arg("next_run", next)
            .arg("max", DEFINED_MAX)
            .run()
            .await;
        match result {
            Ok(version) => Ok(Some(version)),
            Err(keyrack_store::Error::Refused { word, .. }) if word == "CHANGED" => Ok(None),
            Err(keyrack_store::Error::Refused { word, .. }) if word == "TOO_MANY" => {
                Err(Error::TooMany { max: DEFINED_MAX })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Refuses a change that is based on another version.
pub(super) fn check_version(name: &str, based_on: Option<u64>, found: u64) -> Result<(), Error> {
    match based_on {
        Some(given) if given != found => {
            Err(Error::OtherVersion { name: name.to_owned(), given, found })
        }
        _ => Ok(()),
    }
}

/// Periods without a first run are counted from the definition on, or as before if the period is the same.
fn counted_from(definition: Definition, old: Option<&Schedule>, now: Timestamp) -> Definition {
    let Schedule::Every(every) = definition.schedule() else { return definition };
    if every.from() != Timestamp::UNIX_EPOCH {
        return definition;
    }
    let from = match old {
        Some(Schedule::Every(old)) if old.period_s() == every.period_s() => old.from(),
        _ => now,
    };
    let schedule = every.counted_from(from).into();
    definition.with_schedule(schedule)
}

/// What the text of a schedule does not say.
fn first_run(schedule: &Schedule) -> Option<Timestamp> {
    match schedule {
        Schedule::Every(every) => Some(every.from()),
        _ => None,
    }
}

/// Looks at what only matters when a schedule begins, and at what paths need.
fn check_new(definition: &Definition, now: Timestamp) -> Result<(), Error> {
    const AHEAD_MAX: SignedDuration = SignedDuration::from_hours(100 * 366 * 24);
    let bad = |reason| Err(Error::Definition { name: definition.name().to_owned(), reason });
    if matches!(definition.name(), "." | "..") {
        return bad(DefinitionError::PathName { name: definition.name().to_owned() });
    }
    let (field, at) = match definition.schedule() {
        Schedule::Once(at) => ("at", *at),
        Schedule::Every(every) => ("from", every.from()),
        _ => return Ok(()),
    };
    let given = at.to_string();
    if field == "at" && at <= now {
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
        return bad(DefinitionError::Past { field, given, now });
    }
    if at.duration_since(now) > AHEAD_MAX {
        return bad(DefinitionError::TooFar { field, given });
    }
    Ok(())
}

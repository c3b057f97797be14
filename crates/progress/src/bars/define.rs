//! Creating, changing and deleting bars.

use keyrack_keys::{Key, UserSub};
use keyrack_store::{Script, script};

use super::{
    stored::{BarKeys, Stored, With},
    write::{ATTEMPTS_MAX, BarDefinition},
};
use crate::{
    bar::{Bar, BarSettings, bar_name},
    error::Error,
    keys::{self, BarName, Version},
    service::Progress,
    technique::StepConfig,
};

static DELETE: Script = script!("delete.lua", "../include/bar.lua");
static DELETE_TRACE: Script = script!("delete_trace.lua", "../include/bar.lua");

/// How many past versions a deleted bar may have left counts of; those of earlier ones have expired, or soon will.
const PAST_VERSIONS: u64 = 1000;

impl Progress {
    /// Creates a bar with no step but the default one.
    ///
    /// # Errors
    /// When a value makes no sense, or the user has a bar of that name.
    pub async fn create_bar(
        &self,
        user: &UserSub,
        name: &str,
        settings: BarSettings,
        default_step: StepConfig,
    ) -> Result<Bar, Error> {
        let name = bar_name(name)?;
        settings.check()?;
        default_step.check()?;
        self.change_bar(user, &name, |stored| {
            if stored.is_some() {
                return Err(Error::BarExists { bar: name.to_string() });
            }
            let draft = BarDefinition::new_bar(self, user, &name, settings, default_step);
            let bar = draft.bar.clone();
            Ok((draft, bar))
        })
        .await
    }

    /// Changes what a bar retains and how its overall time is estimated. Steps and retained traces stay.
    ///
    /// # Errors
    /// When a value makes no sense, or there is no such bar.
    pub async fn update_bar(
        &self,
        user: &UserSub,
        name: &str,
        settings: BarSettings,
        default_step: StepConfig,
    ) -> Result<Bar, Error> {
        let name = bar_name(name)?;
        settings.check()?;
        default_step.check()?;
        self.change_bar(user, &name, |stored| {
            let mut draft = BarDefinition::of(existing(&name, stored)?);
            draft.bar.settings = settings;
            draft.bar.default_step_config = default_step;
            draft.steps[0].config = default_step;
            let bar = draft.bar.clone();
            Ok((draft, bar))
        })
        .await
    }

    /// Deletes a bar with its steps and retained traces. Traces under way go on; when one completes, the bar begins anew.
    ///
    /// # Errors
    /// When there is no such bar.
    pub async fn delete_bar(&self, user: &UserSub, name: &str) -> Result<(), Error> {
        let name = bar_name(name)?;
        let keys = BarKeys::of(user, &name);
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.existing_bar(user, &name).await?;
            let mut stale = stored.cache_keys(user, &name)?;
            stale.extend(counts(user, &name, stored.bar.version)?);
            let deleted: bool = DELETE
                .call(&self.store)
                .key("bar", &keys.bar)
                .key("steps", &keys.steps)
                .key("traces", &keys.traces)
                .key("samples", &keys.samples)
                .key("paces", &keys.paces)
                .key("bars", &keys.bars)
                .keys("stale", &stale)
                .arg("revision", &stored.revision)
                .arg("name", name.as_str())
                .run()
                .await?;
            if deleted {
                return Ok(());
            }
        }
        Err(Error::Busy { bar: name.to_string() })
    }

    /// Deletes a retained trace, so that it is no sample any more.
    ///
    /// # Errors
    /// When there is no such bar, or it retains no such trace.
    pub async fn delete_trace(
        &self,
        user: &UserSub,
        pbar_name: &str,
        uid: &str,
    ) -> Result<(), Error> {
        let name = bar_name(pbar_name)?;
        let keys = BarKeys::of(user, &name);
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.existing_bar(user, &name).await?;
            let word: String = DELETE_TRACE
                .call(&self.store)
                .key("bar", &keys.bar)
                .key("traces", &keys.traces)
                .key("samples", &keys.samples)
                .key("paces", &keys.paces)
                .keys("stale", &stored.cache_keys(user, &name)?)
                .arg("revision", &stored.revision)
                .arg("uid", uid)
                .run()
                .await?;
            match word.as_str() {
                "deleted" => return Ok(()),
                "missing" => {
                    let (bar, trace) = (name.to_string(), uid.to_owned());
                    return Err(Error::RetainedTraceNotFound { bar, trace });
                }
                _ => {}
            }
        }
        Err(Error::Busy { bar: name.to_string() })
    }

    async fn existing_bar(&self, user: &UserSub, name: &BarName) -> Result<Stored, Error> {
        existing(name, self.stored_bar(user, name, With::Nothing).await?)
    }
}

/// The bar, or that there is none.
pub(super) fn existing(name: &BarName, stored: Option<Stored>) -> Result<Stored, Error> {
    stored.ok_or_else(|| Error::BarNotFound { bar: name.to_string() })
}

/// The counts of completed traces that a bar may have left: a new bar of that name must not start with them.
fn counts(user: &UserSub, name: &BarName, version: u64) -> Result<Vec<Key>, Error> {
    let versions = version.saturating_sub(PAST_VERSIONS)..=version;
    versions.map(|version| Ok(keys::trace_count(user, name, &Version::new(version)?))).collect()
}

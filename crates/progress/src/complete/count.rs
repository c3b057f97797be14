//! Doing what was decided, in one step.

use keyrack_keys::UserSub;
use keyrack_store::{Script, script};

use super::decide::{fits, rebuilt, sample};
use crate::{
    bar::bar_name,
    bars::{ATTEMPTS_MAX, BarDefinition, BarKeys, Stored, With},
    error::Error,
    keys::{self, BarName, TraceUid, Version},
    retained::Sample,
    service::Progress,
    text::float,
    trace::{Trace, stored_member},
};

static COUNT: Script = script!("count.lua", "../include/steps.lua", "../include/bar.lua");

/// How long a completed trace can still be read after it has been counted: as long as a watcher waits without a sign of life.
const LINGER_SECONDS: u64 = 900;
/// How much older than the sampling age a trace may be and still stand in the count: clocks may be off by so much.
const CLIP_SLACK_SECONDS: u64 = 300;

/// What became of a completed trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountOutcome {
    /// There was nothing to do: it is gone, not completed, or has been counted before.
    Nothing,
    /// The bar has another version than the one that was expected.
    OtherVersion,
    /// Its steps cannot be those of a bar; it was dropped.
    Unusable,
    /// It was counted.
    Counted {
        /// The version of the bar for which it counts.
        version: u64,
        /// Whether it was retained as a sample.
        retained: bool,
    },
}

impl Progress {
    /// Counts a completed trace, retains it if the sampling says so, and gives the bar its steps if it has others.
    ///
    /// To repeat it does no harm. With an expected version nothing is done when the bar has another.
    ///
    /// # Errors
    /// When the user has too many bars for a new one, others keep changing the bar, or the store fails.
    pub async fn handle_completed(
        &self,
        user: &UserSub,
        pbar_name: &str,
        trace_uid: &str,
        expected_version: Option<u64>,
    ) -> Result<CountOutcome, Error> {
        let (name, trace_uid) = (bar_name(pbar_name)?, TraceUid::new(trace_uid)?);
        for _ in 0..ATTEMPTS_MAX {
            let found = self.find_trace(user, &name, &trace_uid).await?;
            let Some(found) = found.filter(|found| found.trace.done && !found.counted) else {
                return Ok(CountOutcome::Nothing);
            };
            let stored = self.stored_bar(user, &name, With::Nothing).await?;
            let version = stored.as_ref().map(|stored| stored.bar.version);
            if expected_version.is_some() && expected_version != version {
                return Ok(CountOutcome::OtherVersion);
            }
            let Some(sample) = sample(self, &found.trace) else {
                tracing::warn!(
                    user = user.as_str(),
                    bar = name.as_str(),
                    trace = trace_uid.as_str(),
                    "the steps of the completed trace can be those of no bar; it is dropped"
                );
                return Ok(CountOutcome::Unusable);
            };
            let case = Completion { user, name: &name, trace_uid: &trace_uid, trace: &found.trace };
            if let Some(handled) = self.count(&case, stored.as_ref(), &sample).await? {
                return Ok(handled);
            }
        }
        Err(Error::Busy { bar: name.to_string() })
    }

    /// Counts a trace over the state of the bar that was read; `None` when that is another by now.
    async fn count(
        &self,
        case: &Completion<'_>,
        stored: Option<&Stored>,
        sample: &Sample,
    ) -> Result<Option<CountOutcome>, Error> {
        let as_it_is = stored.filter(|stored| fits(stored.real_steps(), case.trace));
        let draft = match as_it_is {
            Some(stored) => BarDefinition::of(stored.clone()),
            None => rebuilt(self, case.user, case.name, stored, case.trace),
        };
        if as_it_is.is_none() {
            let (bar, version) = (case.name.as_str(), draft.bar.version);
            tracing::info!(bar, version, "the bar gets the steps of a completed trace");
        }
        let values = if as_it_is.is_some() { Vec::new() } else { draft.values(self) };
        let word = self.run_count(case, stored, &draft, sample, values).await?;
        let version = draft.bar.version;
        Ok(match word.as_str() {
            "retained" => Some(CountOutcome::Counted { version, retained: true }),
            "counted" => Some(CountOutcome::Counted { version, retained: false }),
            "gone" => Some(CountOutcome::Nothing),
            _ => None,
        })
    }

    async fn run_count(
        &self,
        case: &Completion<'_>,
        stored: Option<&Stored>,
        draft: &BarDefinition,
        sample: &Sample,
        values: Vec<String>,
    ) -> Result<String, Error> {
        let Completion { user, name, trace_uid, trace } = *case;
        let keys = BarKeys::of(user, name);
        let stale = stored.map(|stored| stored.cache_keys(user, name)).transpose()?;
        let settings = draft.bar.settings;
        let age = settings.age_seconds();
        let interval = age as f64 / settings.sampling_max_count as f64;
        let version = Version::new(draft.bar.version)?;
        let sample_text = serde_json::to_string(sample).expect("plain values become JSON");
        COUNT
            .call(&self.store)
            .key("trace", &keys::trace(user, name, trace_uid))
            .key("bar", &keys.bar)
            .key("steps", &keys.steps)
            .key("traces", &keys.traces)
            .key("samples", &keys.samples)
            .key("paces", &keys.paces)
            .key("bars", &keys.bars)
            .key("count", &keys::trace_count(user, name, &version))
            .key("stored", &keys::stored_traces(user))
            .keys("stale", stale.iter().flatten())
            .arg("created_at", float(trace.created_at))
            .arg("last_updated_at", float(trace.last_updated_at))
            .arg("revision", stored.map_or("", |stored| &stored.revision))
            .arg("trace_uid", trace_uid.as_str())
            .arg("linger", LINGER_SECONDS)
            .arg("sample_uid", &sample.uid)
            .arg("sample", sample_text)
            .arg("pace", sample.paces().unwrap_or_default())
            .arg("technique", settings.sampling_technique.as_str())
            .arg("max_count", settings.sampling_max_count)
            .arg("interval_start", float(trace.created_at - interval))
            .arg("age_start", float(trace.created_at - age as f64))
            .arg("ages", u8::from(settings.sampling_max_age_seconds.is_some()))
            .arg("clip_end", float(trace.created_at - (age + CLIP_SLACK_SECONDS) as f64))
            .arg("count_ttl", age + CLIP_SLACK_SECONDS)
            .arg("roll", float(self.chance.roll()))
            .arg("evict_roll", float(self.chance.roll()))
            .arg("name", name.as_str())
            .arg("bars_max", self.quotas.bars)
            .arg("bar_created_at", float(draft.bar.created_at))
            .arg("member", stored_member(name, trace_uid))
            .arg("gone_at", float(self.now() + LINGER_SECONDS as f64))
            .args("values", values)
            .run()
            .await
            .map_err(|error| self.too_many_bars(error))
    }
}

/// The completed trace in question.
#[derive(Clone, Copy)]
struct Completion<'a> {
    user: &'a UserSub,
    name: &'a BarName,
    trace_uid: &'a TraceUid,
    trace: &'a Trace,
}

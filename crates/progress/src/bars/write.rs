//! Writing a bar over the state that was read.

use keyrack_keys::UserSub;
use keyrack_store::{Script, script};

use super::stored::{BarKeys, StepRow, Stored, With};
use crate::{
    bar::{Bar, BarSettings, DEFAULT_STEP, Step},
    error::Error,
    keys::BarName,
    service::Progress,
    technique::StepConfig,
    text::float,
};

static WRITE: Script = script!("write.lua", "../include/bar.lua");

/// How often a change is tried again because another one came in between. Each time somebody else got on.
pub(crate) const ATTEMPTS_MAX: usize = 100;

/// What a bar is to become.
#[derive(Debug, Clone)]
pub(crate) struct BarDefinition {
    pub(crate) bar: Bar,
    /// The default step first.
    pub(crate) steps: Vec<Step>,
    /// Whether the retained traces are of other steps.
    pub(crate) forget: bool,
}

impl BarDefinition {
    /// A bar with a default step and no other.
    pub(crate) fn new_bar(
        progress: &Progress,
        user: &UserSub,
        name: &BarName,
        settings: BarSettings,
        default_step_config: StepConfig,
    ) -> BarDefinition {
        let bar = Bar {
            uid: progress.chance.uid("ep_pb_"),
            user_sub: user.to_string(),
            name: name.to_string(),
            settings,
            version: 0,
            created_at: progress.now(),
            default_step_config,
        };
        let mut draft = BarDefinition { bar, steps: Vec::new(), forget: false };
        draft.push_step(progress, DEFAULT_STEP, false, default_step_config);
        draft
    }

    /// A bar as it is.
    pub(crate) fn of(stored: Stored) -> BarDefinition {
        BarDefinition { bar: stored.bar, steps: stored.steps, forget: false }
    }

    /// Adds a step at the end.
    pub(crate) fn push_step(
        &mut self,
        progress: &Progress,
        name: &str,
        iterated: bool,
        config: StepConfig,
    ) {
        self.steps.push(Step {
            uid: progress.chance.uid("ep_pbs_"),
            user_sub: self.bar.user_sub.clone(),
            progress_bar_name: self.bar.name.clone(),
            name: name.to_owned(),
            position: self.steps.len() as u64,
            iterated,
            config,
            created_at: progress.now(),
        });
    }

    /// The steps are others now: what was retained is of no use.
    pub(crate) fn next_version(&mut self) {
        self.bar.version += 1;
        self.forget = true;
    }

    /// The values as scripts take them: the number of fields, the fields, the steps.
    pub(crate) fn values(&self, progress: &Progress) -> Vec<String> {
        let BarSettings { sampling_max_count, sampling_max_age_seconds, sampling_technique } =
            self.bar.settings;
        let mut fields = vec![
            ("uid", self.bar.uid.clone()),
            ("revision", progress.chance.uid("")),
            ("version", self.bar.version.to_string()),
            ("sampling_max_count", sampling_max_count.to_string()),
            ("sampling_technique", sampling_technique.as_str().to_owned()),
            ("created_at", float(self.bar.created_at)),
        ];
        fields.extend(
            sampling_max_age_seconds.map(|age| ("sampling_max_age_seconds", age.to_string())),
        );
        let mut values = vec![fields.len().to_string()];
        values.extend(fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
        let row = |step: &Step| serde_json::to_string(&StepRow::of(step));
        values.extend(self.steps.iter().map(|step| row(step).expect("plain values become JSON")));
        values
    }
}

impl Progress {
    /// Reads a bar, lets `decide` say what becomes of it, and writes that; again if somebody else wrote in between.
    pub(super) async fn change_bar<T>(
        &self,
        user: &UserSub,
        name: &BarName,
        decide: impl Fn(Option<Stored>) -> Result<(BarDefinition, T), Error>,
    ) -> Result<T, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.stored_bar(user, name, With::Nothing).await?;
            let (draft, answer) = decide(stored.clone())?;
            if self.write_bar(user, name, stored.as_ref(), &draft).await? {
                return Ok(answer);
            }
        }
        Err(Error::Busy { bar: name.to_string() })
    }

    /// Writes a bar over the state that was read; false if it is another by now.
    async fn write_bar(
        &self,
        user: &UserSub,
        name: &BarName,
        over: Option<&Stored>,
        draft: &BarDefinition,
    ) -> Result<bool, Error> {
        let keys = BarKeys::of(user, name);
        let stale = over.map(|stored| stored.cache_keys(user, name)).transpose()?;
        let written = WRITE
            .call(&self.store)
            .key("bar", &keys.bar)
            .key("steps", &keys.steps)
            .key("traces", &keys.traces)
            .key("samples", &keys.samples)
            .key("paces", &keys.paces)
            .key("bars", &keys.bars)
            .keys("stale", stale.iter().flatten())
            .arg("revision", over.map_or("", |stored| &stored.revision))
            .arg("name", name.as_str())
            .arg("created_at", float(draft.bar.created_at))
            .arg("bars_max", self.quotas.bars)
            .arg("forget", u8::from(draft.forget))
            .args("values", draft.values(self))
            .run()
            .await;
        written.map_err(|error| self.too_many_bars(error))
    }

    /// The one refusal that writing a bar can meet.
    pub(crate) fn too_many_bars(&self, error: keyrack_store::Error) -> Error {
        match error {
            keyrack_store::Error::Refused { word, .. } if word == "TOO_MANY_BARS" => {
                Error::TooManyBars { max: self.quotas.bars }
            }
            error => error.into(),
        }
    }
}

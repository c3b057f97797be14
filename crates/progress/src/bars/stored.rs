//! A bar with its steps as it stands in the store.

use std::collections::HashMap;

use keyrack_keys::{Key, UserSub};
use keyrack_store::{Script, script};
use serde::{Deserialize, Serialize};

use crate::{
    bar::{Bar, BarSettings, DEFAULT_STEP, Sampling, Step},
    error::Error,
    keys::{self, BarName, StepPosition, Version},
    retained::{Sample, Samples},
    service::Progress,
    technique::StepConfig,
    text::number,
};

static READ: Script = script!("read.lua");

/// The keys that hold a bar.
#[derive(Debug, Clone)]
pub(crate) struct BarKeys {
    pub(crate) bar: Key,
    pub(crate) steps: Key,
    pub(crate) traces: Key,
    pub(crate) samples: Key,
    pub(crate) paces: Key,
    pub(crate) bars: Key,
}

impl BarKeys {
    pub(crate) fn of(user: &UserSub, name: &BarName) -> BarKeys {
        BarKeys {
            bar: keys::bar(user, name),
            steps: keys::steps(user, name),
            traces: keys::traces(user, name),
            samples: keys::samples(user, name),
            paces: keys::paces(user, name),
            bars: keys::bars(user),
        }
    }
}

/// A bar with its steps, as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) bar: Bar,
    /// The default step first.
    pub(crate) steps: Vec<Step>,
    /// Names this state of the bar and its steps.
    pub(crate) revision: String,
    /// Names the state of its samples.
    pub(crate) sampled: String,
    /// Oldest first; empty unless asked for.
    pub(crate) samples: Vec<Sample>,
}

/// Whether the samples are read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    Samples,
    Nothing,
}

impl Progress {
    /// Reads a bar; `None` when there is none.
    pub(crate) async fn stored_bar(
        &self,
        user: &UserSub,
        name: &BarName,
        with: With,
    ) -> Result<Option<Stored>, Error> {
        Ok(self.stored_bars(user, std::slice::from_ref(name), with).await?.pop().flatten())
    }

    /// Reads several bars in one step.
    pub(crate) async fn stored_bars(
        &self,
        user: &UserSub,
        names: &[BarName],
        with: With,
    ) -> Result<Vec<Option<Stored>>, Error> {
        let all = names.iter().flat_map(|name| {
            let BarKeys { bar, steps, samples, paces, .. } = BarKeys::of(user, name);
            let asked = |key| (with == With::Samples).then_some(key);
            [Some(bar), Some(steps), asked(samples), asked(paces)]
        });
        let all: Vec<Key> = all.flatten().collect();
        let rows: Vec<Vec<Vec<String>>> = READ
            .call(&self.store)
            .keys("keys", &all)
            .arg("with_samples", u8::from(with == With::Samples))
            .run()
            .await?;
        names.iter().zip(rows).map(|(name, row)| Stored::parse(user, name, &row)).collect()
    }
}

/// A step as it stands in the list of a bar's steps.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StepRow {
    uid: String,
    name: String,
    iterated: bool,
    #[serde(flatten)]
    config: StepConfig,
    created_at: f64,
}

impl StepRow {
    pub(super) fn of(step: &Step) -> StepRow {
        StepRow {
            uid: step.uid.clone(),
            name: step.name.clone(),
            iterated: step.iterated,
            config: step.config,
            created_at: step.created_at,
        }
    }
}

impl Stored {
    fn parse(user: &UserSub, name: &BarName, row: &[Vec<String>]) -> Result<Option<Stored>, Error> {
        let [fields, steps, samples, paces] = row else { return Ok(None) };
        let keys = BarKeys::of(user, name);
        let key = keys.bar.name();
        let steps: Vec<StepRow> = parse_all(&keys.steps, steps)?;
        let mut samples: Vec<Sample> = parse_all(&keys.samples, samples)?;
        add_paces(&mut samples, paces);
        samples.sort_by(|a, b| a.created_at.total_cmp(&b.created_at).then(a.uid.cmp(&b.uid)));
        let Some(default) = steps.first().filter(|step| step.name == DEFAULT_STEP) else {
            let reason = "it does not begin with the default step".to_owned();
            return Err(Error::Corrupt { key: keys.steps.name().to_owned(), reason });
        };
        let settings = BarSettings {
            sampling_max_count: number(key, "sampling_max_count", &fields[3])?,
            sampling_max_age_seconds: match fields[4].as_str() {
                "" => None,
                age => Some(number(key, "sampling_max_age_seconds", age)?),
            },
            sampling_technique: match fields[5].as_str() {
                "simple_random" => Sampling::SimpleRandom,
                _ => Sampling::Systematic,
            },
        };
        let bar = Bar {
            uid: fields[0].clone(),
            user_sub: user.to_string(),
            name: name.to_string(),
            settings,
            version: number(key, "version", &fields[2])?,
            created_at: number(key, "created_at", &fields[6])?,
            default_step_config: default.config,
        };
        let steps = steps.into_iter().zip(0..).map(|(row, position)| Step {
            uid: row.uid,
            user_sub: user.to_string(),
            progress_bar_name: name.to_string(),
            name: row.name,
            position,
            iterated: row.iterated,
            config: row.config,
            created_at: row.created_at,
        });
        Ok(Some(Stored {
            bar,
            steps: steps.collect(),
            revision: fields[1].clone(),
            sampled: fields[7].clone(),
            samples,
        }))
    }

    /// The steps that a trace goes through.
    pub(crate) fn real_steps(&self) -> &[Step] {
        self.steps.get(1..).unwrap_or_default()
    }

    /// The keys of what is worked out from this state: the overall time, then each step from position 1.
    pub(crate) fn cache_keys(&self, user: &UserSub, name: &BarName) -> Result<Vec<Key>, Error> {
        let version = Version::new(self.bar.version)?;
        let method = self.bar.default_step_config.method(false);
        let mut all = vec![keys::overall_stats(user, name, &version, &method.name()?)];
        for step in self.real_steps() {
            let position = StepPosition::new(step.position)?;
            all.push(keys::step_stats(user, name, &version, &position, &step.method().name()?));
        }
        Ok(all)
    }

    pub(crate) fn into_samples(self) -> Samples {
        Samples { bar: self.bar, steps: self.steps, traces: self.samples }
    }
}

/// Gives samples their paces, of a list of traces and paces in turn. What cannot be read is as good as not known.
fn add_paces(samples: &mut [Sample], paces: &[String]) {
    let paces: HashMap<&str, &str> =
        paces.chunks_exact(2).map(|pair| (&*pair[0], &*pair[1])).collect();
    for sample in samples {
        let pace = paces.get(&*sample.uid).and_then(|text| serde_json::from_str(text).ok());
        sample.add_paces(pace.unwrap_or_default());
    }
}

fn parse_all<T: serde::de::DeserializeOwned>(key: &Key, texts: &[String]) -> Result<Vec<T>, Error> {
    let parse = |text: &String| serde_json::from_str(text);
    texts
        .iter()
        .map(parse)
        .collect::<Result<_, _>>()
        .map_err(|error| Error::Corrupt { key: key.name().to_owned(), reason: error.to_string() })
}

//! A progress bar and its steps, as they are defined.

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    keys::BarName,
    technique::{Method, StepConfig},
};

/// The fewest traces a bar can be told to retain: below, no statistic means anything.
pub const SAMPLING_MAX_COUNT_MIN: u64 = 10;
/// The most traces a bar can be told to retain: every estimate that is not cached reads them all.
pub const SAMPLING_MAX_COUNT_MAX: u64 = 100_000;
/// The shortest time for which a bar can be told to retain traces.
pub const SAMPLING_MAX_AGE_MIN: u64 = 60;
/// The longest, a hundred years; who wants more wants no limit.
pub const SAMPLING_MAX_AGE_MAX: u64 = 3_155_760_000;
/// The sampling age where a bar sets none: a week.
pub const SAMPLING_AGE_DEFAULT: u64 = 604_800;
/// The longest name of a bar or a step, in characters.
pub const NAME_CHARS_MAX: usize = 255;
/// The most steps of a trace or bar: each update of a trace renews them all.
pub const STEPS_MAX: u64 = 250;
/// The most bars of a user, unless set otherwise; any trace with a new name makes one.
pub const BARS_MAX: u64 = 10_000;
/// The name of the step that every bar has.
pub const DEFAULT_STEP: &str = "default";

/// Which completed traces are retained as samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// One in every stretch of time, evenly over the sampling age.
    #[default]
    Systematic,
    /// Any trace with the same chance.
    SimpleRandom,
}

impl Sampling {
    /// The word by which clients and keys know it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Sampling::Systematic => "systematic",
            Sampling::SimpleRandom => "simple_random",
        }
    }
}

/// How many completed traces a bar retains, for how long, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BarSettings {
    /// The most traces retained, from 10.
    pub sampling_max_count: u64,
    /// The age at which they are dropped, from 60 seconds; `None` keeps them, and spreads samples over a week.
    pub sampling_max_age_seconds: Option<u64>,
    /// Which are retained.
    pub sampling_technique: Sampling,
}

impl Default for BarSettings {
    fn default() -> BarSettings {
        BarSettings {
            sampling_max_count: 100,
            sampling_max_age_seconds: Some(SAMPLING_AGE_DEFAULT),
            sampling_technique: Sampling::Systematic,
        }
    }
}

impl BarSettings {
    /// For programs that report their own runs: every run is kept until there are a hundred, for a quarter of a year.
    ///
    /// The published default keeps one run in each hundredth of a week, for bars of services with many users.
    pub const EVERY_RUN: BarSettings = BarSettings {
        sampling_max_count: 100,
        sampling_max_age_seconds: Some(90 * 86_400),
        sampling_technique: Sampling::SimpleRandom,
    };

    /// The age in force: a week where none is set.
    pub fn age_seconds(&self) -> u64 {
        self.sampling_max_age_seconds.unwrap_or(SAMPLING_AGE_DEFAULT)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let (min, max) = (SAMPLING_MAX_COUNT_MIN, SAMPLING_MAX_COUNT_MAX);
        check_range("sampling_max_count", self.sampling_max_count, min, max)?;
        let (min, max) = (SAMPLING_MAX_AGE_MIN, SAMPLING_MAX_AGE_MAX);
        check_range("sampling_max_age_seconds", self.age_seconds(), min, max)
    }
}

fn check_range(field: &'static str, given: u64, min: u64, max: u64) -> Result<(), Error> {
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("\"{given}\" is out of range; use {min} to {max}")))
}

/// A progress bar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bar {
    /// Its id.
    pub uid: String,
    /// Whose it is.
    pub user_sub: String,
    /// Its name, unique for its user.
    pub name: String,
    /// What it retains.
    #[serde(flatten)]
    pub settings: BarSettings,
    /// How often its steps have changed.
    pub version: u64,
    /// When it began, in unix seconds.
    pub created_at: f64,
    /// How the overall time is estimated, and what new steps begin with.
    pub default_step_config: StepConfig,
}

/// A step of a bar as it is defined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Step {
    /// Its id.
    pub uid: String,
    /// Whose it is.
    pub user_sub: String,
    /// Its bar.
    pub progress_bar_name: String,
    /// Its name, unique in the bar; `default` for the one at position 0.
    pub name: String,
    /// Where it stands: real steps from 1.
    pub position: u64,
    /// Whether it has iterations.
    pub iterated: bool,
    /// How its time is estimated.
    #[serde(flatten)]
    pub config: StepConfig,
    /// When it was defined, in unix seconds.
    pub created_at: f64,
}

impl Step {
    /// The method in force.
    pub fn method(&self) -> Method {
        self.config.method(self.iterated)
    }
}

/// Takes the name of a bar.
pub(crate) fn bar_name(name: &str) -> Result<BarName, Error> {
    check_chars("pbar_name", name)?;
    Ok(BarName::new(name)?)
}

/// Refuses what is no name of a step.
pub(crate) fn check_step_name(name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::invalid("step_name", "it is empty; give 1 to 255 characters"));
    }
    check_chars("step_name", name)
}

fn check_chars(field: &'static str, name: &str) -> Result<(), Error> {
    let chars = name.chars().count();
    if chars <= NAME_CHARS_MAX {
        return Ok(());
    }
    Err(Error::invalid(field, format!("it has {chars} characters; use at most {NAME_CHARS_MAX}")))
}

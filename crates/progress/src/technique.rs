//! How samples become an estimate.

use serde::{Deserialize, Serialize};

use crate::{error::Error, keys};

/// How samples become an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Technique {
    /// The sample that so many percent of all samples are below.
    #[default]
    #[serde(rename = "percentile")]
    Percentile,
    /// The harmonic mean.
    #[serde(rename = "harmonic_mean")]
    HarmonicMean,
    /// The geometric mean.
    #[serde(rename = "geometric_mean")]
    GeometricMean,
    /// The arithmetic mean.
    #[serde(rename = "arithmetic_mean")]
    ArithmeticMean,
    /// A line through the durations over the iterations, by least squares; for iterated steps only.
    #[serde(rename = "best_fit.linear")]
    BestFitLinear,
}

impl Technique {
    /// The word by which clients and keys know it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Technique::Percentile => "percentile",
            Technique::HarmonicMean => "harmonic_mean",
            Technique::GeometricMean => "geometric_mean",
            Technique::ArithmeticMean => "arithmetic_mean",
            Technique::BestFitLinear => "best_fit.linear",
        }
    }
}

/// A technique with its percentile, which the others ignore.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// The technique.
    pub technique: Technique,
    /// From 0 to 100.
    pub percentile: f64,
}

impl Method {
    /// The percentile, for the technique that has one.
    pub fn percentile(&self) -> Option<f64> {
        (self.technique == Technique::Percentile).then_some(self.percentile)
    }

    /// The name as it stands in keys: `arithmetic_mean`, `percentile_97.5`.
    pub fn name(&self) -> Result<keys::Technique, Error> {
        let name = match self.percentile() {
            // Adding zero makes a negative zero positive; `Display` gives the shortest decimal.
            Some(percentile) => format!("{}_{}", self.technique.as_str(), percentile + 0.0),
            None => self.technique.as_str().to_owned(),
        };
        Ok(keys::Technique::new(name)?)
    }
}

/// How a step's times are estimated: as a one-off step, and as an iterated one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct StepConfig {
    /// For a step without iterations; any but `best_fit.linear`.
    pub one_off_technique: Technique,
    /// From 0 to 100.
    pub one_off_percentile: f64,
    /// For a step with iterations.
    pub iterated_technique: Technique,
    /// From 0 to 100.
    pub iterated_percentile: f64,
}

impl Default for StepConfig {
    fn default() -> StepConfig {
        StepConfig {
            one_off_technique: Technique::Percentile,
            one_off_percentile: 75.0,
            iterated_technique: Technique::BestFitLinear,
            iterated_percentile: 75.0,
        }
    }
}

impl StepConfig {
    /// The method for a step that is iterated or not.
    pub fn method(&self, iterated: bool) -> Method {
        if iterated {
            Method { technique: self.iterated_technique, percentile: self.iterated_percentile }
        } else {
            Method { technique: self.one_off_technique, percentile: self.one_off_percentile }
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.one_off_technique == Technique::BestFitLinear {
            let reason = "\"best_fit.linear\" needs iterations; use a percentile or a mean";
            return Err(Error::invalid("one_off_technique", reason));
        }
        check_percentile("one_off_percentile", self.one_off_percentile)?;
        check_percentile("iterated_percentile", self.iterated_percentile)
    }
}

fn check_percentile(field: &'static str, percentile: f64) -> Result<(), Error> {
    if (0.0..=100.0).contains(&percentile) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("\"{percentile}\" is no percentile; use 0 to 100")))
}

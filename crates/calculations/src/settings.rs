//! How a project's results are calculated: what the key document leaves open, as settings with defaults.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Declares a setting that is one of a few words, the default first.
macro_rules! choice {
    ($(#[doc = $prose:literal])+ $name:ident { $($(#[doc = $meaning:literal])+ $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $prose])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "lowercase")]
        pub enum $name {
            $($(#[doc = $meaning])+ $variant),+
        }

        impl $name {
            const ALL: &[Self] = &[$(Self::$variant),+];
            const WORDS: &[&str] = &[$($word),+];

            /// The word that is stored.
            pub const fn as_str(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            fn parse(field: &'static str, word: &str) -> Result<Self, Error> {
                let at = Self::WORDS.iter().position(|other| *other == word);
                at.map(|at| Self::ALL[at]).ok_or_else(|| {
                    let words = Self::WORDS.join("\", \"");
                    Error::invalid(field, format!("\"{word}\" is none of \"{words}\""))
                })
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }
    };
}

choice! {
    /// How buckets are called.
    Labels {
        /// As the time's text begins, `2014-10`; weeks are `2014-W42`.
        Prefix = "prefix",
        /// Without signs: `201410`.
        Compact = "compact",
    }
}

choice! {
    /// What happens to a second value of the same time.
    Duplicates {
        /// It takes the place of the first: an event may be sent twice.
        Replace = "replace",
        /// They are added up.
        Sum = "sum",
        /// The first stays.
        First = "first",
        /// The larger stays.
        Max = "max",
        /// The smaller stays.
        Min = "min",
        /// The event is refused, unless it says the same again.
        Reject = "reject",
    }
}

choice! {
    /// What buckets without values are, between the first and the last that have some.
    Gaps {
        /// They are left out.
        Skip = "skip",
        /// They count as zero.
        Calendar = "calendar",
    }
}

choice! {
    /// Which standard deviation it is.
    Deviation {
        /// That of a sample: divided by n - 1.
        Sample = "sample",
        /// That of the whole population: divided by n.
        Population = "population",
    }
}

choice! {
    /// What is written for a number that so few values do not define.
    Undefined {
        /// Nothing: the field is absent.
        Absent = "absent",
        /// `0.0`.
        Zero = "zero",
    }
}

choice! {
    /// Which results an event updates.
    Updates {
        /// All that are declared for its key.
        Union = "union",
        /// Those that it names; `recompute` brings the others up to date.
        Event = "event",
    }
}

choice! {
    /// How often a rule fires while its condition holds.
    Firing {
        /// Once for each bucket.
        Bucket = "bucket",
        /// With each update.
        Update = "update",
    }
}

/// Whose clock decides the bucket of an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Zone {
    /// That of the event's own offset: the label is a prefix of the stored time.
    #[default]
    Event,
    /// That of a time zone.
    Fixed(TimeZone),
}

/// The settings of a project.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// How buckets are called.
    pub labels: Labels,
    /// Whose clock decides the bucket.
    pub zone: Zone,
    /// What happens to a second value of the same time.
    pub duplicates: Duplicates,
    /// What buckets without values are.
    pub gaps: Gaps,
    /// Which standard deviation it is.
    pub deviation: Deviation,
    /// What is written for undefined numbers.
    pub undefined: Undefined,
    /// Which results an event updates.
    pub updates: Updates,
    /// How often a rule fires.
    pub firing: Firing,
}

/// The names of the settings, in the order in which they are documented.
pub const NAMES: [&str; 8] =
    ["labels", "zone", "duplicates", "gaps", "deviation", "undefined", "updates", "firing"];

impl Settings {
    /// Sets one by its name.
    ///
    /// # Errors
    /// When there is no such setting, or it cannot have that value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match name {
            "labels" => self.labels = Labels::parse("labels", value)?,
            "zone" => self.zone = zone(value)?,
            "duplicates" => self.duplicates = Duplicates::parse("duplicates", value)?,
            "gaps" => self.gaps = Gaps::parse("gaps", value)?,
            "deviation" => self.deviation = Deviation::parse("deviation", value)?,
            "undefined" => self.undefined = Undefined::parse("undefined", value)?,
            "updates" => self.updates = Updates::parse("updates", value)?,
            "firing" => self.firing = Firing::parse("firing", value)?,
            _ => {
                let names = NAMES.join("\", \"");
                let reason = format!("\"{name}\" is no setting; there are \"{names}\"");
                return Err(Error::invalid("setting", reason));
            }
        }
        Ok(())
    }

    /// Names and values, all of them.
    pub fn entries(&self) -> [(&'static str, String); 8] {
        let zone = match &self.zone {
            Zone::Event => "event",
            Zone::Fixed(zone) => zone.iana_name().unwrap_or("UTC"),
        };
        let values = [
            self.labels.as_str(),
            zone,
            self.duplicates.as_str(),
            self.gaps.as_str(),
            self.deviation.as_str(),
            self.undefined.as_str(),
            self.updates.as_str(),
            self.firing.as_str(),
        ];
        let mut values = values.into_iter();
        NAMES.map(|name| (name, values.next().unwrap_or_default().to_owned()))
    }

    /// What is stored; what is absent or makes no sense here has its default.
    pub(crate) fn stored(fields: &HashMap<String, String>) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in fields {
            // Another program may have written it; its own events must not fail for that.
            let _ = settings.set(name, value);
        }
        settings
    }

    pub(crate) fn time_zone(&self) -> Option<&TimeZone> {
        match &self.zone {
            Zone::Event => None,
            Zone::Fixed(zone) => Some(zone),
        }
    }
}

fn zone(name: &str) -> Result<Zone, Error> {
    if name == "event" {
        return Ok(Zone::Event);
    }
    let zone = TimeZone::get(name).map_err(|_| {
        let reason =
            format!("\"{name}\" is no time zone; give one such as \"Europe/Berlin\", or \"event\"");
        Error::invalid("zone", reason)
    })?;
    Ok(Zone::Fixed(zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_stored_and_read_back() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("labels", "compact"),
            ("zone", "Europe/Berlin"),
            ("duplicates", "max"),
            ("gaps", "calendar"),
            ("deviation", "population"),
            ("undefined", "zero"),
            ("updates", "event"),
            ("firing", "update"),
        ] {
            settings.set(name, value).unwrap();
        }
        let stored = settings.entries().map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(Settings::stored(&stored), settings);
        assert_ne!(settings, Settings::default());
    }

    #[test]
    fn what_cannot_be_set_says_what_can() {
        let error = |name: &str, value: &str| {
            Settings::default().set(name, value).expect_err("a bad setting").to_string()
        };
        assert_eq!(error("gaps", "none"), "gaps: \"none\" is none of \"skip\", \"calendar\"");
        assert!(error("zone", "Mars").contains("no time zone"));
        assert!(error("colour", "red").contains("\"labels\""));
    }
}

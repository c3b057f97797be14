//! What a journey asks.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What can be chosen from, at most: more than a phone can show.
const CHOICES_MAX: usize = 100;
/// The longest text of a question or a choice.
const TEXT_CHARS_MAX: usize = 500;

/// A question to everybody on a journey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "style", rename_all = "snake_case", deny_unknown_fields)]
pub enum Prompt {
    /// Answered with a number.
    Numeric {
        /// The question.
        text: String,
        /// The lowest answer.
        min: i64,
        /// The highest answer.
        max: i64,
        /// How far apart answers are shown; others are taken too.
        #[serde(default = "one")]
        step: i64,
    },
    /// Answered by pressing and letting go.
    Press {
        /// The question.
        text: String,
    },
    /// Answered with one of some colours.
    Color {
        /// The question.
        text: String,
        /// The colours, such as `#ff8800`.
        colors: Vec<String>,
    },
    /// Answered with one of some words.
    Word {
        /// The question.
        text: String,
        /// The words.
        options: Vec<String>,
    },
}

fn one() -> i64 {
    1
}

impl Prompt {
    /// The word for its kind.
    pub fn style(&self) -> &'static str {
        match self {
            Prompt::Numeric { .. } => "numeric",
            Prompt::Press { .. } => "press",
            Prompt::Color { .. } => "color",
            Prompt::Word { .. } => "word",
        }
    }

    /// What the journey asks, in words.
    pub fn question(&self) -> &str {
        match self {
            Prompt::Numeric { text, .. }
            | Prompt::Press { text }
            | Prompt::Color { text, .. }
            | Prompt::Word { text, .. } => text,
        }
    }

    /// The lowest and the highest answer, where there is something to choose.
    pub(crate) fn bounds(&self) -> Option<(i64, i64)> {
        let last = |choices: &Vec<String>| i64::try_from(choices.len()).unwrap_or(i64::MAX) - 1;
        match self {
            Prompt::Numeric { min, max, .. } => Some((*min, *max)),
            Prompt::Press { .. } => None,
            Prompt::Color { colors, .. } => Some((0, last(colors))),
            Prompt::Word { options, .. } => Some((0, last(options))),
        }
    }

    /// Refuses questions without an answer.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |reason: String| Err(Error::Invalid { field: "prompt", reason });
        let (Prompt::Numeric { text, .. }
        | Prompt::Press { text }
        | Prompt::Color { text, .. }
        | Prompt::Word { text, .. }) = self;
        let is_long = |text: &String| text.chars().count() > TEXT_CHARS_MAX;
        if is_long(text) {
            return invalid(format!(
                "the text is too long; give at most {TEXT_CHARS_MAX} characters"
            ));
        }
        match self {
            Prompt::Numeric { min, max, step, .. } => {
                // Each answer is counted, so there cannot be any number of them.
                let answers =
                    max.checked_sub(*min).filter(|span| (0..CHOICES_MAX as i64).contains(span));
                if answers.is_none() || *step < 1 {
                    return invalid(format!(
                        "give 1 to {CHOICES_MAX} numbers, and a step of at least 1"
                    ));
                }
                Ok(())
            }
            Prompt::Press { .. } => Ok(()),
            Prompt::Color { colors: choices, .. } | Prompt::Word { options: choices, .. } => {
                if choices.is_empty() || choices.len() > CHOICES_MAX || choices.iter().any(is_long)
                {
                    return invalid(format!(
                        "give 1 to {CHOICES_MAX} choices of at most {TEXT_CHARS_MAX} characters"
                    ));
                }
                Ok(())
            }
        }
    }
}

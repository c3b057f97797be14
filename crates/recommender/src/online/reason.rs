//! Why a post is on a list, in a word and in words.

use super::signals::{Signals, Weights};

/// Why a post is on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RecommendationReason))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The user often reacts to its challenge.
    Liked,
    /// Its challenge is like those that the user reacts to.
    Alike,
    /// The user takes part in challenges of its category.
    Category,
    /// The user follows its challenge.
    Followed,
    /// Many like it.
    Popular,
    /// Posts of its challenge are liked.
    GoodChallenge,
    /// It is new.
    New,
    /// The user has liked posts of its author.
    Author,
    /// The user reacts to posts of its category.
    Taste,
    /// It is from a category that the user does not know yet.
    Discovery,
    /// Nothing else is left that the user has not seen.
    SeenBefore,
}

impl Reason {
    /// The signal by which a post stands out most from what is usual among the candidates.
    pub(super) fn of(signals: &Signals, usual: &Signals, weights: &Weights) -> Reason {
        const REASONS: [Reason; super::N_SIGNALS] = [
            Reason::Liked,
            Reason::Alike,
            Reason::Category,
            Reason::Followed,
            Reason::Popular,
            Reason::GoodChallenge,
            Reason::New,
            Reason::Author,
            Reason::Taste,
        ];
        let worth = |at: usize| weights.0[at] * (signals[at] - usual[at]);
        let standing_out = (0..REASONS.len()).filter(|at| signals[*at] > 0.0 && worth(*at) > 0.0);
        let best = standing_out.max_by(|a, b| worth(*a).total_cmp(&worth(*b)));
        best.map_or(Reason::New, |best| REASONS[best])
    }

    /// The reason as a sentence to the user.
    pub fn text(self, challenge: u64, category: usize) -> String {
        self.text_in(&Words { group: "challenge", section: "category" }, challenge, category)
    }

    /// The reason as a sentence to the user, in an app's own words.
    pub fn text_in(self, words: &Words, challenge: u64, category: usize) -> String {
        let Words { group, section } = words;
        match self {
            Reason::Liked => format!("you often react to {group} {challenge}"),
            Reason::Alike => format!("{group} {challenge} pleases those who react as you do"),
            Reason::Category => format!("you take part in {group}s of {section} {category}"),
            Reason::Followed => format!("you follow {group} {challenge}"),
            Reason::Popular => "many like it".into(),
            Reason::GoodChallenge => format!("posts of {group} {challenge} are liked"),
            Reason::New => "it is new".into(),
            Reason::Author => "you liked others of its author".into(),
            Reason::Taste => format!("you often react to {section} {category}"),
            Reason::Discovery => format!("something else: {section} {category}"),
            Reason::SeenBefore => "you have seen everything else".into(),
        }
    }
}

/// What an app calls challenges and categories.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// A challenge.
    pub group: &'static str,
    /// A category.
    pub section: &'static str,
}

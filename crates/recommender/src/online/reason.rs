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
        ];
        let worth = |at: usize| weights.0[at] * (signals[at] - usual[at]);
        let standing_out = (0..REASONS.len()).filter(|at| signals[*at] > 0.0 && worth(*at) > 0.0);
        let best = standing_out.max_by(|a, b| worth(*a).total_cmp(&worth(*b)));
        best.map_or(Reason::New, |best| REASONS[best])
    }

    /// The reason as a sentence to the user.
    pub fn text(self, challenge: u64, category: usize) -> String {
        match self {
            Reason::Liked => format!("you often react to challenge {challenge}"),
            Reason::Alike => format!("challenge {challenge} pleases those who react as you do"),
            Reason::Category => format!("you take part in challenges of category {category}"),
            Reason::Followed => format!("you follow challenge {challenge}"),
            Reason::Popular => "many like it".into(),
            Reason::GoodChallenge => format!("posts of challenge {challenge} are liked"),
            Reason::New => "it is new".into(),
            Reason::Discovery => format!("something else: category {category}"),
            Reason::SeenBefore => "you have seen everything else".into(),
        }
    }
}

//! Why a post is, or is not, recommended to a user.

use super::{
    Reason,
    filter::Filter,
    reader::Reader,
    signals::{self, Context, SIGNAL_NAMES, Signals},
};
use crate::{error::Error, keys::UserId, random::Random, service::Recommender};

/// Why a post is, or is not, recommended to a user.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RecommendationExplanation))]
pub struct Explanation {
    /// Why the user will not see it; empty when nothing stands against it.
    pub against: Vec<&'static str>,
    /// Whether it is among the candidates of this moment.
    pub candidate: bool,
    /// What it is worth to the user, and what of that comes from which signal.
    pub score: f64,
    /// The signals, each with what it adds.
    pub signals: Vec<SignalShare>,
    /// The main reason, as a sentence.
    pub because: Option<String>,
}

/// What one signal adds to a post's worth.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignalShare {
    /// The signal.
    pub signal: &'static str,
    /// Its value for this post and user.
    pub value: f64,
    /// How much it counts.
    pub weight: f64,
}

impl Recommender {
    /// Tells why a post is, or is not, recommended to a user.
    ///
    /// # Errors
    /// When the post is not in the pool, or the store cannot be reached.
    pub async fn explain(&self, user: &UserId, post: u64) -> Result<Explanation, Error> {
        self.similar(post, 1).await?;
        let mut reader = self.reader(user).await?;
        let mut dice = Random::of_text(&format!("{user} {}", self.today()));
        let gathered = self.gather(user, &mut reader, &Filter::default(), &mut dice).await?;
        let found = gathered.candidates.iter().find(|candidate| candidate.post == post);
        let mut against = standing_against(&reader, post);
        let mut explanation = Explanation {
            against: Vec::new(),
            candidate: found.is_some(),
            score: 0.0,
            signals: Vec::new(),
            because: None,
        };
        if let Some(candidate) = found {
            let context = Context::new(&reader, &gathered);
            let signals = context.signals(candidate);
            explanation.score = gathered.weights.score(&signals);
            let shares = SIGNAL_NAMES.iter().zip(signals).zip(gathered.weights.0);
            explanation.signals = shares
                .map(|((signal, value), weight)| SignalShare { signal, value, weight })
                .collect();
            let all: Vec<Signals> =
                gathered.candidates.iter().map(|other| context.signals(other)).collect();
            let reason = Reason::of(&signals, &signals::usual(all.iter()), &gathered.weights);
            explanation.because = Some(reason.text(candidate.challenge, candidate.category));
            if candidate.author == user.as_str() {
                against.push("the user wrote it");
            }
            if reader.blocked.contains(&candidate.author) {
                against.push("the user blocked its author");
            }
        }
        explanation.against = against;
        Ok(explanation)
    }
}

fn standing_against(reader: &Reader, post: u64) -> Vec<&'static str> {
    let facts = [
        (reader.liked.contains(&post), "the user has reacted to it"),
        (reader.hidden.contains(&post), "the user hid it"),
        (
            reader.shown.contains_key(&post),
            "the user has seen it; it comes again when nothing else is left",
        ),
    ];
    facts.into_iter().filter(|(holds, _)| *holds).map(|(_, why)| why).collect()
}

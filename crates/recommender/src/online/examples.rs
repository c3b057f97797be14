//! What a user liked beside what the user could have liked, as lists would have seen it before.

use std::collections::HashSet;

use super::{
    filter::Filter,
    signals::{Context, Signals},
};
use crate::{
    error::Error,
    keys::{self, UserId},
    random::Random,
    rows::Reaction,
    service::Recommender,
};

/// The signals of posts that a user liked, and of others that the user could have liked.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) liked: Vec<Signals>,
    pub(crate) others: Vec<Signals>,
    /// Whether the user had reacted to anything before.
    pub(crate) is_known: bool,
}

impl Recommender {
    /// The signals of a user's candidates, with the likes that a load is about to count. Those that were told before the load are
    /// taken off what is known: nothing may be learned from itself.
    pub(crate) async fn examples(
        &self,
        user: &UserId,
        likes: &[Reaction],
    ) -> Result<Example, Error> {
        let mut reader = self.reader(user).await?;
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*self.store().place(&keys::counted(user))).arg(&[0, -1]);
        let counted: HashSet<u64> = cmd.query_async(&mut self.store().connection()).await?;
        let mut dice = Random::new(self.seed(user, &reader));
        let liked: HashSet<u64> = likes.iter().map(|like| like.post).collect();
        let told: HashSet<u64> =
            likes.iter().filter(|like| counted.contains(&like.id)).map(|like| like.post).collect();
        reader.liked.retain(|post| !told.contains(post));
        let mut gathered = self.gather(user, &mut reader, &Filter::default(), &mut dice).await?;
        for candidate in gathered.candidates.iter_mut().filter(|post| told.contains(&post.post)) {
            candidate.likes = candidate.likes.saturating_sub(1);
            if let Some(reactions) = reader.preferences.get_mut(&candidate.challenge) {
                *reactions -= 1.0;
            }
        }
        let context = Context::new(&reader, &gathered);
        let is_shown = |post: u64| reader.shown.is_empty() || reader.shown.contains_key(&post);
        let is_open = |post: u64| !reader.liked.contains(&post) && !reader.hidden.contains(&post);
        let mut example = Example {
            liked: Vec::new(),
            others: Vec::new(),
            is_known: !reader.preferred.is_empty(),
        };
        for candidate in &gathered.candidates {
            if liked.contains(&candidate.post) {
                example.liked.push(context.signals(candidate));
            } else if candidate.author != user.as_str()
                && is_open(candidate.post)
                && is_shown(candidate.post)
            {
                example.others.push(context.signals(candidate));
            }
        }
        Ok(example)
    }
}

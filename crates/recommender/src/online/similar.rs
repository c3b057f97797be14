//! Posts like a given one: of its challenge, and of challenges that please the same users.

use crate::{
    error::Error,
    keys::{self, ChallengeId},
    rows::Challenge,
    service::Recommender,
};

/// A post like another one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimilarPost))]
pub struct Similar {
    /// The post.
    pub post_id: u64,
    /// Its challenge.
    pub challenge_id: u64,
    /// How much its challenge is like that of the other post, from 0 to 1.
    pub similarity: f64,
}

impl Recommender {
    /// The posts most like one of the pool, the newest first within each challenge.
    ///
    /// # Errors
    /// When the post is not in the pool, or the store cannot be reached.
    pub async fn similar(&self, post: u64, limit: usize) -> Result<Vec<Similar>, Error> {
        let challenges = self.alike(post).await?;
        let mut pipe = redis::pipe();
        for id in challenges.iter().filter_map(|(id, _)| ChallengeId::new(*id).ok()) {
            let last = i64::try_from(limit).unwrap_or(i64::MAX);
            let posts = self.store().place(&keys::challenge_posts(&id)).into_owned();
            pipe.cmd("ZREVRANGE").arg(posts).arg(0).arg(last);
        }
        let lists: Vec<Vec<u64>> = pipe.query_async(&mut self.store().connection()).await?;
        let posts =
            challenges.into_iter().zip(lists).flat_map(|((challenge_id, similarity), posts)| {
                posts.into_iter().map(move |post_id| Similar { post_id, challenge_id, similarity })
            });
        Ok(posts.filter(|similar| similar.post_id != post).take(limit).collect())
    }

    /// The challenge of a post and those like it, as far as everybody may see them.
    async fn alike(&self, post: u64) -> Result<Vec<(u64, f64)>, Error> {
        let mut connection = self.store().connection();
        let place = |key: keyrack_keys::Key| self.store().place(&key).into_owned();
        let mut cmd = redis::cmd("HGET");
        cmd.arg(place(keys::post_challenges())).arg(post);
        let challenge: Option<u64> = cmd.query_async(&mut connection).await?;
        let challenge = challenge.ok_or(Error::NoSuchPost { post })?;
        let mut cmd = redis::cmd("HGET");
        cmd.arg(place(keys::neighbours())).arg(challenge);
        let near: Option<String> = cmd.query_async(&mut connection).await?;
        let near: Vec<(u64, f64)> =
            near.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let mut challenges = vec![(challenge, 1.0)];
        challenges.extend(near.into_iter().filter(|(id, _)| ChallengeId::new(*id).is_ok()));
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(place(keys::challenges()));
        for (id, _) in &challenges {
            cmd.arg(id);
        }
        let infos: Vec<Option<String>> = cmd.query_async(&mut connection).await?;
        let is_public = |(id, _): &(u64, f64), info: Option<String>| {
            let known = info.and_then(|text| Challenge::from_text(*id, &text));
            known.is_some_and(|challenge| challenge.public)
        };
        let open = challenges.into_iter().zip(infos);
        let open = open.filter_map(|(near, info)| is_public(&near, info).then_some(near));
        let open: Vec<(u64, f64)> = open.collect();
        match open.first() {
            Some((first, _)) if *first == challenge => Ok(open),
            _ => Err(Error::NoSuchPost { post }),
        }
    }
}

//! What is told at once instead of being found by the next load, and what users do with what they are shown.
//!
//! The load finds the same rows later and counts nothing twice.

use std::collections::BTreeSet;

use keyrack_store::{Script, script};

use crate::{
    day,
    error::Error,
    keys::{self, UserId},
    nightly::{CountedReaction, PostEntry},
    rows::{CATEGORIES_MAX, Challenge, ID_MAX, Member, Post, Reaction, numbers, numbers_text},
    service::Recommender,
};

static SHOWN: Script = script!("live/shown.lua");
static JOIN: Script = script!("live/join.lua");

/// The most posts that can be told as shown at once: no screen has more.
pub const SHOWN_MAX: usize = 1000;

/// A challenge as its app describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChallenge {
    /// Its id.
    pub id: u64,
    /// Category code, from 0.
    pub category: usize,
    /// Whether everybody may see it.
    pub public: bool,
    /// Planned length in days.
    pub duration: u32,
    /// When it was created, as the database writes it; now if nothing is said.
    pub created: Option<String>,
}

impl Recommender {
    /// What is planned for a challenge: when it ends follows from when it was created.
    ///
    /// # Errors
    /// When that is no moment, or the calendar does not reach so far.
    pub fn planned(&self, new: &NewChallenge) -> Result<Challenge, Error> {
        let invalid = |what: String| Error::Invalid { what };
        let zones = self.zones();
        let created = match &new.created {
            None => self.today(),
            Some(text) => {
                day::day_of_text(text, &zones.database, &zones.users).ok_or_else(|| {
                    invalid(format!(
                        "\"{text}\" is no moment; write it as in \"2024-01-12 09:00:00\""
                    ))
                })?
            }
        };
        let finished = day::days_later(created, new.duration).ok_or_else(|| {
            invalid(format!("a challenge cannot last for {} days; use fewer", new.duration))
        })?;
        let NewChallenge { id, category, public, duration, .. } = *new;
        Ok(Challenge { id, category, public, duration, finished })
    }

    /// Tells of a new or changed challenge.
    ///
    /// # Errors
    /// When its category is none of those there are, or the store cannot be reached.
    pub async fn add_challenge(&self, challenge: &Challenge) -> Result<(), Error> {
        check_ids(&[challenge.id])?;
        let categories = self.parameters().await?.categories;
        if challenge.category >= categories {
            let what =
                format!("there is no category {}; use 0 to {}", challenge.category, categories - 1);
            return Err(Error::Invalid { what });
        }
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(&keys::challenges()))
            .arg(challenge.id)
            .arg(challenge.to_text());
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Tells of a new member of a challenge; says whether the challenge is known.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn add_member(&self, member: &Member) -> Result<bool, Error> {
        let Some(challenge) = self.challenge(member.challenge).await? else { return Ok(false) };
        let call = JOIN
            .call(self.store())
            .key("contributions", &keys::contributions())
            .arg("user", member.user.as_str())
            .arg("place", challenge.category + 1)
            .arg("days", challenge.duration)
            .arg("nothing", numbers_text(&[0; CATEGORIES_MAX]));
        call.run::<()>().await?;
        Ok(true)
    }

    /// Tells of a new post; says whether it may be recommended. The first load has to have run.
    ///
    /// # Errors
    /// When an id is too large, or the store cannot be reached.
    pub async fn add_post(&self, post: Post) -> Result<bool, Error> {
        check_ids(&[post.id, post.challenge])?;
        let parameters = self.parameters().await?;
        let Some(day) = parameters.day_index else { return Ok(false) };
        let challenge = self.challenge(post.challenge).await?;
        let Some(challenge) = challenge.filter(|challenge| challenge.public) else {
            return Ok(false);
        };
        let going_on = challenge.is_going_on(self.today(), parameters.max_post_age);
        if !going_on
            || challenge.category >= CATEGORIES_MAX
            || post.is_break(&self.settings().break_text)
        {
            return Ok(false);
        }
        self.put_post(PostEntry { post, category: challenge.category, day }).await?;
        Ok(true)
    }

    /// Tells that a post was deleted.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn remove_post(&self, post: u64) -> Result<(), Error> {
        self.remove_posts(&[post.to_string()]).await
    }

    /// Tells of a reaction, by its id in the log; says whether its post may be recommended, so that it counts.
    ///
    /// # Errors
    /// When an id is too large, or the store cannot be reached.
    pub async fn add_reaction(&self, reaction: Reaction) -> Result<bool, Error> {
        check_ids(&[reaction.id, reaction.post])?;
        let mut pipe = redis::pipe();
        let place = |key| self.store().place(&key).into_owned();
        pipe.cmd("HGET").arg(place(keys::post_challenges())).arg(reaction.post);
        pipe.cmd("HGET").arg(place(keys::watermarks())).arg("reaction");
        let (challenge, mark): (Option<u64>, Option<u64>) =
            pipe.query_async(&mut self.store().connection()).await?;
        let Some(challenge) = challenge else { return Ok(false) };
        let counted = [CountedReaction { reaction, challenge }];
        let user = &counted[0].reaction.user;
        self.enter_users(std::iter::once(user)).await?;
        self.count_for_user(user, mark.unwrap_or(0), &[&counted[0]]).await?;
        self.count_for_posts(None, &counted).await?;
        Ok(true)
    }

    /// Tells that a user was shown posts: they come again only when there is nothing else.
    ///
    /// # Errors
    /// When there are too many, or the store cannot be reached.
    pub async fn shown(&self, user: &UserId, posts: &[u64]) -> Result<(), Error> {
        if posts.len() > SHOWN_MAX {
            let what = format!(
                "{} posts are more than can be shown at once; tell at most {SHOWN_MAX}",
                posts.len()
            );
            return Err(Error::Invalid { what });
        }
        check_ids(posts)?;
        let posts: BTreeSet<u64> = posts.iter().copied().collect();
        if posts.is_empty() {
            return Ok(());
        }
        self.enter_users(std::iter::once(user)).await?;
        let now = self.store().now_ms();
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(&*self.store().place(&keys::shown_posts(user)));
        for post in &posts {
            cmd.arg(now).arg(post);
        }
        cmd.query_async::<()>(&mut self.store().connection()).await?;
        let call = SHOWN
            .call(self.store())
            .key("pair", &keys::post_challenges())
            .key("showings", &keys::showings())
            .args("posts", posts.into_iter().collect::<Vec<u64>>());
        Ok(call.run().await?)
    }

    /// Never shows a post to a user again.
    ///
    /// # Errors
    /// When the id is too large, or the store cannot be reached.
    pub async fn hide(&self, user: &UserId, post: u64) -> Result<(), Error> {
        check_ids(&[post])?;
        self.enter_users(std::iter::once(user)).await?;
        let mut cmd = redis::cmd("SADD");
        cmd.arg(&*self.store().place(&keys::hidden_posts(user))).arg(post);
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Shows a user no posts of another one, or shows them again.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn block(&self, user: &UserId, author: &UserId, blocked: bool) -> Result<(), Error> {
        let mut cmd = redis::cmd(if blocked { "SADD" } else { "SREM" });
        cmd.arg(&*self.store().place(&keys::blocked_users(user))).arg(author.as_str());
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// What is known about a challenge that is going on.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn challenge(&self, id: u64) -> Result<Option<Challenge>, Error> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store().place(&keys::challenges())).arg(id);
        let text: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(text.and_then(|text| Challenge::from_text(id, &text)))
    }

    /// The days a user has given to each category, from code 0 on.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn contribution(&self, user: &UserId) -> Result<Vec<u64>, Error> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.store().place(&keys::contributions())).arg(user.as_str());
        let text: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(text.and_then(|text| numbers(&text)).unwrap_or_else(|| vec![0; CATEGORIES_MAX]))
    }
}

fn check_ids(ids: &[u64]) -> Result<(), Error> {
    match ids.iter().find(|id| **id > ID_MAX) {
        None => Ok(()),
        Some(id) => {
            let what = format!("{id} cannot be an id; the largest is {ID_MAX}");
            Err(Error::Invalid { what })
        }
    }
}

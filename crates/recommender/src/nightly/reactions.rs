//! New reactions: for the users who reacted, each user's in one script, and for the posts, with the watermark.
//!
//! A user's keys may lie elsewhere on a cluster than the watermark. So each user remembers which reactions beyond it are counted,
//! and a page that is repeated because the load was cut off counts nothing twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::try_join_all;
use keyrack_store::{Script, script};

use super::{Challenges, Load, PAGE, Pool, USERS_AT_ONCE, check::last_id};
use crate::{
    error::Error,
    keys::{self, UserId},
    rows::{Post, Reaction},
    service::Recommender,
    source::{From, Source, Table},
};

static COUNT: Script = script!("count.lua");
static REACTIONS: Script = script!("reactions.lua");

/// A reaction, and the challenge of its post.
#[derive(Debug)]
pub(crate) struct CountedReaction {
    pub(crate) reaction: Reaction,
    pub(crate) challenge: u64,
}

impl Load<'_> {
    /// Reads the reactions from where the last load ended.
    pub(super) async fn reactions(
        &mut self,
        source: &mut impl Source,
        pool: &Pool,
        challenges: &Challenges,
    ) -> Result<(), Error> {
        let mut mark = self.watermark("reaction").await?.unwrap_or(0);
        let (length, of) = self.lengths(source, Table::Reactions).await?;
        let mut done = 0;
        loop {
            let page = source.page(Table::Reactions, From::Id(mark), PAGE).await?;
            let new = last_id(Table::Reactions, mark, &page)?;
            let reactions: Vec<Reaction> = page.iter().filter_map(Reaction::read).collect();
            self.done.skipped += (page.len() - reactions.len()) as u64;
            let others = self.challenges_of_others(source, &reactions, pool, challenges).await?;
            let (mut counted, mut tastes) = (Vec::new(), Vec::new());
            for reaction in reactions {
                match (pool.get(&reaction.post), others.get(&reaction.post)) {
                    (Some(&challenge), _) => counted.push(CountedReaction { reaction, challenge }),
                    (None, Some(&challenge)) => {
                        tastes.push(CountedReaction { reaction, challenge })
                    }
                    // Private, a break, or of a challenge that is over.
                    (None, None) => {}
                }
            }
            self.for_users(mark, counted.iter().chain(&tastes)).await?;
            done += page.len() as u64;
            self.done.reactions += counted.len() as u64;
            self.service.count_for_posts(Some((mark, new, length)), &counted).await?;
            mark = new;
            self.wrote("reactions", done, Some(of.max(done)))?;
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// The challenges of posts that somebody reacted to and that have left the pool, or were too old to come into it.
    ///
    /// What a user likes is learned from them too: after a rebuild it is what it was before.
    async fn challenges_of_others(
        &self,
        source: &mut impl Source,
        reactions: &[Reaction],
        pool: &Pool,
        challenges: &Challenges,
    ) -> Result<HashMap<u64, u64>, Error> {
        let posts: BTreeSet<u64> = reactions.iter().map(|reaction| reaction.post).collect();
        let posts: Vec<u64> = posts.into_iter().filter(|post| !pool.contains_key(post)).collect();
        if posts.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = source.posts(&posts).await?;
        let (today, age) = (self.today, self.parameters.max_post_age);
        let found = rows.iter().filter_map(|row| {
            let post = Post::read(row, &self.zones)?;
            let challenge = challenges.get(&post.challenge)?;
            let counts = challenge.public
                && challenge.is_going_on(today, age)
                && !post.is_break(&self.service.settings().break_text);
            counts.then_some((post.id, challenge.id))
        });
        Ok(found.collect())
    }

    async fn for_users<'c>(
        &mut self,
        mark: u64,
        counted: impl Iterator<Item = &'c CountedReaction>,
    ) -> Result<(), Error> {
        let mut of_users: BTreeMap<&UserId, Vec<&CountedReaction>> = BTreeMap::new();
        for one in counted {
            of_users.entry(&one.reaction.user).or_default().push(one);
        }
        if of_users.is_empty() {
            return Ok(());
        }
        self.service.enter_users(of_users.keys().copied()).await?;
        self.wrote("reactions", 0, None)?;
        let of_users: Vec<(&UserId, Vec<&CountedReaction>)> = of_users.into_iter().collect();
        for some in of_users.chunks(USERS_AT_ONCE) {
            let counting = some
                .iter()
                .map(|(user, reactions)| self.service.count_for_user(user, mark, reactions));
            try_join_all(counting).await?;
            self.wrote("reactions", 0, None)?;
        }
        Ok(())
    }
}

impl Recommender {
    /// Writes down that users have keys of their own, which must be known before there are any.
    pub(crate) async fn enter_users(
        &self,
        users: impl Iterator<Item = &UserId>,
    ) -> Result<(), Error> {
        let mut cmd = redis::cmd("SADD");
        cmd.arg(&*self.store().place(&keys::users()));
        for user in users {
            cmd.arg(user.as_str());
        }
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// Counts reactions of a user beyond the watermark, those not counted yet.
    pub(crate) async fn count_for_user(
        &self,
        user: &UserId,
        mark: u64,
        reactions: &[&CountedReaction],
    ) -> Result<u64, Error> {
        let values = reactions.iter().flat_map(|CountedReaction { reaction, challenge }| {
            [reaction.id, reaction.post, *challenge, u64::from(reaction.cancelled)]
        });
        let call = COUNT
            .call(self.store())
            .key("liked", &keys::liked_posts(user))
            .key("preferences", &keys::preferences(user))
            .key("counted", &keys::counted(user))
            .arg("mark", mark)
            .args("reactions", values.collect::<Vec<u64>>());
        Ok(call.run().await?)
    }

    /// Counts reactions for their posts. `load` is the watermark seen, the new one and the length of the table; without it the
    /// reactions are told before a load has read them.
    pub(crate) async fn count_for_posts(
        &self,
        load: Option<(u64, u64, u64)>,
        counted: &[CountedReaction],
    ) -> Result<(), Error> {
        let values = counted.iter().flat_map(|CountedReaction { reaction, .. }| {
            [reaction.id, reaction.post, u64::from(reaction.cancelled)]
        });
        let (_, mark, length) = load.unwrap_or_default();
        let call = REACTIONS
            .call(self.store())
            .key("watermarks", &keys::watermarks())
            .key("lengths", &keys::table_lengths())
            .key("popularity", &keys::popularity())
            .key("told", &keys::told_reactions())
            .arg("seen", load.map(|(seen, ..)| seen.to_string()).unwrap_or_default())
            .arg("mark", mark)
            .arg("length", length)
            .args("reactions", values.collect::<Vec<u64>>());
        Ok(call.run().await?)
    }
}

//! New reactions: for the users who reacted, each user's in one script, and for the posts, with the watermark.
//!
//! A user's keys may lie elsewhere on a cluster than the watermark. So each user remembers which reactions beyond it are counted,
//! and a page that is repeated because the load was cut off counts nothing twice.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use keyrack_store::{Script, script};

use super::{Load, PAGE, Pool, USERS_AT_ONCE};
use crate::{
    error::Error,
    keys::{self, UserId},
    rows::{self, Reaction},
    service::Recommender,
    source::{From, Source, Table},
};

static COUNT: Script = script!("count.lua");
static REACTIONS: Script = script!("reactions.lua");

/// A reaction to a post of the pool, and the post's challenge.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) reaction: Reaction,
    pub(crate) challenge: u64,
}

impl Load<'_> {
    /// Reads the reactions from where the last load ended.
    pub(super) async fn reactions(
        &mut self,
        source: &mut impl Source,
        pool: &Pool,
    ) -> Result<(), Error> {
        let mut mark = self.watermark("reaction").await?.unwrap_or(0);
        let (length, of) = self.lengths(source, Table::Reactions).await?;
        let mut done = 0;
        loop {
            let page = source.page(Table::Reactions, From::Id(mark), PAGE).await?;
            let new = page.iter().filter_map(rows::id_of).max().unwrap_or(mark);
            let mut counted = Vec::new();
            for row in &page {
                let reaction = Reaction::read(row);
                let challenge = reaction.as_ref().and_then(|reaction| pool.get(&reaction.post));
                match (reaction, challenge) {
                    (Some(reaction), Some(&challenge)) => {
                        counted.push(Counted { reaction, challenge })
                    }
                    (None, _) => self.done.skipped += 1,
                    // Private, a break, or too old to be recommended.
                    (Some(_), None) => {}
                }
            }
            self.for_users(mark, &counted).await?;
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

    async fn for_users(&mut self, mark: u64, counted: &[Counted]) -> Result<(), Error> {
        let mut of_users: BTreeMap<&UserId, Vec<&Counted>> = BTreeMap::new();
        for one in counted {
            of_users.entry(&one.reaction.user).or_default().push(one);
        }
        if of_users.is_empty() {
            return Ok(());
        }
        self.service.enter_users(of_users.keys().copied()).await?;
        self.wrote("reactions", 0, None)?;
        let of_users: Vec<(&UserId, Vec<&Counted>)> = of_users.into_iter().collect();
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
        reactions: &[&Counted],
    ) -> Result<u64, Error> {
        let values = reactions.iter().flat_map(|Counted { reaction, challenge }| {
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
        counted: &[Counted],
    ) -> Result<(), Error> {
        let values = counted.iter().flat_map(|Counted { reaction, .. }| {
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

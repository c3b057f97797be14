//! A walk through the keys of all users: what can no longer be recommended leaves them, what users follow enters, and their
//! preferences tell which challenges are alike.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures_util::future::try_join_all;
use keyrack_store::{Script, joined, script};

use super::{Challenges, Load, PAGE, Pool, USERS_AT_ONCE, neighbours};
use crate::{
    error::Error,
    keys::{self, UserId},
    rows::Member,
    service::{Recommender, SCAN_COUNT},
    source::{From, Source, Table},
};

static TIDY: Script = script!("tidy.lua");

/// Who follows which challenges.
type Follows = BTreeMap<UserId, BTreeSet<u64>>;

/// What the keys of users may hold.
struct ExpectedUsers<'a> {
    mark: u64,
    pool: &'a Pool,
    going_on: &'a HashSet<u64>,
    follows: &'a Follows,
}

/// A user's keys as they are.
struct StoredUser {
    liked: Vec<u64>,
    preferences: Vec<(u64, f64)>,
    follows: BTreeSet<u64>,
    shown: Vec<u64>,
    hidden: Vec<u64>,
    counted: u64,
}

impl Load<'_> {
    /// Goes through all users, and makes the neighbours of challenges anew.
    pub(super) async fn tidy(
        &mut self,
        source: &mut impl Source,
        pool: &Pool,
        challenges: &Challenges,
    ) -> Result<(), Error> {
        let (today, age) = (self.today, self.parameters.max_post_age);
        let going_on: HashSet<u64> = challenges
            .values()
            .filter(|challenge| challenge.is_going_on(today, age))
            .map(|challenge| challenge.id)
            .collect();
        let (follows, length) = self.follows(source, &going_on).await?;
        let followers: Vec<&UserId> = follows.keys().collect();
        for some in followers.chunks(PAGE) {
            self.service.enter_users(some.iter().copied()).await?;
            self.wrote("users", 0, None)?;
        }
        let mark = self.watermark("reaction").await?.unwrap_or(0);
        let wanted = ExpectedUsers { mark, pool, going_on: &going_on, follows: &follows };
        let users = self.service.users().await?;
        let of = Some(users.len() as u64);
        let mut tastes = Vec::with_capacity(users.len());
        for some in users.chunks(USERS_AT_ONCE) {
            let tidied =
                try_join_all(some.iter().map(|user| self.service.tidy_user(user, &wanted)));
            let tidied = tidied.await?;
            tastes.extend(tidied.into_iter().map(|preferences| {
                let counts = |(challenge, liking): &(u64, f64)| {
                    *liking > 0.0 && going_on.contains(challenge)
                };
                preferences.into_iter().filter(counts).collect::<Vec<_>>()
            }));
            self.wrote("users", tastes.len() as u64, of)?;
        }
        // It takes up to seconds, in which other tasks of the thread must go on.
        let model = tokio::task::spawn_blocking(move || neighbours::neighbours(&tastes));
        let wanted = joined(model.await).await;
        let table = Some((Table::Tracking, length));
        self.replace(&keys::neighbours(), &wanted, table, "neighbours").await
    }

    async fn follows(
        &mut self,
        source: &mut impl Source,
        going_on: &HashSet<u64>,
    ) -> Result<(Follows, u64), Error> {
        let mut follows = Follows::new();
        let mut length = 0;
        loop {
            let page = source.page(Table::Tracking, From::Row(length), PAGE).await?;
            length += page.len() as u64;
            for row in &page {
                let Some((follower, does_follow)) = Member::read_follower(row) else {
                    self.done.skipped += 1;
                    continue;
                };
                if does_follow && going_on.contains(&follower.challenge) {
                    follows.entry(follower.user).or_default().insert(follower.challenge);
                }
            }
            if page.len() < PAGE {
                return Ok((follows, length));
            }
        }
    }
}

impl Recommender {
    /// Everybody who has keys of their own, in a stable order.
    pub(crate) async fn users(&self) -> Result<Vec<UserId>, Error> {
        let mut users = BTreeSet::new();
        let mut cursor = 0u64;
        loop {
            let mut scan = redis::cmd("SSCAN");
            scan.arg(&*self.store().place(&keys::users())).arg(cursor).arg("COUNT").arg(SCAN_COUNT);
            let (next, some): (u64, Vec<String>) =
                scan.query_async(&mut self.store().connection()).await?;
            users.extend(some.into_iter().filter_map(|user| UserId::new(user).ok()));
            if next == 0 {
                return Ok(users.into_iter().collect());
            }
            cursor = next;
        }
    }

    async fn present(&self, user: &UserId) -> Result<StoredUser, Error> {
        let place = |key: keyrack_keys::Key| self.store().place(&key).into_owned();
        let mut pipe = redis::pipe();
        pipe.cmd("SMEMBERS").arg(place(keys::liked_posts(user)));
        pipe.cmd("ZRANGE").arg(place(keys::preferences(user))).arg(&[0, -1]).arg("WITHSCORES");
        pipe.cmd("SMEMBERS").arg(place(keys::follows(user)));
        pipe.cmd("ZRANGE").arg(place(keys::shown_posts(user))).arg(&[0, -1]);
        pipe.cmd("SMEMBERS").arg(place(keys::hidden_posts(user)));
        pipe.cmd("ZCARD").arg(place(keys::counted(user)));
        let (liked, preferences, follows, shown, hidden, counted) =
            pipe.query_async(&mut self.store().connection()).await?;
        Ok(StoredUser { liked, preferences, follows, shown, hidden, counted })
    }

    /// Brings a user's keys up to date; returns the preferences as they were.
    async fn tidy_user(
        &self,
        user: &UserId,
        wanted: &ExpectedUsers<'_>,
    ) -> Result<Vec<(u64, f64)>, Error> {
        let present = self.present(user).await?;
        let nothing = BTreeSet::new();
        let follows = wanted.follows.get(user).unwrap_or(&nothing);
        let posts = [&present.liked, &present.shown, &present.hidden].into_iter().flatten();
        let posts: BTreeSet<u64> =
            posts.copied().filter(|post| !wanted.pool.contains_key(post)).collect();
        let challenges = present.preferences.iter().map(|(challenge, _)| *challenge);
        let challenges: Vec<u64> =
            challenges.filter(|challenge| !wanted.going_on.contains(challenge)).collect();
        let unfollowed: Vec<u64> = present.follows.difference(follows).copied().collect();
        let followed: Vec<u64> = follows.difference(&present.follows).copied().collect();
        let changes = posts.len() + challenges.len() + unfollowed.len() + followed.len();
        if changes == 0 && present.counted == 0 {
            return Ok(present.preferences);
        }
        let (n_posts, n_challenges, n_unfollowed) =
            (posts.len(), challenges.len(), unfollowed.len());
        let values = posts.into_iter().chain(challenges).chain(unfollowed).chain(followed);
        let call = TIDY
            .call(self.store())
            .key("liked", &keys::liked_posts(user))
            .key("preferences", &keys::preferences(user))
            .key("counted", &keys::counted(user))
            .key("follows", &keys::follows(user))
            .key("shown", &keys::shown_posts(user))
            .key("hidden", &keys::hidden_posts(user))
            .arg("mark", wanted.mark)
            .arg("n_posts", n_posts)
            .arg("n_challenges", n_challenges)
            .arg("n_unfollowed", n_unfollowed)
            .args("values", values.collect::<Vec<u64>>());
        call.run::<()>().await?;
        Ok(present.preferences)
    }
}

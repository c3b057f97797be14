//! New posts come into the pool; posts that were deleted, moved or made private leave it or move.

use std::collections::{BTreeMap, HashMap, HashSet};

use keyrack_store::{Script, script};

use super::{Challenges, Load, PAGE, Pool, check::last_id};
use crate::{
    day,
    error::Error,
    keys,
    rows::{self, Challenge, Post, numbers, numbers_text},
    service::Recommender,
    source::{From, Row, Source, Table},
};

static POSTS: Script = script!("posts.lua", "../include/challenge_posts.lua");

/// A post as it enters the pool.
#[derive(Debug)]
pub(crate) struct PostEntry {
    pub(crate) post: Post,
    pub(crate) category: usize,
    pub(crate) day: u64,
}

/// How far the watermark moves with a page.
struct Watermark {
    seen: u64,
    new: u64,
    length: u64,
    filling: bool,
}

/// What a page of posts means for the pool.
#[derive(Default)]
struct Changes {
    entries: Vec<PostEntry>,
    leave: Vec<String>,
    /// Users and their new numbers of breaks.
    breaks: BTreeMap<String, Vec<u64>>,
}

impl Load<'_> {
    /// Reads the posts from the oldest of the pool on, and returns the pool as it is then.
    pub(super) async fn posts(
        &mut self,
        source: &mut impl Source,
        challenges: &Challenges,
    ) -> Result<Pool, Error> {
        let mark = self.watermark("post").await?;
        let first_load = mark.is_none() || self.watermark("filling").await?.is_some();
        let mut mark = mark.unwrap_or(0);
        let mut pool = self.service.pool().await?;
        let categories = self.service.categories_of_posts().await?;
        let mut gone: HashSet<u64> = pool.keys().copied().filter(|post| *post <= mark).collect();
        let mut breaks = self.service.read_map(&keys::breaks()).await?;
        let (length, new) = self.lengths(source, Table::Posts).await?;
        let of = gone.len() as u64 + new;
        let mut after = gone.iter().min().map_or(mark, |oldest| oldest.saturating_sub(1).min(mark));
        let mut done = 0;
        loop {
            let page = source.page(Table::Posts, From::Id(after), PAGE).await?;
            after = last_id(Table::Posts, after, &page)?;
            done += page.len() as u64;
            let mut changes = Changes::default();
            for row in &page {
                let before = PreviousRow {
                    mark,
                    first_load,
                    pool: &pool,
                    categories: &categories,
                    breaks: &breaks,
                };
                self.look_at(row, challenges, &before, &mut changes);
                if let Some(id) = rows::id_of(row) {
                    gone.remove(&id);
                }
            }
            self.remove(&changes.leave, done).await?;
            let new = after.max(mark);
            let filling = first_load && page.len() == PAGE;
            let moved = Watermark { seen: mark, new, length, filling };
            self.service.put_posts(Some(moved), &changes).await?;
            mark = new;
            self.done.removed += changes.leave.len() as u64;
            let left: HashSet<u64> =
                changes.leave.iter().filter_map(|post| post.parse().ok()).collect();
            pool.retain(|post, _| !left.contains(post));
            pool.extend(changes.entries.iter().map(|entry| (entry.post.id, entry.post.challenge)));
            breaks.extend(changes.breaks.iter().map(|(user, n)| (user.clone(), numbers_text(n))));
            self.wrote("posts", done, Some(of.max(done)))?;
            if page.len() < PAGE {
                break;
            }
        }
        let gone: Vec<String> = gone
            .into_iter()
            .filter(|post| pool.remove(post).is_some())
            .map(|post| post.to_string())
            .collect();
        self.remove(&gone, done).await?;
        self.done.removed += gone.len() as u64;
        Ok(pool)
    }

    /// Takes posts out of the pool, and tells of it.
    async fn remove(&mut self, posts: &[String], done: u64) -> Result<(), Error> {
        for some in posts.chunks(PAGE) {
            self.service.remove_posts(some).await?;
            self.wrote("posts", done, None)?;
        }
        Ok(())
    }

    /// Finds out what a row means for the pool.
    fn look_at(
        &mut self,
        row: &Row,
        challenges: &Challenges,
        before: &PreviousRow<'_>,
        changes: &mut Changes,
    ) {
        let Some(post) = Post::read(row, &self.zones) else {
            self.done.skipped += 1;
            return;
        };
        let is_new = post.id > before.mark;
        let known = before.pool.get(&post.id);
        let challenge = challenges.get(&post.challenge);
        let is_break = post.is_break(&self.service.settings().break_text);
        if is_new
            && is_break
            && let Some(challenge) = challenge
        {
            self.done.breaks += 1;
            let user = post.author.to_string();
            let so_far = || before.breaks.get(&user).and_then(|text| numbers(text));
            let breaks = changes
                .breaks
                .entry(user.clone())
                .or_insert_with(|| so_far().unwrap_or_else(|| vec![0; rows::CATEGORIES_MAX]));
            breaks[challenge.category] += 1;
        }
        let going_on = challenge
            .filter(|challenge| challenge.is_going_on(self.today, self.parameters.max_post_age));
        let may_be_seen = going_on.filter(|challenge| challenge.public && !is_break);
        match (may_be_seen, known) {
            (Some(challenge), Some(known))
                if *known == challenge.id
                    && before
                        .categories
                        .get(&post.id)
                        .is_none_or(|at| *at == challenge.category) => {}
            // It moved to another challenge, or its challenge to another category. It keeps its day.
            (Some(challenge), Some(_)) => changes.entries.push(self.entry(post, challenge, 0)),
            (Some(challenge), None) if is_new => match self.age_of(&post, before.first_load) {
                Some(age) if age < self.parameters.ring() => {
                    self.done.posts += 1;
                    changes.entries.push(self.entry(post, challenge, age));
                }
                Some(_) => {}
                None => self.done.skipped += 1,
            },
            (Some(_), None) => {}
            (None, Some(_)) => changes.leave.push(post.id.to_string()),
            (None, None) if is_new && challenge.is_none() => self.done.skipped += 1,
            (None, None) if is_new && !is_break => self.done.private += 1,
            (None, None) => {}
        }
    }

    fn entry(&self, post: Post, challenge: &Challenge, age: u64) -> PostEntry {
        let day = day::slot(self.done.day_index, age, self.parameters.ring());
        PostEntry { post, category: challenge.category, day }
    }

    /// How many days old a post is for the pool; none if nobody knows.
    ///
    /// A post that came since the last load is new, unless it has a day that is none.
    fn age_of(&self, post: &Post, first_load: bool) -> Option<u64> {
        match post.day {
            _ if post.has_bad_day => None,
            day if first_load => {
                Some(u64::try_from(day::days_between(day?, self.today)).unwrap_or(0))
            }
            _ => Some(0),
        }
    }

    /// How far a table was read by earlier loads.
    pub(super) async fn watermark(&self, table: &str) -> Result<Option<u64>, Error> {
        let mut cmd = redis::cmd("HGET");
        cmd.arg(&*self.service.store().place(&keys::watermarks())).arg(table);
        Ok(cmd.query_async(&mut self.service.store().connection()).await?)
    }
}

/// What was known before a row was looked at.
struct PreviousRow<'a> {
    mark: u64,
    first_load: bool,
    pool: &'a Pool,
    /// In which category each post of the pool is.
    categories: &'a HashMap<u64, usize>,
    breaks: &'a HashMap<String, String>,
}

impl Recommender {
    /// The challenges of all posts that may be recommended.
    pub(crate) async fn pool(&self) -> Result<Pool, Error> {
        let pairs = self.read_map(&keys::post_challenges()).await?;
        let number = |(post, challenge): (String, String)| {
            Some((post.parse().ok()?, challenge.parse().ok()?))
        };
        Ok(pairs.into_iter().filter_map(number).collect())
    }

    /// In which category each post of the pool is.
    async fn categories_of_posts(&self) -> Result<HashMap<u64, usize>, Error> {
        let mut pipe = redis::pipe();
        for key in Recommender::category_keys() {
            pipe.cmd("ZRANGE").arg(&*self.store().place(&key)).arg(&[0, -1]);
        }
        let posts: Vec<Vec<String>> = pipe.query_async(&mut self.store().connection()).await?;
        let posts = posts.into_iter().enumerate();
        let of = |(category, posts): (usize, Vec<String>)| {
            posts.into_iter().filter_map(move |post| Some((post.parse().ok()?, category)))
        };
        Ok(posts.flat_map(of).collect())
    }

    /// Puts a post into the pool before the load has read it.
    pub(crate) async fn put_post(&self, entry: PostEntry) -> Result<(), Error> {
        self.put_posts(None, &Changes { entries: vec![entry], ..Changes::default() }).await
    }

    async fn put_posts(&self, mark: Option<Watermark>, changes: &Changes) -> Result<(), Error> {
        let mut values = Vec::new();
        for (user, breaks) in &changes.breaks {
            values.extend([user.clone(), numbers_text(breaks)]);
        }
        for PostEntry { post, category, day } in &changes.entries {
            values.extend([post.id, post.challenge, *category as u64].map(|n| n.to_string()));
            values.extend([post.author.to_string(), day.to_string()]);
        }
        let call = POSTS
            .call(self.store())
            .key("watermarks", &keys::watermarks())
            .key("lengths", &keys::table_lengths())
            .key("breaks", &keys::breaks())
            .key("pair", &keys::post_challenges())
            .key("authors", &keys::authors())
            .keys("categories", &Recommender::category_keys())
            .arg("seen", mark.as_ref().map(|mark| mark.seen.to_string()).unwrap_or_default())
            .arg("mark", mark.as_ref().map_or(0, |mark| mark.new))
            .arg("length", mark.as_ref().map_or(0, |mark| mark.length))
            .arg("filling", u8::from(mark.as_ref().is_some_and(|mark| mark.filling)))
            .arg("n_breaks", changes.breaks.len())
            .args("values", values);
        Ok(call.run().await?)
    }
}

//! How large the pool is, and how far loads have come.

use std::collections::BTreeMap;

use crate::{day, error::Error, keys, service::Recommender};

/// What the recommender has.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RecommenderCounts))]
pub struct Stats {
    /// Posts that may be recommended, for each category code from 0.
    pub posts: Vec<u64>,
    /// Challenges that are going on.
    pub challenges: u64,
    /// Users who take part in challenges.
    pub members: u64,
    /// Users who have keys of their own: they react, follow or were shown something.
    pub users: u64,
    /// How many days a post may be recommended.
    pub max_post_age: u64,
    /// The latest day's place in the ring; none before the first load.
    pub day_index: Option<u64>,
    /// The day of the latest load.
    pub last_run: Option<String>,
    /// Rows of each table at the latest load.
    pub tables: BTreeMap<String, u64>,
}

/// The posts that came on one day and may be recommended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PoolDay {
    /// The day.
    pub day: String,
    /// How many, for each category code from 0.
    pub posts: Vec<u64>,
}

impl Recommender {
    /// The posts that may be recommended, by the day on which they came, the oldest first; empty before the first load.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn pool_by_day(&self) -> Result<Vec<PoolDay>, Error> {
        let parameters = self.parameters().await?;
        let (Some(index), Some(last)) = (parameters.day_index, parameters.last_run) else {
            return Ok(Vec::new());
        };
        let ring = parameters.ring();
        let categories = Recommender::category_keys();
        let mut pipe = redis::pipe();
        for age in (0..ring).rev() {
            let slot = day::slot(index % ring, age, ring);
            for key in &categories {
                let place = self.store().place(key).into_owned();
                pipe.cmd("ZCOUNT").arg(place).arg(slot).arg(slot);
            }
        }
        let counts: Vec<u64> = pipe.query_async(&mut self.store().connection()).await?;
        let of_day = |(age, posts): (u64, &[u64])| PoolDay {
            day: day::days_earlier(last, age).to_string(),
            posts: posts.to_vec(),
        };
        Ok((0..ring).rev().zip(counts.chunks(categories.len())).map(of_day).collect())
    }

    /// How large the pool is, and how far loads have come.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn stats(&self) -> Result<Stats, Error> {
        let parameters = self.parameters().await?;
        let place = |key: keyrack_keys::Key| self.store().place(&key).into_owned();
        let mut pipe = redis::pipe();
        pipe.cmd("HLEN").arg(place(keys::challenges()));
        pipe.cmd("HLEN").arg(place(keys::contributions()));
        pipe.cmd("SCARD").arg(place(keys::users()));
        pipe.cmd("HGETALL").arg(place(keys::table_lengths()));
        let mut connection = self.store().connection();
        let (challenges, members, users, tables) = pipe.query_async(&mut connection).await?;
        let mut sizes = redis::pipe();
        for key in Recommender::category_keys() {
            sizes.cmd("ZCARD").arg(place(key));
        }
        Ok(Stats {
            posts: sizes.query_async(&mut connection).await?,
            challenges,
            members,
            users,
            max_post_age: parameters.max_post_age,
            day_index: parameters.day_index,
            last_run: parameters.last_run.map(|day| day.to_string()),
            tables,
        })
    }
}

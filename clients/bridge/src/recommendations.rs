//! Calls about what to show to whom.

use std::{borrow::Cow, ops::ControlFlow, path::PathBuf};

use keyrack_recommender::{
    Files, Filter, LIMIT_DEFAULT, Names, Recommender, Request, Settings, user_id,
};
use keyrack_store::Store;
use serde::Deserialize;

use crate::{error::Failure, parts::to_json};

fn recommender(store: &Store) -> Recommender {
    Recommender::new(store.clone(), Settings::default())
}

/// Asks for posts that a user should see next.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Recommend<'a> {
    user: Cow<'a, str>,
    limit: Option<usize>,
    cursor: Option<String>,
    seed: Option<u64>,
    #[serde(default)]
    categories: Vec<usize>,
    #[serde(default)]
    challenges: Vec<u64>,
    #[serde(default)]
    without_authors: Vec<String>,
    #[serde(default)]
    without_posts: Vec<u64>,
}

impl Recommend<'_> {
    pub(crate) async fn run(self, store: &Store) -> Result<String, Failure> {
        let filter = Filter {
            categories: self.categories,
            challenges: self.challenges,
            without_authors: self.without_authors,
            without_posts: self.without_posts,
            max_age: None,
        };
        let request = Request {
            user: user_id(&self.user)?,
            limit: self.limit.unwrap_or(LIMIT_DEFAULT),
            cursor: self.cursor,
            seed: self.seed,
            filter,
        };
        Ok(to_json(&recommender(store).recommend(&request).await?))
    }
}

/// Posts that a user was shown, or does not want to see.
#[derive(Deserialize)]
pub(crate) struct OfPosts<'a> {
    user: Cow<'a, str>,
    posts: Vec<u64>,
}

impl OfPosts<'_> {
    pub(crate) async fn shown(self, store: &Store) -> Result<String, Failure> {
        recommender(store).shown(&user_id(&self.user)?, &self.posts).await?;
        Ok("null".to_owned())
    }

    pub(crate) async fn hide(self, store: &Store) -> Result<String, Failure> {
        let user = user_id(&self.user)?;
        for post in self.posts {
            recommender(store).hide(&user, post).await?;
        }
        Ok("null".to_owned())
    }
}

/// Loads what is new in the tables of a folder with CSV or NDJSON files.
#[derive(Deserialize)]
pub(crate) struct Load {
    folder: PathBuf,
}

impl Load {
    /// Returns how many posts came into the pool.
    pub(crate) async fn run(self, store: &Store) -> Result<String, Failure> {
        let read = move || Files::open(&self.folder, &Names::default());
        let read = tokio::task::spawn_blocking(read).await;
        let mut files = read.map_err(|error| Failure::internal(error.to_string()))??;
        let loaded =
            recommender(store).sync(&mut files, &mut |_| ControlFlow::Continue(())).await?;
        Ok(loaded.posts.to_string())
    }
}

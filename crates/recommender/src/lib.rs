//! The recommender: which posts a user should see next.
//!
//! [`Recommender`] is the handle. Once a night it loads what is new in the app's tables ([`Recommender::sync`]), from files, from memory or, with
//! the feature `sql`, from a database; what cannot wait is told at once ([`Recommender::add_reaction`] and its like). Then it gives each
//! user a list ([`Recommender::recommend`]), and for each post on it a reason.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::ops::ControlFlow;
//!
//! use keyrack_recommender::{Memory, Recommender, Request, Settings, Table, user_id};
//! use keyrack_store::Store;
//!
//! let recommender = Recommender::new(Store::open("embedded:memory").await?, Settings::default());
//! let today = recommender.today().to_string();
//! let mut app = Memory::default();
//! app.push(Table::Challenges, &["7", "2", "1", "30", &today]);
//! app.push(Table::Posts, &["100", "alice", "7", &today, "Ran 5 km"]);
//! recommender.sync(&mut app, &mut |_| ControlFlow::Continue(())).await?;
//!
//! let page = recommender.recommend(&Request::of(user_id("bob")?)).await?;
//! assert_eq!(page.items[0].post_id, 100);
//! # Ok(())
//! # }
//! ```
//!
//! In reading order: `source` is where rows come from, `rows` and `day` what they say; `service` is the handle; `nightly` the load,
//! `live` what is told at once, `online` the lists, `stats` a look at it all. [`eval`] measures how good the lists are. `random`
//! is chance from a seed.

mod day;
mod error;
pub mod eval;
pub mod keys;
mod live;
mod nightly;
mod online;
mod random;
mod rows;
mod service;
mod source;
mod stats;

pub use self::{
    error::Error,
    keys::FAMILIES,
    live::{NewChallenge, SHOWN_MAX},
    nightly::{Progress, Synced, Watch},
    online::{
        Explanation, Filter, Item, LIMIT_DEFAULT, LIMIT_MAX, Page, Reason, Request, SIGNAL_NAMES,
        SignalShare, Similar, Weights, Words,
    },
    rows::{Challenge, Member, Post, Reaction},
    service::{MAX_POST_AGE_DEFAULT, MAX_POST_AGE_MAX, Recommender, Settings, user_id},
    source::{Files, From, Mapping, Memory, Names, Row, Source, Table},
    stats::{PoolDay, Stats},
};
#[cfg(feature = "sql")]
pub use source::Sql;

/// The guide, whose example is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/recommender.md")]
pub struct Guide;

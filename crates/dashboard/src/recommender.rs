//! The recommender: its pool by day and category, how good its lists were found to be, and in `user` what it shows to whom.

mod pool;
mod user;

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format as format;
use keyrack_recommender::{
    SIGNAL_NAMES, Stats,
    eval::{Adopted, Measured},
};
use keyrack_web::Problem;
use serde::Deserialize;

use self::pool::Pool;
pub(crate) use self::user::user;
use super::{
    Frame, Visit, assets, frame, link,
    live::{View, live_page, show},
};
use crate::Site;

#[derive(Template)]
#[template(path = "recommender.html", blocks = ["live"])]
pub(super) struct RecommenderPage {
    frame: Frame,
    /// A number to know, and a word on it.
    cards: Vec<(&'static str, String, String)>,
    /// None before the first load.
    pool: Option<Pool>,
    evaluation: Option<Findings>,
}
live_page!(RecommenderPage);

/// What was found when the weights in force were learned.
struct Findings {
    when: String,
    summary: String,
    rows: Vec<Finding>,
    weights: Vec<(&'static str, String)>,
}

/// How good one kind of list is.
struct Finding {
    name: String,
    is_ours: bool,
    ndcg: String,
    range: String,
    figures: Vec<(&'static str, String)>,
}

struct RecommenderView;

impl View for RecommenderView {
    type Page = RecommenderPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<RecommenderPage, Problem> {
        let recommender = &site.services.recommendations.recommender;
        let stats = recommender.stats().await?;
        let days = recommender.pool_by_day().await?;
        let adopted = recommender.adopted().await?;
        let now = site.services.store.now_ms();
        Ok(RecommenderPage {
            frame,
            cards: cards(&stats),
            pool: stats.last_run.is_some().then(|| Pool::of(&days)),
            evaluation: adopted.map(|adopted| Findings::of(&adopted, now)),
        })
    }
}

fn cards(stats: &Stats) -> Vec<(&'static str, String, String)> {
    let age = stats.max_post_age;
    let last = stats.last_run.clone().unwrap_or_else(|| "never".into());
    let rows: u64 = stats.tables.values().sum();
    vec![
        (
            "Posts",
            format::count(stats.posts.iter().sum()),
            format!("that may be recommended, for {}", format::counted(age, "night")),
        ),
        ("Challenges", format::count(stats.challenges), "going on".into()),
        (
            "Users",
            format::count(stats.members),
            format!("take part, {} react or follow", format::count(stats.users)),
        ),
        ("Last load", last, format!("{} in the site's tables", format::counted(rows, "row"))),
    ]
}

impl Findings {
    fn of(adopted: &Adopted, now: u64) -> Findings {
        let found = &adopted.evaluation;
        let ratio = &found.ratio;
        let weights = SIGNAL_NAMES.into_iter().zip(found.weights.0);
        Findings {
            when: format::relative(adopted.adopted_at_ms, now),
            summary: format!(
                "NDCG@10 is {:.2} times that of the best simple list, {:.2} to {:.2} with 95 % confidence, over {}.",
                ratio.value,
                ratio.low,
                ratio.high,
                format::counted(found.users as u64, "user")
            ),
            rows: found
                .measured
                .iter()
                .enumerate()
                .map(|(at, of)| Finding::of(of, at == 0))
                .collect(),
            weights: weights.map(|(name, weight)| (name, format!("{weight:.2}"))).collect(),
        }
    }
}

impl Finding {
    fn of(measured: &Measured, is_ours: bool) -> Finding {
        let scores = &measured.scores;
        let figures = [
            ("precision", scores.precision),
            ("recall", scores.recall),
            ("MAP", scores.map),
            ("hits", scores.hit_rate),
            ("coverage", measured.coverage),
            ("diversity", scores.diversity),
            ("novelty", scores.novelty),
        ];
        Finding {
            name: measured.name.clone(),
            is_ours,
            ndcg: format!("{:.3}", measured.ndcg.value),
            range: format!("{:.3} to {:.3}", measured.ndcg.low, measured.ndcg.high),
            figures: figures.map(|(name, value)| (name, format!("{value:.3}"))).into(),
        }
    }
}

/// Whom to look at.
#[derive(Debug, Deserialize)]
struct UserQuery {
    #[serde(default)]
    user: String,
}

/// `GET /recommender`
pub(crate) async fn recommender(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<UserQuery>() {
        Ok(whom) if !whom.user.trim().is_empty() => {
            frame::go(&format!("/recommender/{}", link::segment(whom.user.trim())))
        }
        Ok(_) => show(site, visit, RecommenderView).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

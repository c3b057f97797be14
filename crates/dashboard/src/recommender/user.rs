//! What a user should see next, and why.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use keyrack_format as format;
use keyrack_recommender::{Item, Request, keys::UserId, user_id};
use keyrack_web::Problem;

use crate::{
    Frame, Site, Visit, assets,
    live::{View, live_page, show},
};

/// As many as anybody looks through.
const LISTED: usize = 50;

#[derive(Template)]
#[template(path = "recommender_user.html", blocks = ["live"])]
pub(super) struct UserPage {
    frame: Frame,
    user: String,
    /// Days given to each category, with the share that they are of all.
    days: Vec<(usize, String, u64)>,
    rows: Vec<Row>,
}
live_page!(UserPage);

/// A post on the list.
struct Row {
    place: usize,
    post: u64,
    challenge: u64,
    category: usize,
    author: String,
    score: String,
    because: String,
}

/// Whose list is shown.
struct OneUser(UserId);

impl View for OneUser {
    type Page = UserPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<UserPage, Problem> {
        let recommender = &site.services.recommendations.recommender;
        let request = Request::of(self.0.clone()).limit(LISTED);
        let page = recommender.recommend(&request).await?;
        let days = recommender.contribution(&self.0).await?;
        let rows = page.items.into_iter().enumerate().map(|(at, item)| Row::of(at + 1, item));
        Ok(UserPage { frame, user: self.0.to_string(), days: shares(&days), rows: rows.collect() })
    }
}

impl Row {
    fn of(place: usize, item: Item) -> Row {
        Row {
            place,
            post: item.post_id,
            challenge: item.challenge_id,
            category: item.category,
            author: item.author_id,
            score: format!("{:.2}", item.score),
            because: item.because,
        }
    }
}

/// Categories that a user has given days to, with their share in hundredths.
fn shares(days: &[u64]) -> Vec<(usize, String, u64)> {
    let total: u64 = days.iter().fold(0, |sum, days| sum.saturating_add(*days));
    let given = days.iter().enumerate().filter(|(_, days)| **days > 0);
    let share = |days: u64| (days as f64 * 100.0 / total.max(1) as f64).round() as u64;
    given.map(|(category, days)| (category, format::counted(*days, "day"), share(*days))).collect()
}

/// `GET /recommender/{user}`
pub(crate) async fn user(
    State(site): State<Arc<Site>>,
    Path(user): Path<String>,
    visit: Visit,
) -> Response {
    match user_id(&user) {
        Ok(user) => show(site, visit, OneUser(user)).await,
        Err(error) => Problem::from(error).for_reader(&visit.headers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_categories_with_days_have_a_share() {
        let shares = shares(&[30, 0, 10, 0, 0]);
        assert_eq!(shares, [(0, "30 days".to_owned(), 75), (2, "10 days".to_owned(), 25)]);
        assert!(super::shares(&[0; 5]).is_empty());
    }
}

//! The paths and bodies that clients of the original program know. They stand at the root.

use std::sync::Arc;

use crate::routes::Routes;
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_recommender::{Item, Request, Row};
use keyrack_web::access::Permission;
use keyrack_web::{App, Problem};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{User, load::load};

/// The routes.
pub(crate) fn published() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer).linked(), routes!(recommended))
        .add(Permission::unaudited_change(Operator), routes!(update))
}

/// A post as its table has it.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
struct PublishedPost {
    /// Its id.
    id: u64,
    /// Who wrote it.
    #[schema(value_type = u64)]
    user_id: serde_json::Value,
    /// Its challenge.
    challenge_id: u64,
    /// When it was written; null if the server does not know the app's tables.
    created_time: Option<String>,
    /// What it says; null if the server does not know the app's tables.
    written_text: Option<String>,
}

/// Gives the posts that a user should see next, the newest first, 100 at most.
///
/// As the original does; `/api/1/recommendations/{user_id}` gives them in order of worth, with reasons.
#[utoipa::path(get, path = "/GetRecommendedPosts/{user_id}", tag = "recommendations", operation_id = "getRecommendedPosts",
    params(("user_id" = String, Path, description = "The user of the app")), responses((status = OK, body = Vec<PublishedPost>)))]
async fn recommended(
    State(app): State<Arc<App>>,
    User(user): User,
) -> Result<Json<Vec<PublishedPost>>, Problem> {
    let recommendations = &app.services.recommendations;
    let page = recommendations.recommender.recommend(&Request::of(user)).await?;
    let mut posts = match recommendations.tables() {
        None => page.items.iter().map(PublishedPost::of_item).collect::<Vec<_>>(),
        Some(tables) => {
            let ids: Vec<u64> = page.items.iter().map(|item| item.post_id).collect();
            // A post that was deleted since the last load is not among them.
            tables.posts(&ids).await?.iter().filter_map(PublishedPost::of_row).collect()
        }
    };
    posts.sort_by(|a, b| (&b.created_time, b.id).cmp(&(&a.created_time, a.id)));
    Ok(Json(posts))
}

/// That the load is done.
#[derive(Debug, Serialize, ToSchema)]
struct Updated {
    /// Always the same words.
    detail: &'static str,
}

/// Loads what is new in the app's tables.
#[utoipa::path(get, path = "/UpdateRecommendation/", tag = "recommendations", operation_id = "updateRecommendation",
    responses((status = OK, body = Updated)))]
async fn update(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<Updated>, Problem> {
    // Though it changes much it is a GET, which a page of another site could send as the address of a picture.
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if matches!(site, Some(b"cross-site" | b"same-site")) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "foreign_page")
            .title("web pages of other sites may not do this"));
    }
    load(&app).await?;
    Ok(Json(Updated { detail: "Recommendation updated successfully" }))
}

impl PublishedPost {
    fn of_item(item: &Item) -> PublishedPost {
        PublishedPost {
            id: item.post_id,
            user_id: number_or_text(&item.author_id),
            challenge_id: item.challenge_id,
            created_time: None,
            written_text: None,
        }
    }

    /// Reads a row of the table; nothing when it has no ids.
    fn of_row(row: &Row) -> Option<PublishedPost> {
        let value = |at: usize| row.get(at)?.as_deref();
        Some(PublishedPost {
            id: value(0)?.parse().ok()?,
            user_id: number_or_text(value(1)?),
            challenge_id: value(2)?.parse().ok()?,
            // Databases write a space where JSON has a T.
            created_time: value(3).map(|at| at.replacen(' ', "T", 1)),
            written_text: value(4).map(str::to_owned),
        })
    }
}

/// Users that are numbers in the app's tables are numbers in JSON.
fn number_or_text(id: &str) -> serde_json::Value {
    id.parse::<u64>().map_or_else(|_| id.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_what_clients_know() {
        let row: Row =
            ["7", "12", "3", "2024-01-12 01:00:00", "Ran"].map(|text| Some(text.to_owned())).into();
        let post = serde_json::to_string(&PublishedPost::of_row(&row)).expect("JSON");
        let expected = r#"{"id":7,"user_id":12,"challenge_id":3,"created_time":"2024-01-12T01:00:00","written_text":"Ran"}"#;
        assert_eq!(post, expected);
        assert_eq!(PublishedPost::of_row(&vec![Some("x".into())]), None);
        assert_eq!(number_or_text("alice"), "alice");
    }
}

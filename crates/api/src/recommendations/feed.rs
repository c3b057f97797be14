//! The recommender in the words of any app: items in groups, groups in sections, and feedback of users.
//!
//! The same keys as everywhere: an item is a post, a group a challenge, a section a category, and feedback a reaction.

use std::sync::Arc;

use crate::routes::Routes;
use axum::{Json, extract::State, http::StatusCode};
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_recommender::{
    Filter, Item, LIMIT_DEFAULT, NewChallenge, Post, Reaction, Reason, Request, Words,
};
use keyrack_web::access::Permission;
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::{Body, Query},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{AppUser, Number, Taken, User};

/// The routes under `/api/1`.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(list))
        .add(Permission::unaudited_change(Operator), routes!(group))
        .add(Permission::unaudited_change(Operator), routes!(item))
        .add(Permission::unaudited_change(Operator), routes!(delete_item))
        .add(Permission::unaudited_change(Operator), routes!(feedback))
}

/// How groups and sections are called in reasons.
const WORDS: Words = Words { group: "group", section: "section" };

/// Days of a group that does not say when it ends.
const ENDLESS_DAYS: u32 = 36_500;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FeedQuery {
    /// How many items, up to 500; 100 by default.
    limit: Option<usize>,
    /// Where to go on, as the page before said. The filters must be the same.
    cursor: Option<String>,
    /// The seed of random choices, for a list that can be made again.
    seed: Option<u64>,
    /// Only items of these sections: codes separated by commas.
    sections: Option<String>,
    /// Only items of these groups, at most 50: ids separated by commas.
    groups: Option<String>,
    /// No items of these authors, at most 500: ids separated by commas.
    without_authors: Option<String>,
    /// None of these items, at most 500: ids separated by commas.
    without_items: Option<String>,
    /// Only items that came at most so many nights ago.
    max_age_days: Option<u64>,
}

/// Items for a user, the best first.
#[derive(Debug, Serialize, ToSchema)]
struct Feed {
    /// The items.
    items: Vec<FeedItem>,
    /// Where the next page begins; none after the last.
    next_cursor: Option<String>,
}

/// A recommended item.
#[derive(Debug, Serialize, ToSchema)]
struct FeedItem {
    /// The item.
    item_id: u64,
    /// Its group.
    group_id: u64,
    /// The code of its section.
    section: usize,
    /// Who made it.
    author_id: String,
    /// How well it suits the user, for comparing items of one list.
    score: f64,
    /// Why it is here.
    reason: Reason,
    /// The same as a sentence.
    because: String,
}

impl FeedItem {
    fn of(item: Item) -> FeedItem {
        FeedItem {
            because: item.reason.text_in(&WORDS, item.challenge_id, item.category),
            item_id: item.post_id,
            group_id: item.challenge_id,
            section: item.category,
            author_id: item.author_id,
            score: item.score,
            reason: item.reason,
        }
    }
}

/// Lists the items that a user should see next, each with the reason why, limited by filters.
///
/// Somebody who is not known gets what is good for everybody.
#[utoipa::path(get, path = "/feed/users/{user_id}", tag = "recommendations", operation_id = "listFeed",
    params(("user_id" = String, Path, description = "The user of the app"), FeedQuery), responses((status = OK, body = Feed)))]
async fn list(
    State(app): State<Arc<App>>,
    User(user): User,
    Query(query): Query<FeedQuery>,
) -> Result<Json<Feed>, Problem> {
    let filter = Filter {
        categories: numbers("sections", query.sections.as_deref())?
            .into_iter()
            .map(|code| usize::try_from(code).unwrap_or(usize::MAX))
            .collect(),
        challenges: numbers("groups", query.groups.as_deref())?,
        without_authors: words(query.without_authors.as_deref()).map(str::to_owned).collect(),
        without_posts: numbers("without_items", query.without_items.as_deref())?,
        max_age: query.max_age_days,
    };
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    let request = Request { user, limit, cursor: query.cursor, seed: query.seed, filter };
    let page = app.services.recommendations.recommender.recommend(&request).await?;
    let items = page.items.into_iter().map(FeedItem::of).collect();
    Ok(Json(Feed { items, next_cursor: page.next_cursor }))
}

fn words(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty())
}

fn numbers(field: &'static str, text: Option<&str>) -> Result<Vec<u64>, Problem> {
    let number = |word: &str| {
        word.parse().map_err(|_| {
            invalid(field, format!("\"{word}\" is no number; write numbers separated by commas"))
        })
    };
    words(text).map(number).collect()
}

/// A group of items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FeedGroup {
    /// The code of its section, from 0.
    section: usize,
    /// Whether everybody may see it; true by default.
    #[serde(default = "super::yes")]
    public: bool,
    /// The days for which it goes on; without end by default.
    days: Option<u32>,
    /// When it was created; now by default.
    created: Option<String>,
}

/// Tells of a new or changed group. The items of one that is no longer public are not recommended from now on.
#[utoipa::path(put, path = "/feed/groups/{group_id}", tag = "recommendations", operation_id = "tellGroup",
    params(("group_id" = u64, Path, description = "The group")), request_body = FeedGroup,
    responses((status = NO_CONTENT)))]
async fn group(
    State(app): State<Arc<App>>,
    Number(id): Number,
    Body(told): Body<FeedGroup>,
) -> Result<StatusCode, Problem> {
    let FeedGroup { section: category, public, days, created } = told;
    let duration = days.unwrap_or(ENDLESS_DAYS);
    let recommender = &app.services.recommendations.recommender;
    let new = NewChallenge { id, category, public, duration, created };
    recommender.add_challenge(&recommender.planned(&new)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewItem {
    /// Its id.
    id: u64,
    /// Who made it.
    #[schema(value_type = String)]
    author_id: AppUser,
    /// Its group.
    group_id: u64,
}

/// Tells of a new item. It may be recommended at once, if its group is public; the first load must have run.
#[utoipa::path(post, path = "/feed/items", tag = "recommendations", operation_id = "tellItem",
    request_body = NewItem, responses((status = OK, body = Taken)))]
async fn item(
    State(app): State<Arc<App>>,
    Body(told): Body<NewItem>,
) -> Result<Json<Taken>, Problem> {
    let author = told.author_id.id("author_id")?;
    let NewItem { id, group_id: challenge, .. } = told;
    let post = Post { id, author, challenge, day: None, has_bad_day: false, text: String::new() };
    let taken = app.services.recommendations.recommender.add_post(post).await?;
    Ok(Json(Taken { taken }))
}

/// Tells that an item is gone. Nobody sees it any more.
#[utoipa::path(delete, path = "/feed/items/{item_id}", tag = "recommendations", operation_id = "tellDeletedItem",
    params(("item_id" = u64, Path, description = "The item")), responses((status = NO_CONTENT)))]
async fn delete_item(
    State(app): State<Arc<App>>,
    Number(item): Number,
) -> Result<StatusCode, Problem> {
    app.services.recommendations.recommender.remove_post(item).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a user did with an item.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FeedbackKind {
    /// Liked, bought, answered or played it.
    Like,
    /// Took that back.
    Unlike,
    /// Was shown it.
    Shown,
    /// Does not want to see it again.
    Hide,
}

/// What a user did with an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewFeedback {
    /// The user.
    #[schema(value_type = String)]
    user_id: AppUser,
    /// The item.
    item_id: u64,
    /// What the user did.
    kind: FeedbackKind,
    /// Its id in the app's table, by which the load knows it again; needed for `like` and `unlike`.
    id: Option<u64>,
}

/// Tells what a user did with an item. It counts at once, and the load does not count it again.
#[utoipa::path(post, path = "/feed/feedback", tag = "recommendations", operation_id = "tellFeedback",
    request_body = NewFeedback, responses((status = OK, body = Taken)))]
async fn feedback(
    State(app): State<Arc<App>>,
    Body(told): Body<NewFeedback>,
) -> Result<Json<Taken>, Problem> {
    let user = told.user_id.id("user_id")?;
    let recommender = &app.services.recommendations.recommender;
    let taken = match (told.kind, told.id) {
        (FeedbackKind::Shown, _) => {
            recommender.shown(&user, &[told.item_id]).await?;
            true
        }
        (FeedbackKind::Hide, _) => {
            recommender.hide(&user, told.item_id).await?;
            true
        }
        (FeedbackKind::Like | FeedbackKind::Unlike, None) => {
            let why = "is missing; \"like\" and \"unlike\" need the id in the app's table";
            return Err(invalid("id", why.to_owned()));
        }
        (kind, Some(id)) => {
            let cancelled = matches!(kind, FeedbackKind::Unlike);
            let reaction = Reaction { id, post: told.item_id, user, cancelled };
            recommender.add_reaction(reaction).await?
        }
    };
    Ok(Json(Taken { taken }))
}

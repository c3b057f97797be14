//! Recommendations: what a user should see next, and what the user does with it.
//!
//! In reading order: this module has lists and what users do with them; `told` takes in what cannot wait for the night, `load` the night
//! itself; `feed` is the same in the words of any app; `published` are the paths and bodies that clients of the original know.

mod feed;
mod load;
mod published;
mod told;

use std::sync::Arc;

use crate::routes::Routes;
use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
};
use keyrack_identity::Role::{Operator, Viewer};
use keyrack_recommender::{
    Explanation, LIMIT_DEFAULT, Page, Reaction, Request, Similar, keys::UserId, user_id,
};
use keyrack_web::access::Permission;
use keyrack_web::{
    App, Problem,
    error::invalid,
    extract::{Body, Query, segment},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

pub(super) use self::published::published;

/// Similar posts that are listed unless the request says otherwise, and at most.
const SIMILAR_DEFAULT: usize = 20;
const SIMILAR_MAX: usize = 200;

/// The routes under `/api/1`.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::read(Viewer), routes!(list))
        .add(Permission::read(Viewer), routes!(explain))
        .add(Permission::unaudited_change(Operator), routes!(shown))
        .add(Permission::unaudited_change(Operator), routes!(liked))
        .add(Permission::unaudited_change(Operator), routes!(hidden))
        .add(Permission::unaudited_change(Operator), routes!(blocked))
        .add(Permission::read(Viewer), routes!(similar))
        .merge(told::router())
        .merge(feed::router())
        .merge(load::router())
}

/// The user in the path of a request.
pub(super) struct User(pub(super) UserId);

impl FromRequestParts<Arc<App>> for User {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<User, Problem> {
        let id = segment(parts, app).await?;
        user_id(&id).map(User).map_err(|error| Problem::from(error).field("user_id"))
    }
}

/// The number in the path of a request.
pub(super) struct Number(pub(super) u64);

impl FromRequestParts<Arc<App>> for Number {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Number, Problem> {
        let text = segment(parts, app).await?;
        text.parse().map(Number).map_err(|_| invalid("id", format!("\"{text}\" is no number")))
    }
}

/// A user in the body of a request: apps number their users or name them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum AppUser {
    Number(u64),
    Name(String),
}

impl AppUser {
    fn id(&self, field: &'static str) -> Result<UserId, Problem> {
        let id = match self {
            AppUser::Number(number) => user_id(&number.to_string()),
            AppUser::Name(name) => user_id(name),
        };
        id.map_err(|error| Problem::from(error).field(field))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RecommendationsQuery {
    /// How many posts, up to 500; 100 unless said.
    limit: Option<usize>,
    /// Where to go on, as the page before said.
    cursor: Option<String>,
    /// The seed of chance, for a list that can be made again. Without one it comes from the user, the day and how much the user has seen.
    seed: Option<u64>,
}

/// Lists the posts that a user should see next, each with the reason why.
///
/// Somebody who is not known gets what is good for everybody. What is told as shown, liked or hidden counts at once.
#[utoipa::path(get, path = "/recommendations/{user_id}", tag = "recommendations", operation_id = "listRecommendations",
    params(("user_id" = String, Path, description = "The user of the app"), RecommendationsQuery), responses((status = OK, body = Page)))]
async fn list(
    State(app): State<Arc<App>>,
    User(user): User,
    Query(query): Query<RecommendationsQuery>,
) -> Result<Json<Page>, Problem> {
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    let request = Request { limit, cursor: query.cursor, seed: query.seed, ..Request::of(user) };
    Ok(Json(app.services.recommendations.recommender.recommend(&request).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct About {
    /// The post.
    post_id: u64,
}

/// Tells why a post is, or is not, recommended to a user.
#[utoipa::path(get, path = "/recommendations/{user_id}/explanation", tag = "recommendations", operation_id = "explainRecommendation",
    params(("user_id" = String, Path, description = "The user of the app"), About), responses((status = OK, body = Explanation)))]
async fn explain(
    State(app): State<Arc<App>>,
    User(user): User,
    Query(about): Query<About>,
) -> Result<Json<Explanation>, Problem> {
    Ok(Json(app.services.recommendations.recommender.explain(&user, about.post_id).await?))
}

/// Posts that a user was shown.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Shown {
    /// The posts, at most 1,000.
    post_ids: Vec<u64>,
}

/// Tells that a user was shown posts: they come again only when there is nothing else.
#[utoipa::path(post, path = "/recommendations/{user_id}/shown", tag = "recommendations", operation_id = "tellShown",
    params(("user_id" = String, Path, description = "The user of the app")), request_body = Shown,
    responses((status = NO_CONTENT)))]
async fn shown(
    State(app): State<Arc<App>>,
    User(user): User,
    Body(shown): Body<Shown>,
) -> Result<StatusCode, Problem> {
    app.services.recommendations.recommender.shown(&user, &shown.post_ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A reaction of a user, or one taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Liked {
    /// The reaction's id in the app's log, by which the load knows it again.
    log_id: u64,
    /// The post.
    post_id: u64,
    /// Whether it takes an earlier one back.
    #[serde(default)]
    is_cancelled: bool,
}

/// Whether something that was told makes a difference.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Taken {
    /// False when it is about a post that cannot be recommended, or a challenge that is not known.
    taken: bool,
}

/// Tells that a user likes a post, or no more. It counts at once, and the load does not count it again.
#[utoipa::path(post, path = "/recommendations/{user_id}/liked", tag = "recommendations", operation_id = "tellLiked",
    params(("user_id" = String, Path, description = "The user of the app")), request_body = Liked,
    responses((status = OK, body = Taken)))]
async fn liked(
    State(app): State<Arc<App>>,
    User(user): User,
    Body(liked): Body<Liked>,
) -> Result<Json<Taken>, Problem> {
    let Liked { log_id: id, post_id: post, is_cancelled: cancelled } = liked;
    let reaction = Reaction { id, post, user, cancelled };
    let taken = app.services.recommendations.recommender.add_reaction(reaction).await?;
    Ok(Json(Taken { taken }))
}

/// A post that a user does not want to see.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Hidden {
    /// The post.
    post_id: u64,
}

/// Never shows a post to a user again.
#[utoipa::path(post, path = "/recommendations/{user_id}/hidden", tag = "recommendations", operation_id = "hidePost",
    params(("user_id" = String, Path, description = "The user of the app")), request_body = Hidden,
    responses((status = NO_CONTENT)))]
async fn hidden(
    State(app): State<Arc<App>>,
    User(user): User,
    Body(hidden): Body<Hidden>,
) -> Result<StatusCode, Problem> {
    app.services.recommendations.recommender.hide(&user, hidden.post_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An author whose posts a user does not want to see, or wants to see again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Blocked {
    /// The author.
    #[schema(value_type = String)]
    author_id: AppUser,
    /// False to show them again.
    #[serde(default = "yes")]
    blocked: bool,
}

fn yes() -> bool {
    true
}

/// Shows a user no posts of an author, or shows them again.
#[utoipa::path(post, path = "/recommendations/{user_id}/blocked", tag = "recommendations", operation_id = "blockAuthor",
    params(("user_id" = String, Path, description = "The user of the app")), request_body = Blocked,
    responses((status = NO_CONTENT)))]
async fn blocked(
    State(app): State<Arc<App>>,
    User(user): User,
    Body(blocked): Body<Blocked>,
) -> Result<StatusCode, Problem> {
    let author = blocked.author_id.id("author_id")?;
    app.services.recommendations.recommender.block(&user, &author, blocked.blocked).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CountQuery {
    /// How many posts, up to 200; 20 unless said.
    limit: Option<usize>,
}

/// Posts like another one.
#[derive(Debug, Serialize, ToSchema)]
struct SimilarPosts {
    /// The most similar first.
    posts: Vec<Similar>,
}

/// Lists the posts most like one of the pool.
#[utoipa::path(get, path = "/recommender/posts/{post_id}/similar", tag = "recommendations", operation_id = "listSimilarPosts",
    params(("post_id" = u64, Path, description = "The post"), CountQuery), responses((status = OK, body = SimilarPosts)))]
async fn similar(
    State(app): State<Arc<App>>,
    Number(post): Number,
    Query(how_many): Query<CountQuery>,
) -> Result<Json<SimilarPosts>, Problem> {
    let limit = how_many.limit.unwrap_or(SIMILAR_DEFAULT);
    if !(1..=SIMILAR_MAX).contains(&limit) {
        return Err(invalid("limit", format!("{limit}; give 1 to {SIMILAR_MAX}")));
    }
    let posts = app.services.recommendations.recommender.similar(post, limit).await?;
    Ok(Json(SimilarPosts { posts }))
}

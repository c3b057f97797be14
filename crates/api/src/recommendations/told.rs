//! What an app tells at once instead of waiting for the next load: challenges, members, posts and reactions.

use std::sync::Arc;

use crate::routes::Routes;
use axum::{Json, extract::State, http::StatusCode};
use keyrack_identity::Role::Operator;
use keyrack_recommender::{Member, NewChallenge, Post, Reaction};
use keyrack_web::access::Permission;
use keyrack_web::{App, Problem, extract::Body};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{AppUser, Number, Taken};

/// The routes under `/api/1`.
pub(super) fn router() -> Routes {
    Routes::default()
        .add(Permission::unaudited_change(Operator), routes!(challenge))
        .add(Permission::unaudited_change(Operator), routes!(member))
        .add(Permission::unaudited_change(Operator), routes!(post))
        .add(Permission::unaudited_change(Operator), routes!(delete_post))
        .add(Permission::unaudited_change(Operator), routes!(reaction))
}

/// A challenge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToldChallenge {
    /// The code of its category, from 0.
    category: usize,
    /// Whether everybody may see it.
    is_public: bool,
    /// Its planned length in days; 0 if absent.
    #[serde(default)]
    duration: u32,
    /// When it was created; now if absent.
    created_time: Option<String>,
}

/// Tells of a new or changed challenge. The posts of one that is no longer public are not recommended from now on.
#[utoipa::path(put, path = "/recommender/challenges/{challenge_id}", tag = "recommendations", operation_id = "tellChallenge",
    params(("challenge_id" = u64, Path, description = "The challenge")), request_body = ToldChallenge,
    responses((status = NO_CONTENT)))]
async fn challenge(
    State(app): State<Arc<App>>,
    Number(id): Number,
    Body(told): Body<ToldChallenge>,
) -> Result<StatusCode, Problem> {
    let ToldChallenge { category, is_public: public, duration, created_time: created } = told;
    let recommender = &app.services.recommendations.recommender;
    let new = NewChallenge { id, category, public, duration, created };
    recommender.add_challenge(&recommender.planned(&new)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Somebody who takes part in a challenge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToldMember {
    /// The challenge.
    challenge_id: u64,
    /// The user.
    #[schema(value_type = String)]
    user_id: AppUser,
}

/// Tells of a new member of a challenge.
#[utoipa::path(post, path = "/recommender/members", tag = "recommendations", operation_id = "tellMember",
    request_body = ToldMember, responses((status = OK, body = Taken)))]
async fn member(
    State(app): State<Arc<App>>,
    Body(told): Body<ToldMember>,
) -> Result<Json<Taken>, Problem> {
    let member = Member { user: told.user_id.id("user_id")?, challenge: told.challenge_id };
    let taken = app.services.recommendations.recommender.add_member(&member).await?;
    Ok(Json(Taken { taken }))
}

/// A post.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToldPost {
    /// Its id.
    id: u64,
    /// Who wrote it.
    #[schema(value_type = String)]
    user_id: AppUser,
    /// Its challenge.
    challenge_id: u64,
    /// What it says, by which posts about a break are known. It is not stored.
    #[serde(default)]
    written_text: String,
}

/// Tells of a new post. It may be recommended at once, unless it is private or only tells of a break.
#[utoipa::path(post, path = "/recommender/posts", tag = "recommendations", operation_id = "tellPost",
    request_body = ToldPost, responses((status = OK, body = Taken)))]
async fn post(
    State(app): State<Arc<App>>,
    Body(told): Body<ToldPost>,
) -> Result<Json<Taken>, Problem> {
    let author = told.user_id.id("user_id")?;
    let ToldPost { id, challenge_id: challenge, written_text: text, .. } = told;
    let post = Post { id, author, challenge, day: None, has_bad_day: false, text };
    let taken = app.services.recommendations.recommender.add_post(post).await?;
    Ok(Json(Taken { taken }))
}

/// Tells that a post was deleted. Nobody sees it any more.
#[utoipa::path(delete, path = "/recommender/posts/{post_id}", tag = "recommendations", operation_id = "tellDeletedPost",
    params(("post_id" = u64, Path, description = "The post")), responses((status = NO_CONTENT)))]
async fn delete_post(
    State(app): State<Arc<App>>,
    Number(post): Number,
) -> Result<StatusCode, Problem> {
    app.services.recommendations.recommender.remove_post(post).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A reaction, or one taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToldReaction {
    /// Its id in the app's log, by which the load knows it again.
    log_id: u64,
    /// The post.
    post_id: u64,
    /// Who reacted.
    #[schema(value_type = String)]
    user_id: AppUser,
    /// Whether it takes an earlier one back.
    #[serde(default)]
    is_cancelled: bool,
}

/// Tells of a reaction. It counts at once, and the load does not count it again.
#[utoipa::path(post, path = "/recommender/reactions", tag = "recommendations", operation_id = "tellReaction",
    request_body = ToldReaction, responses((status = OK, body = Taken)))]
async fn reaction(
    State(app): State<Arc<App>>,
    Body(told): Body<ToldReaction>,
) -> Result<Json<Taken>, Problem> {
    let user = told.user_id.id("user_id")?;
    let reaction =
        Reaction { id: told.log_id, post: told.post_id, user, cancelled: told.is_cancelled };
    let taken = app.services.recommendations.recommender.add_reaction(reaction).await?;
    Ok(Json(Taken { taken }))
}

//! What is done by hand now and then: sweeping files, keeping one, and forgetting what is known about a user.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use keyrack_files::{Files, Sweep};
use keyrack_keys::UserSub;
use keyrack_web::{App, Problem, error::bad_name, extract::Body};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{entitlements::billing, entitlements::not_set_up};

/// What a sweep has done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SweptFiles {
    /// Files deleted.
    deleted: u64,
    /// Of those, the ones that nobody had asked to be deleted: uploads that failed.
    unexpected: u64,
    /// Files that were not there.
    missing: u64,
    /// Files that could not be deleted; they are tried again later.
    failed: u64,
}

/// Deletes the files that are due, and answers when that is done.
#[utoipa::path(post, path = "/files/sweep", tag = "files", operation_id = "sweepFiles",
    responses((status = OK, body = SweptFiles)))]
pub(super) async fn sweep(State(app): State<Arc<App>>) -> Result<Json<SweptFiles>, Problem> {
    let buckets = app.services.buckets.as_ref().ok_or_else(|| {
        not_set_up("the server was started without \"files\", so it does not know where they are")
    })?;
    let files = Files::new(app.services.store.clone());
    let swept = Sweep::new(&files, buckets).run().await?;
    Ok(Json(SweptFiles {
        deleted: swept.deleted,
        unexpected: swept.unexpected,
        missing: swept.missing,
        failed: swept.failed,
    }))
}

/// A member of `files:purgatory`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    /// The member, byte for byte.
    member: String,
}

/// Takes a file out of those that are to be deleted, so that it is kept.
#[utoipa::path(post, path = "/files/keep", tag = "files", operation_id = "keepFile", request_body = Member,
    responses((status = NO_CONTENT)))]
pub(super) async fn keep(
    State(app): State<Arc<App>>,
    Body(wanted): Body<Member>,
) -> Result<StatusCode, Problem> {
    match Files::new(app.services.store.clone()).keep(wanted.member.as_bytes()).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::new(StatusCode::NOT_FOUND, "file_not_found")
            .title("the file is not there any more")
            .detail("no such member waits to be deleted")),
    }
}

/// A user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhoseEntitlements {
    /// The subject of their tokens.
    user_sub: String,
}

/// Forgets what is known about a user's entitlements, in the store and in every process. The next read asks the source.
#[utoipa::path(post, path = "/entitlements/purge", tag = "entitlements", operation_id = "purgeEntitlements",
    request_body = WhoseEntitlements, responses((status = NO_CONTENT)))]
pub(super) async fn purge(
    State(app): State<Arc<App>>,
    Body(whose): Body<WhoseEntitlements>,
) -> Result<StatusCode, Problem> {
    let user = UserSub::new(whose.user_sub).map_err(|error| bad_name(&error).field("user_sub"))?;
    billing(&app)?.entitlements.purge(&user).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Announcing that a repository has something new: the webhook that a build server calls.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use keyrack_updates::{Secret, Updates, keys::Repo};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{error::invalid, extract::Body};
use crate::{app::App, problem::Problem};

/// Who may announce, and what.
#[derive(Debug)]
pub struct Deploys {
    /// What they have to know.
    pub secret: Secret,
    /// The repositories there are.
    pub repos: Vec<Repo>,
}

/// Which repository has something new.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct Update {
    /// The repository.
    repo: String,
}

/// Says that the main branch of a repository has changed, to whoever follows it.
///
/// Takes `Authorization: bearer SECRET` with the secret that the server was started with.
#[utoipa::path(post, path = "/continuous_deployment/update", tag = "updates", operation_id = "announceUpdate",
    request_body = Update,
    responses((status = ACCEPTED, description = "Announced")))]
pub(super) async fn update(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Body<Update>, Problem>,
) -> Result<StatusCode, Problem> {
    let deploys = authorize(&app, &headers)?;
    // Only now: those who know no secret learn nothing about what is expected.
    let Body(update) = body?;
    let Some(repo) = deploys.repos.iter().find(|repo| repo.as_str() == update.repo) else {
        let known: Vec<&str> = deploys.repos.iter().map(Repo::as_str).collect();
        let reason = format!("\"{}\" is none of {}", update.repo, known.join(", "));
        return Err(invalid("repo", reason));
    };
    Updates::new(app.store.clone()).announce(repo).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Refuses whoever does not know the secret, in the same words whether there is one or not.
fn authorize<'a>(app: &'a App, headers: &HeaderMap) -> Result<&'a Deploys, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "not_set")
            .title("the request says not whose it is")
            .detail("send the secret in the header \"Authorization\", as in \"bearer SECRET\""));
    };
    let given = value.to_str().ok().and_then(|value| value.strip_prefix("bearer "));
    let Some(given) = given else {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "bad_format")
            .title("the header \"Authorization\" cannot be read")
            .detail("write \"bearer\" in lower case, a space and the secret"));
    };
    app.deploys.as_ref().filter(|deploys| deploys.secret.is(given)).ok_or_else(|| {
        Problem::new(StatusCode::FORBIDDEN, "invalid")
            .title("the secret is not valid")
            .detail("it has to be the one that the server was started with as \"deploy-secret\"")
    })
}

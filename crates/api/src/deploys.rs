//! Announcing that a repository has something new: the webhook that a build server calls.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
};
use keyrack_services::Deploys;
use keyrack_updates::{Updates, keys::Repo};
use keyrack_web::{
    App, Problem, access,
    error::invalid,
    extract::{RawBody, parse},
};
use serde::Deserialize;
use utoipa::ToSchema;

/// Which repository has something new.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RepositoryUpdate)]
pub(super) struct Update {
    /// The repository.
    repo: String,
}

/// As much as is of interest of what GitHub tells about a push.
#[derive(Debug, Deserialize)]
struct Push {
    #[serde(rename = "ref", default)]
    reference: String,
    repository: Repository,
}

#[derive(Debug, Deserialize)]
struct Repository {
    name: String,
    #[serde(default)]
    default_branch: String,
}

/// Says that the main branch of a repository has changed, to whoever follows it.
///
/// Takes `Authorization: Bearer SECRET` with the secret that the server was started with. GitHub's webhooks are taken too: their
/// `X-Hub-Signature-256` has to be made with that secret, and pushes to other branches are left alone.
#[utoipa::path(post, path = "/continuous_deployment/update", tag = "updates", operation_id = "announceUpdate",
    request_body = Update,
    responses((status = ACCEPTED, description = "Announced, or nothing to announce")))]
pub(super) async fn update(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<RawBody, Problem>,
) -> Result<StatusCode, Problem> {
    let (deploys, name) = match headers.get(SIGNATURE) {
        Some(signature) => {
            let RawBody(body) = body?;
            let signature = signature.to_str().unwrap_or_default();
            let is_signed = |deploys: &&Deploys| deploys.secret.has_signed(&body, signature);
            let deploys = app.services.deploys.as_ref().filter(is_signed).ok_or_else(unknown)?;
            match pushed(&headers, &body)? {
                Some(name) => (deploys, name),
                None => return Ok(StatusCode::ACCEPTED),
            }
        }
        None => {
            let deploys = authorize(&app, &headers)?;
            // Only now: those who know no secret learn nothing about what is expected.
            (deploys, parse::<Update>(&body?.0)?.repo)
        }
    };
    let Some(repo) = deploys.repos.iter().find(|repo| repo.as_str() == name) else {
        let known: Vec<&str> = deploys.repos.iter().map(Repo::as_str).collect();
        return Err(invalid("repo", format!("\"{name}\" is none of {}", known.join(", "))));
    };
    Updates::new(app.services.store.clone()).announce(repo).await?;
    Ok(StatusCode::ACCEPTED)
}

/// How GitHub signs what it sends, and what it calls it.
const SIGNATURE: &str = "x-hub-signature-256";
const EVENT: &str = "x-github-event";

/// The repository to whose main branch somebody has pushed; nothing for what is no such push.
fn pushed(headers: &HeaderMap, body: &[u8]) -> Result<Option<String>, Problem> {
    if headers.get(EVENT).is_some_and(|event| event != "push") {
        return Ok(None);
    }
    let Push { reference, repository } = parse(body)?;
    let is_main = reference.is_empty()
        || reference.strip_prefix("refs/heads/") == Some(repository.default_branch.as_str());
    Ok(is_main.then_some(repository.name))
}

/// Refuses whoever does not know the secret, in the same words whether there is one or not.
fn authorize<'a>(app: &'a App, headers: &HeaderMap) -> Result<&'a Deploys, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "not_set")
            .title("missing secret")
            .detail("send the secret in the header \"Authorization\", as in \"Bearer SECRET\""));
    };
    let Some(given) = value.to_str().ok().and_then(access::bearer) else {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "bad_format")
            .title("the header \"Authorization\" cannot be read")
            .detail("write \"Bearer\", a space and the secret"));
    };
    app.services.deploys.as_ref().filter(|deploys| deploys.secret.is(given)).ok_or_else(unknown)
}

fn unknown() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "invalid")
        .title("the secret is not valid")
        .detail("it has to be the one that the server was started with as \"deploy-secret\"")
}

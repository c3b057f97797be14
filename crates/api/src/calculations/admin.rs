//! Tokens of projects, for those who have an admin's.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use keyrack_calculations::{Grant, account as account_name, project};
use keyrack_web::{App, Problem, extract::Body};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A project, and who asks for it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAccount {
    /// The token of an admin.
    access_token: String,
    /// The account.
    account: String,
    /// The project.
    project: String,
}

/// A project with the token that it is to have, and who asks for it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewToken {
    /// The token of an admin.
    access_token: String,
    /// The token that the project is to have, of 16 characters or more.
    token: String,
    /// The account.
    account: String,
    /// The project.
    project: String,
}

/// The token of a project.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TokenView {
    /// It is stored nowhere and cannot be shown again.
    token: String,
    account: String,
    project: String,
}

/// Makes a project of an account, with a token.
#[utoipa::path(post, path = "/admin/account", tag = "calculations", operation_id = "createCalculationAccount",
    request_body = NewAccount, responses((status = CREATED, body = TokenView)))]
pub(super) async fn account(
    State(app): State<Arc<App>>,
    Body(new): Body<NewAccount>,
) -> Result<(StatusCode, Json<TokenView>), Problem> {
    app.services.calculations.check_admin(&new.access_token).await?;
    let grant = grant(&new.account, &new.project)?;
    let token = app.services.calculations.create_token(&grant).await?;
    let view = TokenView { token, account: new.account, project: new.project };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Gives a project of an account a token of one's own choice.
#[utoipa::path(post, path = "/admin/token", tag = "calculations", operation_id = "addCalculationToken",
    request_body = NewToken, responses((status = CREATED, body = TokenView)))]
pub(super) async fn token(
    State(app): State<Arc<App>>,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<TokenView>), Problem> {
    app.services.calculations.check_admin(&new.access_token).await?;
    app.services.calculations.add_token(&grant(&new.account, &new.project)?, &new.token).await?;
    let view = TokenView { token: new.token, account: new.account, project: new.project };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Takes the token of a project away; its data stays.
#[utoipa::path(delete, path = "/admin/token", tag = "calculations", operation_id = "deleteCalculationToken",
    request_body = NewAccount, responses((status = NO_CONTENT)))]
pub(super) async fn delete_token(
    State(app): State<Arc<App>>,
    Body(which): Body<NewAccount>,
) -> Result<StatusCode, Problem> {
    app.services.calculations.check_admin(&which.access_token).await?;
    app.services.calculations.delete_token(&grant(&which.account, &which.project)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn grant(account: &str, project_name: &str) -> Result<Grant, Problem> {
    Ok(Grant { account: account_name(account)?, project: project(project_name)? })
}

//! Users and their tokens.

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
};
use keyrack_identity::{Actor, NewToken, Role, Token, TokenScope, keys::TokenUid};
use keyrack_web::{
    App, Problem,
    access::Address,
    error::{bad_name, invalid},
    extract::{Body, segment},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    auth::SignedIn, listing::Column, listing::Listing, listing::Page, listing::Search,
    listing::Value,
};

/// Makes sure that the caller is known as a user.
#[utoipa::path(post, path = "/users/", tag = "users", operation_id = "createUser",
    responses((status = NO_CONTENT)))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Address(from): Address,
) -> Result<StatusCode, Problem> {
    let actor = Actor { name: sub.as_str(), from: from.as_deref() };
    app.services.identity.ensure_user(actor, &sub).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a new token is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateToken {
    /// What to call it, in at most 255 characters.
    name: String,
    /// When it is to stop working, in unix seconds; it does not unless said.
    #[serde(default)]
    expires_at: Option<f64>,
    /// What it allows: `viewer` or `operator`, which it is unless said.
    #[serde(default)]
    role: Option<String>,
}

/// A token that was created.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CreatedToken {
    /// Its public name.
    uid: String,
    /// The token itself. Nobody can ask for it later.
    token: String,
    name: String,
    role: String,
    /// In unix seconds.
    created_at: f64,
    /// In unix seconds.
    expires_at: Option<f64>,
}

/// Creates a user token.
#[utoipa::path(post, path = "/users/tokens/", tag = "users", operation_id = "createToken",
    request_body = CreateToken, responses((status = CREATED, body = CreatedToken)))]
pub(super) async fn create_token(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Address(from): Address,
    Body(body): Body<CreateToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Problem> {
    let role = match body.role.as_deref() {
        None => Role::default(),
        Some(word) => word.parse().map_err(|reason: String| invalid("role", reason))?,
    };
    if role > Role::Operator {
        // Who may run the server is said on its console.
        return Err(invalid(
            "role",
            "give viewer or operator; \"keyrack token create\" makes others",
        ));
    }
    let new =
        NewToken { name: body.name, role, reach: TokenScope::Own, expires_at: body.expires_at };
    let actor = Actor { name: sub.as_str(), from: from.as_deref() };
    let created = app.services.identity.create_token(actor, &sub, new).await?;
    let token = created.token;
    let body = CreatedToken {
        uid: token.uid,
        token: created.secret,
        name: token.name,
        role: token.role.to_string(),
        created_at: token.created_at,
        expires_at: token.expires_at,
    };
    Ok((StatusCode::CREATED, Json(body)))
}

/// The token in the path of a request.
pub(super) struct Uid(TokenUid);

impl FromRequestParts<Arc<App>> for Uid {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Uid, Problem> {
        let uid = segment(parts, app).await?;
        TokenUid::new(uid).map(Uid).map_err(|error| bad_name(&error).field("uid"))
    }
}

/// What a token is called.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenName {
    /// At most 255 characters.
    name: String,
}

/// Gives a token another name.
#[utoipa::path(put, path = "/users/tokens/{uid}", tag = "users", operation_id = "renameToken", params(("uid" = String, Path)),
    request_body = TokenName, responses((status = OK, body = TokenName)))]
pub(super) async fn rename_token(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Address(from): Address,
    Uid(uid): Uid,
    Body(body): Body<TokenName>,
) -> Result<Json<TokenName>, Problem> {
    let actor = Actor { name: sub.as_str(), from: from.as_deref() };
    app.services.identity.rename_token(actor, &sub, &uid, &body.name).await?;
    Ok(Json(body))
}

/// Deletes a token: from now on it is not valid.
#[utoipa::path(delete, path = "/users/tokens/{uid}", tag = "users", operation_id = "deleteToken", params(("uid" = String, Path)),
    responses((status = NO_CONTENT)))]
pub(super) async fn delete_token(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Address(from): Address,
    Uid(uid): Uid,
) -> Result<StatusCode, Problem> {
    let actor = Actor { name: sub.as_str(), from: from.as_deref() };
    app.services.identity.delete_token(actor, &sub, &uid).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A user token, without the secret.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UserToken {
    user_sub: String,
    /// Its public name.
    uid: String,
    name: String,
    role: String,
    /// In unix seconds.
    created_at: f64,
    /// In unix seconds; null if it does not expire.
    expires_at: Option<f64>,
}

impl From<Token> for UserToken {
    fn from(token: Token) -> UserToken {
        UserToken {
            user_sub: token.user_sub,
            uid: token.uid,
            name: token.name,
            role: token.role.to_string(),
            created_at: token.created_at,
            expires_at: token.expires_at,
        }
    }
}

const TOKENS: Listing<Token> = Listing {
    columns: &[
        Column::text("uid", |token: &Token| Value::Text(&token.uid)).sorts(),
        Column::text("name", |token: &Token| Value::Text(&token.name)).sorts(),
        Column::text("role", |token: &Token| Value::Text(token.role.as_str())),
        Column::number("created_at", |token: &Token| Value::Number(token.created_at)).sorts(),
        Column::number("expires_at", |token: &Token| Value::or_null(token.expires_at))
            .or_null()
            .sorts(),
    ],
    limit_max: 1000,
};

/// Searches the caller's tokens.
#[utoipa::path(post, path = "/users/tokens/search", tag = "users", operation_id = "searchTokens",
    request_body = Search, responses((status = OK, body = Page<UserToken>)))]
pub(super) async fn search_tokens(
    State(app): State<Arc<App>>,
    SignedIn(sub): SignedIn,
    Body(search): Body<Search>,
) -> Result<Json<Page<UserToken>>, Problem> {
    let tokens = app.services.identity.tokens(&sub).await?;
    TOKENS.page(search, tokens, UserToken::from).map(Json)
}

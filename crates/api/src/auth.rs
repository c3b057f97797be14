//! Who sends a request, and what they may do.
//!
//! A handler says by its arguments whom it answers: [`Viewer`] is anybody who is known, [`Editor`] may change what is theirs, [`Admin`] what is everybody's, and
//! [`SignedIn`] has signed in at the identity provider, which no user token stands for.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, header, request::Parts},
};
use keyrack_identity::{Credential, Principal, Role};
use keyrack_keys::UserSub;
use keyrack_web::{App, Problem, access};

/// Somebody who is known, and may look at what is theirs.
pub(super) struct Viewer(pub(super) UserSub);

/// Somebody who may change what is theirs.
pub(super) struct Editor(pub(super) UserSub);

/// Somebody who may change what is everybody's.
pub(super) struct Admin(pub(super) UserSub);

/// Somebody who has signed in at the identity provider.
pub(super) struct SignedIn(pub(super) UserSub);

impl FromRequestParts<Arc<App>> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Viewer, Problem> {
        principal(parts, app).await.map(|principal| Viewer(principal.sub))
    }
}

impl FromRequestParts<Arc<App>> for Editor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Editor, Problem> {
        let principal = principal(parts, app).await?;
        if principal.role < Role::Operator {
            return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden")
                .title("the token does not allow this")
                .detail("it is that of a viewer; changes take the role operator"));
        }
        Ok(Editor(principal.sub))
    }
}

impl FromRequestParts<Arc<App>> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Admin, Problem> {
        let principal = principal(parts, app).await?;
        if principal.role < Role::Admin {
            return Err(Problem::new(StatusCode::FORBIDDEN, "forbidden")
                .title("the token does not allow this")
                .detail("it takes a user token of the role admin"));
        }
        Ok(Admin(principal.sub))
    }
}

impl FromRequestParts<Arc<App>> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<SignedIn, Problem> {
        let principal = principal(parts, app).await?;
        match principal.via {
            Credential::Jwt => Ok(SignedIn(principal.sub)),
            Credential::Token(_) => Err(invalid("a user token cannot do this; sign in")),
        }
    }
}

async fn principal(parts: &Parts, app: &App) -> Result<Principal, Problem> {
    let Some(value) = parts.headers.get(header::AUTHORIZATION) else {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "not_set")
            .title("missing access token")
            .detail("send a token in the header \"Authorization\", as in \"bearer ep_ut_…\""));
    };
    let token = value.to_str().ok().and_then(access::bearer);
    let Some(token) = token else {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "bad_format")
            .title("the header \"Authorization\" cannot be read")
            .detail("write \"Bearer\", a space and the token"));
    };
    app.services.identity.authenticate(token).await.map_err(|error| match error {
        keyrack_identity::Error::Denied { reason } => {
            tracing::debug!(reason, "a token was denied");
            invalid("it is unknown, has expired, or is not meant for this server")
        }
        error => error.into(),
    })
}

/// Nobody learns what exactly is wrong with a token.
fn invalid(detail: &'static str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "invalid").title("the token is not valid").detail(detail)
}

//! Routes with their description and their permissions: none is added without both.

use std::sync::Arc;

use axum::{Router, http::Method, middleware};
use keyrack_web::{
    App,
    access::{self, Permission, Permissions},
};
use utoipa::openapi::{OpenApi, path::HttpMethod};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::operations_by_method;

/// Routes of the API.
#[derive(Default)]
pub(crate) struct Routes {
    pub(crate) described: OpenApiRouter<Arc<App>>,
    permissions: Permissions,
}

impl Routes {
    /// No routes yet, with a description of the API as a whole.
    pub(crate) fn described_by(description: OpenApi) -> Routes {
        let described = OpenApiRouter::with_openapi(description);
        Routes { described, permissions: Permissions::default() }
    }

    /// Adds what `routes!` makes of a handler.
    pub(crate) fn add(
        mut self,
        permission: Permission,
        (schemas, mut paths, route): UtoipaMethodRouter<Arc<App>>,
    ) -> Routes {
        for (path, item) in &mut paths.paths {
            for (method, _) in operations_by_method(item) {
                self.permissions.declare(http_method(&method), path, permission);
            }
        }
        Routes { described: self.described.routes((schemas, paths, route)), ..self }
    }

    /// Adds other routes.
    pub(crate) fn merge(mut self, other: Routes) -> Routes {
        self.permissions.extend("", other.permissions);
        Routes { described: self.described.merge(other.described), ..self }
    }

    /// Adds other routes below a prefix.
    pub(crate) fn nest(mut self, prefix: &str, other: Routes) -> Routes {
        self.permissions.extend(prefix, other.permissions);
        Routes { described: self.described.nest(prefix, other.described), ..self }
    }

    /// Checks the role of each caller, and records changes.
    pub(crate) fn checked(self) -> Routes {
        Routes { described: self.described.layer(middleware::from_fn(access::enter)), ..self }
    }

    pub(crate) fn into_parts(self) -> (Router<Arc<App>>, OpenApi, Permissions) {
        let (router, description) = self.described.split_for_parts();
        (router, description, self.permissions)
    }
}

fn http_method(method: &HttpMethod) -> Method {
    match method {
        HttpMethod::Put => Method::PUT,
        HttpMethod::Post => Method::POST,
        HttpMethod::Delete => Method::DELETE,
        _ => Method::GET,
    }
}

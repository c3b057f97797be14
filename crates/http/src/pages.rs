//! The pages, rendered here and complete as they are: no script, nothing from elsewhere.

mod family;
mod home;

use askama::Template;
use axum::{
    http::StatusCode,
    response::{Html, IntoResponse as _, Response},
};

pub(crate) use self::{family::family, home::home};
use crate::{assets, problem::Problem};

/// What stands on an error's page.
#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorPage<'a> {
    pub(crate) title: &'a str,
    pub(crate) detail: &'a str,
}

fn render(page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => {
            tracing::error!(%error, "could not render a page");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "page_not_rendered").into_response()
        }
    }
}

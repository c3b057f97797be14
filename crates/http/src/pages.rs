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

/// Prose cut at its backticks: what stands between two of them is code.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let mark = if is_paired { "`" } else { "\0" };
    text.split(mark).enumerate().map(|(i, piece)| (i % 2 == 1, piece))
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

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn prose_is_cut_at_paired_backticks_only() {
        let cut = |text| pieces(text).collect::<Vec<_>>();
        assert_eq!(cut("`1` if set"), [(false, ""), (true, "1"), (false, " if set")]);
        assert_eq!(cut("a ` alone"), [(false, "a ` alone")]);
    }
}

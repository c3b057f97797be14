//! The reference of the API, made from its own description: what is served and what is told cannot differ.
//!
//! `shape` turns schemas into words, tables and examples, `operation` does the same for requests. All of it is worked out
//! once, when somebody first looks.

mod operation;
mod shape;

use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use keyrack_web::Problem;
use serde_json::Value as Json;

use self::{
    operation::Operation,
    shape::{Shape, Shapes},
};
use super::{Frame, Visit, assets, live::still};
use crate::Site;

/// The API as its description tells it.
static REFERENCE: OnceLock<Reference> = OnceLock::new();

impl Site {
    /// The reference of the API, made when somebody first looks.
    fn reference(&self) -> &'static Reference {
        REFERENCE.get_or_init(|| {
            let description = serde_json::from_str(&(self.describe)()).unwrap_or_default();
            Reference::of(&description)
        })
    }
}

struct Reference {
    about: String,
    version: String,
    groups: Vec<Group>,
}

/// What belongs together.
struct Group {
    name: String,
    /// Its name in addresses.
    slug: String,
    about: String,
    operations: Vec<Operation>,
    /// All shapes that they speak of.
    shapes: Vec<Shape>,
}

#[derive(Template)]
#[template(path = "reference.html")]
struct ReferencePage {
    frame: Frame,
    reference: &'static Reference,
}

#[derive(Template)]
#[template(path = "reference_group.html")]
struct GroupPage {
    frame: Frame,
    group: &'static Group,
    /// Where the examples go.
    host: String,
}

/// `GET /docs`
pub(crate) async fn reference(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let page = ReferencePage { frame: visit.frame, reference: site.reference() };
    still(&page, &page.frame, StatusCode::OK)
}

/// `GET /docs/{group}`
pub(crate) async fn group(
    State(site): State<Arc<Site>>,
    visit: Visit,
    Path(slug): Path<String>,
) -> Response {
    let Some(group) = site.reference().groups.iter().find(|group| group.slug == slug) else {
        let problem = Problem::new(StatusCode::NOT_FOUND, "no_such_chapter")
            .title("the reference has no such chapter")
            .detail(format!("\"{slug}\" is none of those that \"/docs\" lists"));
        return problem.for_reader(&visit.headers);
    };
    let page = GroupPage { host: host(&visit.headers), frame: visit.frame, group };
    still(&page, &page.frame, StatusCode::OK)
}

/// The name under which the reader came here, so that examples can be copied as they are.
fn host(headers: &HeaderMap) -> String {
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    // It stands in a command that people paste into a shell.
    let is_plain = |host: &&str| {
        host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte))
    };
    named.filter(is_plain).unwrap_or("localhost").to_owned()
}

impl Reference {
    fn of(description: &Json) -> Reference {
        let shapes = Shapes::of(&description["components"]["schemas"]);
        let operations = operation::all(&description["paths"], &shapes);
        let tags = description["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
        let groups = tags.iter().map(|tag| Group::of(tag, &operations, &shapes));
        Reference {
            about: text(&description["info"]["description"]),
            version: text(&description["info"]["version"]),
            groups: groups.filter(|group| !group.operations.is_empty()).collect(),
        }
    }
}

impl Group {
    fn of(tag: &Json, operations: &[(String, Operation)], shapes: &Shapes<'_>) -> Group {
        let name = text(&tag["name"]);
        let own = operations.iter().filter(|(of, _)| *of == name);
        let operations: Vec<Operation> = own.map(|(_, operation)| operation.clone()).collect();
        let first = operations.iter().flat_map(Operation::kinds);
        Group {
            slug: name.replace(' ', "-"),
            about: text(&tag["description"]),
            shapes: shapes.reachable(first),
            operations,
            name,
        }
    }
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn description() -> Json {
        serde_json::from_str(&keyrack_api::openapi()).expect("JSON")
    }

    #[test]
    fn every_operation_stands_in_exactly_one_chapter() {
        let description = description();
        let paths = description["paths"].as_object().expect("paths").values();
        let described: usize = paths.map(|path| path.as_object().expect("methods").len()).sum();
        let reference = Reference::of(&description);
        let told: usize = reference.groups.iter().map(|group| group.operations.len()).sum();
        assert_eq!(told, described, "an operation has a tag that the description does not list");
    }

    #[test]
    fn every_shape_that_a_chapter_speaks_of_is_explained_in_it() {
        for group in &Reference::of(&description()).groups {
            let explained: Vec<&str> =
                group.shapes.iter().map(|shape| shape.name.as_str()).collect();
            let fields = group.shapes.iter().flat_map(Shape::kinds);
            for kind in group.operations.iter().flat_map(Operation::kinds).chain(fields) {
                for name in kind.shapes() {
                    assert!(explained.contains(&name), "{name} in {}", group.name);
                }
            }
        }
    }

    #[test]
    fn host_that_a_shell_would_not_take_as_a_word_is_not_repeated() {
        let with = |value: &'static str| {
            host(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(value))]))
        };
        assert_eq!(with("127.0.0.1:7700"), "127.0.0.1:7700");
        assert_eq!(with("[::1]:7700"), "[::1]:7700");
        assert_eq!(with("a;reboot"), "localhost");
        assert_eq!(host(&HeaderMap::new()), "localhost");
    }
}

//! What each route asks of its callers.

use keyrack_identity::Role;
use serde_json::Value as Json;

/// What a route asks of its callers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Asks {
    /// Nothing: whoever knows what to ask for may.
    Nothing,
    /// A token or session for the whole server, of this role at least.
    Server(Role),
    /// A token of any user, who gets at what is theirs; operators can change it.
    User(Role),
    /// A token of an admin, on a route that is otherwise for users.
    UserAdmin,
    /// To have signed in at the identity provider.
    SignedIn,
    /// The token of a project of calculations.
    Project,
    /// The token of an admin of calculations.
    ProjectAdmin,
    /// The secret of those who announce updates.
    Secret,
    /// A token of the user whose trace it is, or one for the whole server.
    Watch,
    /// A ticket for the journey.
    Ticket,
    /// Stripe's signature.
    Signature,
}

/// A route, and a request that takes it.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) template: String,
    pub(super) asks: Asks,
    query: &'static str,
    pub(super) body: String,
}

impl Route {
    /// A path of that template.
    pub(super) fn path(&self) -> String {
        let segments =
            self.template.split('/').map(|name| if name.starts_with('{') { "1" } else { name });
        format!("{}{}", segments.collect::<Vec<_>>().join("/"), self.query)
    }

    /// Whether it changes anything, or is a form that does.
    pub(super) fn is_change(&self) -> bool {
        let path = self.template.as_str();
        let is_form =
            ["/submit", "/bulk", "/UpdateRecommendation/", "/api/1/users/me/revenue_cat_id"]
                .contains(&path)
                || path == "/recurring/new"
                || ["/jobs/{jid}/change", "/recurring/{name}/change", "/alerts/mute"]
                    .contains(&path);
        let is_look = self.method == "GET"
            || path.ends_with("/search")
            || path.ends_with("/tickets")
            || ["/sign-in", "/sign-out", "/theme"].contains(&path);
        is_form || !is_look
    }
}

const LOOK: Asks = Asks::Server(Role::Viewer);
const CHANGE: Asks = Asks::Server(Role::Operator);
const MANAGE: Asks = Asks::Server(Role::Admin);
const KNOWN: Asks = Asks::User(Role::Viewer);
const EDITOR: Asks = Asks::User(Role::Operator);

/// Every described route but those about what is everybody's, of which the method says what they ask for.
const TABLE: &[(&str, &str, Asks)] = &[
    ("DELETE", "/api/1/queues/{queue}", MANAGE),
    ("GET", "/api/1/audit", MANAGE),
    ("POST", "/api/1/webhooks", MANAGE),
    ("POST", "/api/1/webhooks/{webhook}/change", MANAGE),
    ("DELETE", "/api/1/webhooks/{webhook}", MANAGE),
    ("GET", "/UpdateRecommendation/", CHANGE),
    ("POST", "/api/1/users/", Asks::SignedIn),
    ("POST", "/api/1/users/tokens/", Asks::SignedIn),
    ("PUT", "/api/1/users/tokens/{uid}", Asks::SignedIn),
    ("DELETE", "/api/1/users/tokens/{uid}", Asks::SignedIn),
    ("POST", "/api/1/users/tokens/search", Asks::SignedIn),
    ("POST", "/api/1/users/pricing_plans/tiers/search", KNOWN),
    ("GET", "/api/1/user_usages/get_current", KNOWN),
    ("POST", "/api/1/user_usages/search", KNOWN),
    ("POST", "/api/1/progress_bars/", EDITOR),
    ("PUT", "/api/1/progress_bars/", EDITOR),
    ("DELETE", "/api/1/progress_bars/", EDITOR),
    ("POST", "/api/1/progress_bars/search", KNOWN),
    ("POST", "/api/1/progress_bars/steps/", EDITOR),
    ("PUT", "/api/1/progress_bars/steps/", EDITOR),
    ("DELETE", "/api/1/progress_bars/steps/", EDITOR),
    ("POST", "/api/1/progress_bars/steps/search", KNOWN),
    ("POST", "/api/1/progress_bars/traces/", EDITOR),
    ("DELETE", "/api/1/progress_bars/traces/", EDITOR),
    ("POST", "/api/1/progress_bars/traces/search", KNOWN),
    ("POST", "/api/1/progress_bars/traces/steps/", EDITOR),
    ("POST", "/api/1/progress_bars/traces/failures/", EDITOR),
    ("POST", "/api/1/progress_bars/traces/steps/search", KNOWN),
    ("GET", "/api/1/progress_bars/traces/events", Asks::Watch),
    ("GET", "/api/1/users/me/entitlements/{identifier}", KNOWN),
    ("GET", "/api/1/users/me/revenue_cat_id", KNOWN),
    ("POST", "/api/1/users/me/checkout/stripe/start", Asks::SignedIn),
    ("POST", "/api/1/users/me/checkout/stripe/finish", Asks::SignedIn),
    ("POST", "/api/1/checkout/stripe/webhook", Asks::Signature),
    ("POST", "/api/1/limits/{name}/take", EDITOR),
    ("POST", "/api/1/continuous_deployment/update", Asks::Secret),
    ("GET", "/api/1/journeys", KNOWN),
    ("POST", "/api/1/journeys", Asks::UserAdmin),
    ("GET", "/api/1/journeys/{uid}", KNOWN),
    ("DELETE", "/api/1/journeys/{uid}", Asks::UserAdmin),
    ("GET", "/api/1/journeys/{uid}/live", Asks::Ticket),
    ("POST", "/api/1/journeys/{uid}/sessions", KNOWN),
    ("GET", "/api/1/journeys/{uid}/stats", KNOWN),
    ("POST", "/api/1/journeys/{uid}/tickets", KNOWN),
    ("POST", "/api/1/journeys/events/join", KNOWN),
    ("POST", "/api/1/journeys/events/leave", KNOWN),
    ("POST", "/api/1/journeys/events/like", KNOWN),
    ("POST", "/api/1/journeys/events/respond_color_prompt", KNOWN),
    ("POST", "/api/1/journeys/events/respond_numeric_prompt", KNOWN),
    ("POST", "/api/1/journeys/events/respond_press_prompt/end", KNOWN),
    ("POST", "/api/1/journeys/events/respond_press_prompt/start", KNOWN),
    ("POST", "/api/1/journeys/events/respond_word_prompt", KNOWN),
    ("POST", "/api/1.0/admin/account", Asks::ProjectAdmin),
    ("POST", "/api/1.0/admin/token", Asks::ProjectAdmin),
    ("DELETE", "/api/1.0/admin/token", Asks::ProjectAdmin),
    ("POST", "/api/1.0/event", Asks::Project),
    ("GET", "/api/1.0/event/{dimension}/{key}", Asks::Project),
    ("GET", "/api/1.0/event/{dimension}/{key}/{calculation}/{interval}", Asks::Project),
    ("POST", "/api/1.0/rule/comparator", Asks::Project),
    ("POST", "/api/1.0/rule/observer", Asks::Project),
    ("POST", "/api/1/calculations/events", Asks::Project),
    ("GET", "/api/1/calculations/keys/{dimension}/{key}", Asks::Project),
    ("DELETE", "/api/1/calculations/keys/{dimension}/{key}", Asks::Project),
    ("DELETE", "/api/1/calculations/keys/{dimension}/{key}/values", Asks::Project),
    ("GET", "/api/1/calculations/keys/{dimension}/{key}/trend/{interval}", Asks::Project),
    (
        "GET",
        "/api/1/calculations/keys/{dimension}/{key}/{calculation}/{interval}/series",
        Asks::Project,
    ),
    ("GET", "/api/1/calculations/live/events", Asks::Project),
    ("GET", "/api/1/calculations/rules", Asks::Project),
    ("DELETE", "/api/1/calculations/rules/{number}", Asks::Project),
    ("GET", "/api/1/calculations/settings", Asks::Project),
    ("PUT", "/api/1/calculations/settings", Asks::Project),
];

/// The tags of what is everybody's. Looking is for viewers, changing for operators, unless the table says otherwise.
const EVERYBODYS: [&str; 10] = [
    "queues",
    "jobs",
    "worker",
    "recurring",
    "alerts",
    "webhooks",
    "audit",
    "examples",
    "files",
    "recommendations",
];

/// Every route of the description.
///
/// # Panics
/// When there is one about which nobody has said whom it lets in, or one that is gone.
pub(super) fn described() -> Vec<Route> {
    let description: Json = serde_json::from_str(&keyrack_api::openapi()).expect("JSON");
    let mut routes = Vec::new();
    for (path, operations) in description["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let tag = operation["tags"][0].as_str().expect("a tag");
            let method = known(method);
            let row = TABLE.iter().find(|row| (row.0, row.1) == (method, path));
            let is_everybodys = EVERYBODYS.contains(&tag) || path == "/api/1/entitlements/purge";
            let asks = match row {
                Some(row) => row.2,
                None if is_everybodys && method == "GET" => LOOK,
                None if is_everybodys => CHANGE,
                None => panic!("nobody has said whom {method} {path} lets in"),
            };
            routes.push(Route::new(method, path, asks));
        }
    }
    for (method, path, _) in TABLE {
        let is_there =
            routes.iter().any(|route| (route.method, &*route.template) == (method, path));
        assert!(is_there, "{method} {path} is gone");
    }
    routes
}

fn known(method: &str) -> &'static str {
    let known = ["GET", "POST", "PUT", "DELETE"].into_iter();
    known.into_iter().find(|known| known.eq_ignore_ascii_case(method)).expect("a method")
}

impl Route {
    fn new(method: &'static str, path: &str, asks: Asks) -> Route {
        let query = match asks {
            Asks::Ticket => "?jwt=x&journey_time=0",
            Asks::Watch => "?sub=somebody&progress_bar_name=x&progress_bar_trace_uid=y",
            _ => "",
        };
        let body = match path {
            "/api/1.0/event" => {
                r#"{"access_token": "{token}", "dimension": "x", "key": "y", "value": "1", "created_at": "now", "interval": [], "calculation": []}"#
            }
            "/api/1.0/admin/token" if method == "POST" => {
                r#"{"access_token": "{token}", "account": "1", "project": "1", "token": "a token of one's own"}"#
            }
            _ if asks == Asks::ProjectAdmin => {
                r#"{"access_token": "{token}", "account": "1", "project": "1"}"#
            }
            _ => "{}",
        };
        Route { method, template: path.to_owned(), asks, query, body: body.to_owned() }
    }
}

/// Every page and every form.
pub(super) fn pages() -> Vec<Route> {
    let permissions = keyrack_dashboard::permissions();
    let routes = permissions.routes().map(|(method, path)| {
        let method = known(method.as_str());
        Route::new(method, path, page_asks(method, path))
    });
    routes.collect()
}

fn page_asks(method: &str, path: &str) -> Asks {
    match (method, path) {
        (_, "/sign-in" | "/sign-out" | "/theme") => Asks::Nothing,
        (_, "/audit" | "/queues/{queue}/delete") => MANAGE,
        (
            _,
            "/submit"
            | "/bulk"
            | "/alerts/mute"
            | "/jobs/{jid}/change"
            | "/recurring/new"
            | "/recurring/{name}/change",
        )
        | ("POST", _) => CHANGE,
        _ => LOOK,
    }
}

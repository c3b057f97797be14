//! What each route asks of its callers, and what a change is called in the audit log. A route declares it where it is
//! registered: [`Routes`] takes no route without.

use std::{collections::HashMap, convert::Infallible};

use axum::{
    Router,
    handler::Handler,
    http::Method,
    middleware,
    routing::{MethodRouter, get, post},
};
use keyrack_identity::Role;

use super::enter;

/// What a route asks of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// The least role; `None` if anybody may, or if the handler checks the caller itself.
    pub(super) role: Option<Role>,
    /// Whether it changes anything, or is of no use where nothing can be changed.
    pub(super) is_change: bool,
    /// What the change is called in the audit log.
    pub(super) audit: Option<&'static str>,
    /// Whether other sites may link to it.
    pub(super) takes_links: bool,
}

impl Permission {
    const fn new(role: Option<Role>, is_change: bool, audit: Option<&'static str>) -> Permission {
        Permission { role, is_change, audit, takes_links: false }
    }

    /// Anybody may, as for signing in.
    pub const fn anybody() -> Permission {
        Permission::new(None, false, None)
    }

    /// Reads with this role.
    pub const fn read(role: Role) -> Permission {
        Permission::new(Some(role), false, None)
    }

    /// Changes something with this role, under this word in the audit log.
    pub const fn change(role: Role, audit: &'static str) -> Permission {
        Permission::new(Some(role), true, Some(audit))
    }

    /// Changes something with this role, without an entry in the audit log. That is for what programs do all day, which would
    /// push everything else out, and for forms that lead to a change.
    pub const fn unaudited_change(role: Role) -> Permission {
        Permission::new(Some(role), true, None)
    }

    /// Reads what belongs to the caller. The handler checks who that is.
    pub const fn own_read() -> Permission {
        Permission::new(None, false, None)
    }

    /// Changes what belongs to the caller. The handler checks who that is, and writes the audit log itself.
    pub const fn own_change() -> Permission {
        Permission::new(None, true, None)
    }

    /// Other sites may link to it, as to pages. A program's address takes no links: it may change something though it is a GET.
    pub const fn linked(self) -> Permission {
        Permission { takes_links: true, ..self }
    }

    /// For a method that a path does not have, before the answer says so.
    fn undeclared(method: &Method) -> Permission {
        match method.is_safe() {
            true => Permission::read(Role::Viewer),
            false => Permission::unaudited_change(Role::Operator),
        }
    }
}

/// The permissions of all routes, in the order of their declaration.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    declared: Vec<(Method, String, Permission)>,
    by_path: HashMap<String, Vec<(Method, Permission)>>,
}

impl Permissions {
    /// Declares what a route asks for.
    pub fn declare(&mut self, method: Method, path: &str, permission: Permission) {
        self.by_path.entry(path.to_owned()).or_default().push((method.clone(), permission));
        self.declared.push((method, path.to_owned(), permission));
    }

    /// Takes up those of other routes, below a prefix.
    pub fn extend(&mut self, prefix: &str, other: Permissions) {
        for (method, path, permission) in other.declared {
            self.declare(method, &format!("{prefix}{path}"), permission);
        }
    }

    /// All routes that were declared.
    pub fn routes(&self) -> impl Iterator<Item = (&Method, &str)> {
        self.declared.iter().map(|(method, path, _)| (method, path.as_str()))
    }

    /// What a route asks for. `HEAD` is answered by what answers `GET`.
    pub(super) fn of(&self, method: &Method, path: &str) -> Permission {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let mut of_path = self.by_path.get(path).into_iter().flatten();
        let found = of_path.find(|(declared, _)| declared == method);
        found.map_or_else(|| Permission::undeclared(method), |(_, permission)| *permission)
    }
}

/// Routes with their permissions.
#[derive(Debug)]
pub struct Routes<S> {
    router: Router<S>,
    permissions: Permissions,
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Routes<S> {
        Routes { router: Router::new(), permissions: Permissions::default() }
    }
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// A route that is answered by another router's own means.
    pub fn from_parts(router: Router<S>, permissions: Permissions) -> Routes<S> {
        Routes { router, permissions }
    }

    /// Adds a page or a stream.
    pub fn get<H, T>(self, path: &str, permission: Permission, handler: H) -> Routes<S>
    where
        H: Handler<T, S>,
        T: 'static,
    {
        self.add(Method::GET, path, permission, get(handler))
    }

    /// Adds what a form does.
    pub fn post<H, T>(self, path: &str, permission: Permission, handler: H) -> Routes<S>
    where
        H: Handler<T, S>,
        T: 'static,
    {
        self.add(Method::POST, path, permission, post(handler))
    }

    fn add(
        mut self,
        method: Method,
        path: &str,
        permission: Permission,
        route: MethodRouter<S, Infallible>,
    ) -> Routes<S> {
        let is_api = path.starts_with("/api/");
        let permission = Permission { takes_links: !is_api, ..permission };
        self.permissions.declare(method, path, permission);
        Routes { router: self.router.route(path, route), ..self }
    }

    /// Adds other routes.
    pub fn merge(mut self, other: Routes<S>) -> Routes<S> {
        self.permissions.extend("", other.permissions);
        Routes { router: self.router.merge(other.router), ..self }
    }

    /// Checks the role of each caller, and records changes.
    pub fn checked(self) -> Routes<S> {
        self.map(|router| router.layer(middleware::from_fn(enter)))
    }

    /// The same permissions with a router that `change` makes of this one.
    pub fn map<T>(self, change: impl FnOnce(Router<S>) -> Router<T>) -> Routes<T> {
        Routes { router: change(self.router), permissions: self.permissions }
    }

    /// The router and the permissions, which have to be handed to it as an extension.
    pub fn into_parts(self) -> (Router<S>, Permissions) {
        (self.router, self.permissions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_asks_for_what_it_has_declared() {
        let mut below = Permissions::default();
        below.declare(Method::GET, "/audit", Permission::read(Role::Admin));
        let mut all = Permissions::default();
        all.extend("/api/1", below);
        assert_eq!(all.of(&Method::GET, "/api/1/audit").role, Some(Role::Admin));
        assert_eq!(all.of(&Method::HEAD, "/api/1/audit").role, Some(Role::Admin));
    }

    #[test]
    fn method_that_a_path_does_not_have_is_not_open() {
        let none = Permissions::default();
        assert_eq!(none.of(&Method::GET, "/x").role, Some(Role::Viewer));
        let change = none.of(&Method::POST, "/x");
        assert_eq!((change.role, change.is_change), (Some(Role::Operator), true));
    }
}

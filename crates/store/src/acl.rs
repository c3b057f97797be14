//! A Redis user with just the rights that keyrack needs.

mod commands;

use keyrack_keys::{Database, Family, Key, Layout, Origin, Registry};
use sha2::{Digest as _, Sha256};

use self::commands::{COMMANDS, OF_FILES};

/// Who the user is, and which keys it may touch.
#[derive(Clone, Copy, Debug)]
pub struct AclUser<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its password, of which only the SHA-256 is printed; without one nobody can log in as this user.
    pub password: Option<&'a str>,
    /// How keys and channels are named on the server.
    pub layout: Layout,
    /// The projects of the calculations whose keys it may touch.
    pub projects: AclProjects<'a>,
}

/// The projects of the calculations that a user may touch.
///
/// Redis 7.0 cannot bind a user to numbered databases, and keys in the databases of accounts have names of common forms
/// such as `a:b:c:1`. So patterns for them match keys of other programs too, unless the projects are known.
#[derive(Clone, Copy, Debug)]
pub enum AclProjects<'a> {
    /// These only; without any, no key in an account's database.
    Named(&'a [&'a str]),
    /// All, and with them every key of other programs that is named like one of theirs.
    All,
}

/// A line of an ACL file: a user who may touch the registry's keys and channels only, with the commands that keyrack sends.
///
/// Keys that other programs own, those of keys files among them, may be read and not written.
///
/// ```
/// use keyrack_keys::{Layout, Registry};
/// use keyrack_store::{AclProjects, AclUser, acl_user};
///
/// let projects = AclProjects::Named(&[]);
/// let app = AclUser { name: "app", password: None, layout: Layout::Documented, projects };
/// assert!(acl_user(&app, &Registry::new(&[])).starts_with("user app reset on +auth "));
/// ```
pub fn acl_user(user: &AclUser<'_>, registry: &Registry) -> String {
    let mut words =
        vec!["user".to_owned(), user.name.to_owned(), "reset".to_owned(), "on".to_owned()];
    words.extend(user.password.map(acl_password));
    // A script gets the channels it publishes on among its KEYS, so they have to pass as keys too.
    for family in registry.all() {
        let is_ours = !matches!(family.origin, Origin::Foreign | Origin::File);
        let rights = if is_ours { "~" } else { "%R~" };
        words.extend(patterns(family, user).into_iter().map(|glob| format!("{rights}{glob}")));
    }
    // Nothing is stored there, but whoever names a key needs the right to it.
    let on_cluster = user.layout == Layout::Cluster;
    words.extend(on_cluster.then(|| format!("~{}", Key::absent_pattern())));
    for family in registry.channels() {
        words.extend(patterns(family, user).into_iter().map(|glob| format!("&{glob}")));
    }
    let has_files = registry.all().any(|family| family.origin == Origin::File);
    let of_files = OF_FILES.iter().filter(|_| has_files);
    let commands = COMMANDS.iter().flat_map(|group| group.commands).chain(of_files);
    words.extend(commands.map(|name| format!("+{name}")));
    words.join(" ")
}

/// The narrowest patterns for the keys or channels of a family that the user may touch.
fn patterns(family: &Family, user: &AclUser<'_>) -> Vec<String> {
    let mut globs = Vec::new();
    for layout in layouts(family, user.layout) {
        match user.projects {
            AclProjects::Named(names) if family.database == Database::Account => {
                globs.extend(
                    names.iter().map(|name| family.narrow_pattern(layout, &[("project", name)])),
                );
            }
            _ => globs.push(family.narrow_pattern(layout, &[])),
        }
    }
    globs.dedup();
    globs
}

/// Accounts for which a server has no database share one, under the hash tags of a cluster.
fn layouts(family: &Family, layout: Layout) -> impl Iterator<Item = Layout> {
    let shared = family.database == Database::Account && layout == Layout::Documented;
    std::iter::once(layout).chain(shared.then_some(Layout::Cluster))
}

/// A password as an ACL takes it without telling it: its SHA-256.
pub fn acl_password(password: &str) -> String {
    let digest = Sha256::digest(password.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("#{hex}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn password_is_told_as_its_digest_only() {
        let projects = AclProjects::Named(&[]);
        let user =
            AclUser { name: "u", password: Some("abc"), layout: Layout::Documented, projects };
        let line = acl_user(&user, &Registry::new(&[]));
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(line.starts_with(&format!("user u reset on #{abc} +")), "{line}");
    }

    #[test]
    fn commands_are_listed_once_with_a_purpose() {
        let commands = || COMMANDS.iter().flat_map(|group| group.commands);
        assert_eq!(commands().count(), commands().collect::<BTreeSet<_>>().len());
        assert!(COMMANDS.iter().all(|group| !group.purpose.is_empty()));
    }
}

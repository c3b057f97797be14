//! A Redis user with just the rights that keyrack needs.

mod commands;

use keyrack_keys::{Database, Family, Key, Layout, Origin, Registry};
use sha2::{Digest as _, Sha256};

use self::commands::COMMANDS;

/// A line of an ACL file: a user who may touch the registry's keys and channels only, with the commands that keyrack sends.
///
/// Of the password, only the SHA-256 is in it; without one nobody can log in as this user. Keys that other programs own
/// may be read and not written.
///
/// ```
/// use keyrack_keys::{Layout, Registry};
///
/// let line = keyrack_store::acl_user("app", None, Layout::Documented, &Registry::new(&[]));
/// assert!(line.starts_with("user app reset on +auth "));
/// ```
pub fn acl_user(name: &str, password: Option<&str>, layout: Layout, registry: &Registry) -> String {
    let mut words = vec!["user".to_owned(), name.to_owned(), "reset".to_owned(), "on".to_owned()];
    words.extend(password.map(|password| format!("#{}", sha256(password))));
    // A script gets the channels it publishes on among its KEYS, so they have to pass as keys too.
    words.extend(patterns(registry.all(), layout));
    // Nothing is stored there, but whoever names a key needs the right to it.
    words.extend((layout == Layout::Cluster).then(|| format!("~{}", Key::absent_pattern())));
    let channels = registry.channels().flat_map(|family| {
        layouts(family, layout).map(|layout| format!("&{}", family.pattern(layout)))
    });
    words.extend(channels);
    words.extend(COMMANDS.iter().flat_map(|group| group.commands).map(|name| format!("+{name}")));
    words.join(" ")
}

/// What may be read and written, and what may be read only.
fn patterns(
    families: impl Iterator<Item = &'static Family>,
    layout: Layout,
) -> impl Iterator<Item = String> {
    families.flat_map(move |family| {
        let rights = if family.origin == Origin::Foreign { "%R~" } else { "~" };
        layouts(family, layout).map(move |layout| format!("{rights}{}", family.pattern(layout)))
    })
}

/// Accounts for which a server has no database share one, under the hash tags of a cluster.
fn layouts(family: &Family, layout: Layout) -> impl Iterator<Item = Layout> {
    let shared = family.database == Database::Account && layout == Layout::Documented;
    std::iter::once(layout).chain(shared.then_some(Layout::Cluster))
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn password_is_told_as_its_digest_only() {
        let line = acl_user("u", Some("abc"), Layout::Documented, &Registry::new(&[]));
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

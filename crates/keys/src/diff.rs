//! What a change of declarations means for the programs that read and write the keys.

mod parts;
mod values;

use std::collections::BTreeMap;

use crate::family::{Content, Family, Ttl};
use crate::key::Layout;

/// Whom a change breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breaks {
    /// Nobody.
    Nobody,
    /// Programs that read, as they were written for the old declaration.
    Readers,
    /// Programs that write.
    Writers,
    /// Both.
    Both,
}

impl Breaks {
    /// Whoever is broken by this or by another change.
    fn and(self, other: Breaks) -> Breaks {
        match (self, other) {
            (a, b) if a == b => a,
            (Breaks::Nobody, breaks) | (breaks, Breaks::Nobody) => breaks,
            _ => Breaks::Both,
        }
    }
}

/// What the next version has to say about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// The declarations say the same.
    Same,
    /// Words only.
    Patch,
    /// Something was added.
    Minor,
    /// Something breaks.
    Major,
}

/// One difference between two sets of declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The family's id.
    pub family: String,
    /// What is different.
    pub what: String,
    /// Whom it breaks.
    pub breaks: Breaks,
    /// How to get from the old to the new; empty if nothing has to be done.
    pub migration: String,
    /// What it means for the version.
    pub version: Version,
}

/// What changed from `old` to `new`, family by family.
pub fn diff(old: &[&'static Family], new: &[&'static Family]) -> Vec<Change> {
    let by_id = |families: &[&'static Family]| -> BTreeMap<String, &'static Family> {
        families.iter().map(|family| (family.id(), *family)).collect()
    };
    let (before, after) = (by_id(old), by_id(new));
    let mut changes = Vec::new();
    for (id, was) in &before {
        match after.get(id) {
            Some(is) => Differ { id, changes: &mut changes }.family(was, is),
            None => changes.push(gone(id, was, new)),
        }
    }
    for (id, family) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
        changes.push(Change {
            family: id.clone(),
            what: format!("added: {}", family.template),
            breaks: Breaks::Nobody,
            migration: String::new(),
            version: Version::Minor,
        });
    }
    changes.sort_by(|a, b| (&a.family, &a.what).cmp(&(&b.family, &b.what)));
    changes
}

/// What the next version should be.
pub fn version(changes: &[Change]) -> Version {
    changes.iter().map(|change| change.version).max().unwrap_or(Version::Same)
}

fn gone(id: &str, was: &Family, new: &[&'static Family]) -> Change {
    let renamed = new.iter().find(|family| family.template == was.template);
    let (what, migration) = match renamed {
        Some(family) => (
            format!("renamed to {}", family.id()),
            "keys stay as they are; regenerate code that names the family".to_owned(),
        ),
        None => (
            format!("removed: {}", was.template),
            format!("delete {} once nothing reads it", was.pattern(Layout::Documented)),
        ),
    };
    let breaks = if renamed.is_some() { Breaks::Nobody } else { Breaks::Both };
    Change { family: id.to_owned(), what, breaks, migration, version: Version::Major }
}

/// Collects the changes of one family.
struct Differ<'a> {
    id: &'a str,
    changes: &'a mut Vec<Change>,
}

impl Differ<'_> {
    fn add(&mut self, breaks: Breaks, what: String, migration: impl Into<String>) {
        let version = if breaks == Breaks::Nobody { Version::Minor } else { Version::Major };
        let (family, migration) = (self.id.to_owned(), migration.into());
        self.changes.push(Change { family, what, breaks, migration, version });
    }

    fn family(&mut self, was: &'static Family, is: &'static Family) {
        let before = self.changes.len();
        self.names(was, is);
        if was.content.redis_type() == is.content.redis_type()
            && std::mem::discriminant(&was.content) == std::mem::discriminant(&is.content)
        {
            self.content(&was.content, &is.content);
        } else {
            let what = format!("type: {} became {}", was.content.noun(), is.content.noun());
            self.add(Breaks::Both, what, "write new keys under a new name, then switch readers");
        }
        self.openness(was, is);
        self.ttl(was.ttl, is.ttl);
        self.limits(was, is);
        self.programs(was, is);
        let texts = |family: &Family| {
            let rows: Vec<String> =
                family.content.rows().into_iter().map(|row| row.prose).collect();
            (family.text(), rows, family.removed, family.example, family.team)
        };
        if self.changes.len() == before && texts(was) != texts(is) {
            self.changes.push(Change {
                family: self.id.to_owned(),
                what: "words changed".into(),
                breaks: Breaks::Nobody,
                migration: String::new(),
                version: Version::Patch,
            });
        }
    }

    fn names(&mut self, was: &'static Family, is: &'static Family) {
        let (a, b) = (was.template_in(Layout::Documented), is.template_in(Layout::Documented));
        let bare = |family: &Family, layout| family.pattern(layout);
        if bare(was, Layout::Documented) != bare(is, Layout::Documented) {
            let migration = format!("rename keys from {a} to {b}: \"keyrack keys migrate\"");
            self.add(Breaks::Both, format!("name: {a} became {b}"), migration);
            return;
        }
        for (a, b) in was.parts.iter().zip(is.parts) {
            self.part(a, b);
        }
        if bare(was, Layout::Cluster) != bare(is, Layout::Cluster) {
            let what = format!("on a cluster: {}", is.template_in(Layout::Cluster));
            self.add(Breaks::Both, what, "rename keys on clusters");
        }
        if was.database != is.database {
            let what = format!("database: {} became {}", was.database, is.database);
            self.add(Breaks::Both, what, "MOVE the keys, or copy them");
        }
    }

    /// Fields that nobody declared, and who sees the keys.
    fn openness(&mut self, was: &Family, is: &Family) {
        match (was.open, is.open) {
            (false, true) => {
                let migration = "readers leave alone what they do not know";
                self.add(Breaks::Readers, "other fields became allowed".to_owned(), migration);
            }
            (true, false) => {
                let migration = "declare the fields that are there, or HDEL them";
                self.add(Breaks::Writers, "other fields are no longer allowed".into(), migration);
            }
            _ => {}
        }
        if was.secret != is.secret {
            let what = if is.secret { "became secret" } else { "is no longer secret" };
            self.add(Breaks::Nobody, what.to_owned(), "");
        }
    }

    fn ttl(&mut self, was: Ttl, is: Ttl) {
        let what = format!("expires: {was} became {is}");
        match (was, is) {
            (was, is) if was == is => {}
            (Ttl::Within(before), Ttl::Within(after)) if after > before => {
                self.add(Breaks::Nobody, what, "")
            }
            (Ttl::Undeclared, _) | (Ttl::Within(_), Ttl::Required) => {
                self.add(Breaks::Nobody, what, "")
            }
            (_, Ttl::Never) | (_, Ttl::Undeclared) => {
                self.add(Breaks::Writers, what, "writers stop setting a TTL; PERSIST what is there")
            }
            _ => self.add(Breaks::Both, what, "writers set the new TTL; EXPIRE what is there"),
        }
    }

    fn limits(&mut self, was: &Family, is: &Family) {
        for (name, before, after) in
            [("max_items", was.items_max, is.items_max), ("max_bytes", was.bytes_max, is.bytes_max)]
        {
            let narrower = after.is_some_and(|after| before.is_none_or(|before| after < before));
            let shown = |max: Option<u64>| max.map_or("none".to_owned(), |max| max.to_string());
            if before != after {
                let what = format!("{name}: {} became {}", shown(before), shown(after));
                let breaks = if narrower { Breaks::Writers } else { Breaks::Nobody };
                self.add(breaks, what, if narrower { "trim keys that are larger" } else { "" });
            }
        }
    }

    fn programs(&mut self, was: &Family, is: &Family) {
        let pairs = [
            ("writer", was.writers, is.writers, Breaks::Writers),
            ("reader", was.readers, is.readers, Breaks::Readers),
        ];
        for (role, before, after, breaks) in pairs {
            for program in before.iter().filter(|program| !after.contains(program)) {
                let migration = format!("{program} loses its rights: make its ACL again");
                self.add(breaks, format!("{role} {program} removed"), migration);
            }
            for program in after.iter().filter(|program| !before.contains(program)) {
                let migration = format!("make the ACL of {program} again");
                self.add(Breaks::Nobody, format!("{role} {program} added"), migration);
            }
        }
    }

    fn content(&mut self, was: &'static Content, is: &'static Content) {
        match (was, is) {
            (Content::Hash(a), Content::Hash(b)) | (Content::Stream(a), Content::Stream(b)) => {
                self.fields(a, b);
            }
            _ => {
                for (name, a, b) in values::pairs(was, is) {
                    self.encoding(name, a, b);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

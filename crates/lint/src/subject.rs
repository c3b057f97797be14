//! A key on its way through the checks, and what its name alone says.

use keyrack_keys::{Content, Database, Encoding, Family, Layout, Listed, Origin, Parsed, Registry};

use crate::finding::Faults;
use crate::rule::Rule;

/// The lowest database that belongs to an account.
const ACCOUNT_DB_MIN: i64 = 100;

/// A key that was met, and the family its name belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) raw: Vec<u8>,
    pub(crate) family: Option<&'static Family>,
    /// The hash tag is where no declaration puts it, so only the family is known.
    misplaced_tag: bool,
    layout: Layout,
}

/// Where keys are met: what their names have to fit beside their declarations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    /// How keys are named in this store.
    pub(crate) layout: Layout,
    /// The database that the store's address names.
    pub(crate) main_db: i64,
    /// The database that is being walked.
    pub(crate) db: i64,
}

impl Subject {
    pub(crate) fn new(registry: &Registry, raw: Vec<u8>) -> Self {
        if let Some((family, layout)) = registry.family_of(&raw) {
            return Self { raw, family: Some(family), misplaced_tag: false, layout };
        }
        let family = without_tag(&raw).and_then(|bare| registry.family_of(&bare));
        let misplaced_tag = family.is_some();
        Self {
            raw,
            family: family.map(|(family, _)| family),
            misplaced_tag,
            layout: Layout::Cluster,
        }
    }

    /// Is it another program's key?
    pub(crate) fn is_foreign(&self) -> bool {
        self.family.is_some_and(|family| family.origin == Origin::Foreign)
    }

    /// The declared content, unless nobody promises any.
    pub(crate) fn content(&self) -> Option<&'static Content> {
        self.family.filter(|_| !self.is_foreign()).map(|family| &family.content)
    }

    /// The command that tells the size of the key, and the most that it may be.
    pub(crate) fn limit(&self) -> Option<(&'static str, u64)> {
        let family = self.family.filter(|_| !self.is_foreign())?;
        let command = match family.content {
            Content::String(_) | Content::Bitmap(_) | Content::HyperLogLog(_) => {
                return family.bytes_max.map(|max| ("STRLEN", max));
            }
            Content::List(_) => "LLEN",
            Content::Set(_) => "SCARD",
            Content::SortedSet { .. } => "ZCARD",
            Content::Hash(_) | Content::Map { .. } => "HLEN",
            Content::Stream(_) => "XLEN",
            Content::Channel(_) => return None,
        };
        family.items_max.map(|max| (command, max))
    }

    /// What that size counts.
    pub(crate) fn limit_noun(&self) -> &'static str {
        match self.limit() {
            Some(("STRLEN", _)) => "bytes",
            Some(("HLEN", _)) => "fields",
            Some(("XLEN", _)) => "entries",
            Some(("LLEN", _)) => "items",
            _ => "members",
        }
    }

    /// Where the key has to be named.
    pub(crate) fn listed(&self) -> &'static [Listed] {
        self.family.map_or(&[], |family| family.listed)
    }

    /// The parts of the name, if values of this key refer to other keys, or others have to name it.
    pub(crate) fn parsed(&self, registry: &Registry) -> Option<Parsed> {
        let refers = self.content().is_some_and(refers) || !self.listed().is_empty();
        if refers && !self.misplaced_tag { registry.parse(&self.raw) } else { None }
    }

    /// What is wrong with the name and the place, whatever the key holds.
    pub(crate) fn faults(&self, registry: &Registry, place: Location) -> Faults {
        let mut faults = Faults::default();
        let Some(family) = self.family else {
            faults.add(Rule::NoFamily, "", "belongs to no declared family");
            return faults;
        };
        if let Some(wrong) = self.wrong_tag(family, place.layout) {
            let name = self.name_in(registry, family, place.layout);
            faults.add(Rule::WrongSlot, "", format!("{wrong}; its name here is {name}"));
        }
        if let Some(wrong) = wrong_database(family, self.layout, place) {
            faults.add(Rule::WrongDatabase, "", wrong);
        }
        if self.is_foreign() {
            faults.add(Rule::Foreign, "", "belongs to another program; keyrack never writes it");
        }
        faults
    }

    fn wrong_tag(&self, family: &Family, here: Layout) -> Option<&'static str> {
        match (here, self.layout) {
            // An account that came when the server had no database left shares one, under its hash tag.
            (Layout::Documented, Layout::Cluster)
                if family.database == Database::Account && !self.misplaced_tag =>
            {
                None
            }
            (Layout::Documented, Layout::Cluster) => Some("has a cluster's hash tag"),
            (Layout::Cluster, Layout::Cluster) if self.misplaced_tag => {
                Some("has its hash tag in the wrong place")
            }
            (Layout::Cluster, Layout::Documented) if family.tagged() => Some("lacks its hash tag"),
            _ => None,
        }
    }

    /// The right name, with placeholders where the wrong one does not say what belongs there.
    fn name_in(&self, registry: &Registry, family: &Family, layout: Layout) -> String {
        let bare = without_tag(&self.raw).filter(|_| self.misplaced_tag);
        let parsed = registry.parse(bare.as_deref().unwrap_or(&self.raw));
        parsed
            .and_then(|parsed| parsed.render(layout))
            .unwrap_or_else(|| family.template_in(layout).into_owned())
    }
}

/// The name without `{…}` in front, or without the first braces inside.
fn without_tag(raw: &[u8]) -> Option<Vec<u8>> {
    let open = raw.iter().position(|&byte| byte == b'{')?;
    let close = open + raw[open..].iter().position(|&byte| byte == b'}')?;
    let tag = if open == 0 && close + 1 < raw.len() && raw[close + 1] != b':' {
        &[]
    } else {
        &raw[open + 1..close]
    };
    Some([&raw[..open], tag, &raw[close + 1..]].concat())
}

fn wrong_database(family: &Family, layout: Layout, place: Location) -> Option<String> {
    match family.database {
        // Where the name has a hash tag, that keeps the accounts apart.
        Database::Account if layout == Layout::Cluster && place.db != place.main_db => {
            Some(format!("with a hash tag its family lives in database {}", place.main_db))
        }
        Database::Account
            if place.layout == Layout::Documented
                && layout == Layout::Documented
                && place.db < ACCOUNT_DB_MIN =>
        {
            Some(format!("its family lives in databases from {ACCOUNT_DB_MIN} up"))
        }
        Database::Main if place.db != place.main_db => {
            Some(format!("its family lives in database {}", place.main_db))
        }
        Database::Number(number) if place.db != i64::from(number) => {
            Some(format!("its family lives in database {number}"))
        }
        Database::Account | Database::Main | Database::Number(_) => None,
    }
}

/// Do values in such a key name other keys?
fn refers(content: &Content) -> bool {
    let to_key = |encoding: &Encoding| encoding.target().is_some();
    match content {
        Content::String(value) | Content::List(value) | Content::Set(value) => {
            to_key(&value.encoding)
        }
        Content::SortedSet { member, .. } => to_key(&member.encoding),
        Content::Map { field, value } => to_key(&field.encoding) || to_key(&value.encoding),
        Content::Hash(fields) | Content::Stream(fields) => {
            fields.iter().any(|field| to_key(&field.encoding))
        }
        Content::Channel(_) | Content::Bitmap(_) | Content::HyperLogLog(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::without_tag;

    #[test]
    fn tags_are_taken_out_whole_in_front_and_unwrapped_inside() {
        let bare =
            |raw: &str| without_tag(raw.as_bytes()).map(|raw| String::from_utf8(raw).unwrap());
        assert_eq!(bare("{x}bee:h:jobs:1").as_deref(), Some("bee:h:jobs:1"));
        assert_eq!(bare("trace:alice:{import}:42").as_deref(), Some("trace:alice:import:42"));
        assert_eq!(bare("{trace}:alice:import:42").as_deref(), Some("trace:alice:import:42"));
        assert_eq!(bare("{whole}").as_deref(), Some("whole"));
        assert_eq!(bare("no:tag"), None);
        assert_eq!(bare("}odd{"), None);
    }
}

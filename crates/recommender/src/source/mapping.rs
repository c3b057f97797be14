//! Any app in the recommender's words: which of its tables have items, groups of items, feedback, members and followers.
//!
//! An item is a post to the keys, a group a challenge, a section of groups a category, and feedback a reaction.

use serde::Deserialize;

use super::{Names, Table};
use crate::{error::Error, rows::CATEGORIES_MAX, service::MAX_POST_AGE_MAX};

/// Days for which a group goes on whose app knows no end: beyond all that anybody plans.
pub(crate) const ENDLESS_DAYS: &str = "36500";

/// The day since which groups are there whose app does not say it.
pub(crate) const LONG_AGO: &str = "2000-01-01";

/// A description of an app, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    items: Items,
    groups: Groups,
    feedback: Feedback,
    members: Option<Members>,
    follows: Option<Follows>,
    /// Days for which an item may be recommended.
    max_age_days: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Items {
    table: String,
    id: String,
    author: String,
    group: String,
    created: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Groups {
    table: String,
    id: String,
    section: String,
    #[serde(default)]
    sections: Vec<String>,
    public: Option<String>,
    created: Option<String>,
    days: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feedback {
    table: String,
    id: String,
    item: String,
    user: String,
    undone: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    table: String,
    group: String,
    user: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Follows {
    table: String,
    user: String,
    group: String,
    ended: Option<String>,
}

impl Mapping {
    /// Days for which an item may be recommended, and how many sections there are, where the file says so.
    pub fn parameters(&self) -> (Option<u64>, Option<usize>) {
        let sections = self.groups.sections.len();
        (self.max_age_days, (sections > 0).then_some(sections))
    }

    /// The names of tables and columns, and what stands in for those that the app does not have.
    ///
    /// # Errors
    /// When a name cannot be one, there are too many sections, or the age is out of range.
    pub fn names(&self) -> Result<Names, Error> {
        self.check()?;
        let Mapping { items, groups, feedback, members, follows, .. } = self;
        let mut lines = Lines::default();
        lines.table(Table::Posts, &items.table);
        let [id, author] = [&items.id, &items.author].map(Some);
        let [group, created] = [&items.group, &items.created].map(Some);
        lines.columns(Table::Posts, &[id, author, group, created, None]);
        lines.table(Table::Challenges, &groups.table);
        let columns = [
            Some(&groups.id),
            Some(&groups.section),
            groups.public.as_ref(),
            groups.days.as_ref(),
            groups.created.as_ref(),
        ];
        lines.columns(Table::Challenges, &columns);
        lines.table(Table::Reactions, &feedback.table);
        let columns = [
            Some(&feedback.id),
            Some(&feedback.item),
            Some(&feedback.user),
            feedback.undone.as_ref(),
        ];
        lines.columns(Table::Reactions, &columns);
        match members {
            None => lines.missing.push(Table::Members.name().to_owned()),
            Some(members) => {
                lines.table(Table::Members, &members.table);
                lines.columns(Table::Members, &[Some(&members.group), Some(&members.user)]);
            }
        }
        match follows {
            None => lines.missing.push(Table::Tracking.name().to_owned()),
            Some(follows) => {
                lines.table(Table::Tracking, &follows.table);
                let columns = [Some(&follows.user), Some(&follows.group), follows.ended.as_ref()];
                lines.columns(Table::Tracking, &columns);
            }
        }
        let default = |column: &str, value: &str| {
            (format!("{}.{column}", Table::Challenges.name()), value.to_owned())
        };
        let mut names = Names::parse(&lines.renamed)?;
        names.missing = lines.missing;
        names.defaults = vec![default("duration", ENDLESS_DAYS), default("created_time", LONG_AGO)];
        // A column that is there says itself who may see a group; an empty value means nobody.
        if groups.public.is_none() {
            names.defaults.push(default("is_public", "1"));
        }
        names.categories.clone_from(&groups.sections);
        Ok(names)
    }

    fn check(&self) -> Result<(), Error> {
        let bad = |what: String| Err(Error::Invalid { what });
        let sections = self.groups.sections.len();
        if sections > CATEGORIES_MAX {
            return bad(format!(
                "\"groups.sections\" has {sections} names; use at most {CATEGORIES_MAX}"
            ));
        }
        match self.max_age_days {
            Some(days) if !(1..=MAX_POST_AGE_MAX).contains(&days) => {
                bad(format!("\"max_age_days\" is {days}; use 1 to {MAX_POST_AGE_MAX}"))
            }
            _ => Ok(()),
        }
    }
}

/// Renamed and missing tables and columns.
#[derive(Default)]
struct Lines {
    renamed: Vec<String>,
    missing: Vec<String>,
}

impl Lines {
    fn table(&mut self, table: Table, name: &str) {
        self.renamed.push(format!("{}={name}", table.name()));
    }

    fn columns(&mut self, table: Table, names: &[Option<&String>]) {
        for (column, name) in table.columns().iter().zip(names) {
            let full = format!("{}.{column}", table.name());
            match name {
                Some(name) => self.renamed.push(format!("{full}={name}")),
                None => self.missing.push(full),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> serde_json::Value {
        serde_json::json!({
            "max_age_days": 90,
            "items": {"table": "product", "id": "sku", "author": "seller", "group": "line", "created": "listed_at"},
            "groups": {"table": "line", "id": "id", "section": "department", "sections": ["garden", "kitchen"]},
            "feedback": {"table": "purchase", "id": "id", "item": "sku", "user": "buyer"}
        })
    }

    fn mapping(value: serde_json::Value) -> Mapping {
        serde_json::from_value(value).expect("a mapping")
    }

    #[test]
    fn a_shop_becomes_tables_that_the_load_knows() {
        let shop = mapping(shop());
        let names = shop.names().expect("names");
        assert_eq!(names.table(Table::Posts), "product");
        let columns: Vec<&str> = names.columns(Table::Posts).collect();
        assert_eq!(columns, ["sku", "seller", "line", "listed_at", ""]);
        assert!(!names.has(Table::Members) && !names.has(Table::Tracking));
        let mut row = vec![Some("3".into()), Some("kitchen".into()), None, None, None];
        names.complete(Table::Challenges, &mut row);
        let expected = ["3", "1", "1", ENDLESS_DAYS, LONG_AGO].map(|text| Some(text.to_owned()));
        assert_eq!(row, expected);
        assert_eq!(shop.parameters(), (Some(90), Some(2)));
    }

    #[test]
    fn mappings_that_make_no_sense_are_refused() {
        let refused = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value = shop();
            change(&mut value);
            serde_json::from_value::<Mapping>(value).ok().and_then(|it| it.names().ok()).is_none()
        };
        assert!(refused(&|shop| shop["max_age_days"] = 0.into()));
        assert!(refused(&|shop| shop["items"]["id"] = "a b".into()));
        assert!(refused(&|shop| shop["items"]["colour"] = "c".into()));
        assert!(refused(
            &|shop| shop["groups"]["sections"] = serde_json::json!(["a", "b", "c", "d", "e", "f"])
        ));
        assert!(!refused(&|_| ()));
    }
}

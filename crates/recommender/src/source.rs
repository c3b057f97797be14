//! The app's own tables, wherever they are: [`Source`] is what the nightly load reads.
//!
//! All values come as text, the way every database and file can give them; `rows` makes sense of them.

mod csv;
mod files;
mod mapping;
mod memory;
#[cfg(feature = "sql")]
mod sql;

pub(crate) use self::mapping::{ENDLESS_DAYS, LONG_AGO};
#[cfg(feature = "sql")]
pub use self::sql::Sql;
pub use self::{files::Files, mapping::Mapping, memory::Memory};
use crate::error::Error;

/// A table of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// Challenges.
    Challenges,
    /// Who takes part in which challenge.
    Members,
    /// Posts.
    Posts,
    /// Reactions to posts, and those taken back.
    Reactions,
    /// Who follows which challenge.
    Tracking,
}

/// A row: the values of [`Table::columns`], in their order.
///
/// A row that holds text which is not UTF-8 has its id only, if that can be read: it is left out and counted.
pub type Row = Vec<Option<String>>;

/// Keeps the id of a row that cannot be read.
fn unreadable(mut row: Row) -> Row {
    row.iter_mut().skip(1).for_each(|value| *value = None);
    row
}

/// Where to go on reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// After this id, in the order of ids.
    Id(u64),
    /// After so many rows, in a stable order.
    Row(u64),
}

/// Something that has the app's tables.
pub trait Source: Send {
    /// The next rows of a table, at most so many; fewer only at its end.
    fn page(
        &mut self,
        table: Table,
        from: From,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send;

    /// Posts by their ids, in any order; those that are not there are left out.
    fn posts(&mut self, ids: &[u64]) -> impl Future<Output = Result<Vec<Row>, Error>> + Send;

    /// How many rows a table has.
    fn len(&mut self, table: Table) -> impl Future<Output = Result<u64, Error>> + Send;
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 5] =
        [Table::Challenges, Table::Members, Table::Posts, Table::Reactions, Table::Tracking];

    /// Its name in `db_len`.
    pub fn short(self) -> &'static str {
        match self {
            Table::Challenges => "clg",
            Table::Members => "mmbr",
            Table::Posts => "post",
            Table::Reactions => "reaction",
            Table::Tracking => "tracking",
        }
    }

    /// What the app calls it.
    pub fn name(self) -> &'static str {
        match self {
            Table::Challenges => "challenge",
            Table::Members => "groupchallengemembers",
            Table::Posts => "post",
            Table::Reactions => "user_reaction_log",
            Table::Tracking => "tracking",
        }
    }

    /// The columns that are read. For tables read by id, the first is the id.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Table::Challenges => &["id", "category", "is_public", "duration", "created_time"],
            Table::Members => &["challenge_id", "user_id"],
            Table::Posts => &["id", "user_id", "challenge_id", "created_time", "written_text"],
            Table::Reactions => &["log_id", "post_id", "user_id", "is_cancelled"],
            Table::Tracking => &["follower_id", "challenge_id", "is_terminated"],
        }
    }
}

impl Table {
    /// Whether its rows are read in the order of their ids.
    pub(crate) fn is_read_by_id(self) -> bool {
        matches!(self, Table::Challenges | Table::Posts | Table::Reactions)
    }

    /// The columns without which no row makes sense, by their places.
    fn needed(self) -> &'static [usize] {
        match self {
            Table::Challenges => &[0, 1, 4],
            Table::Members | Table::Tracking => &[0, 1],
            Table::Posts => &[0, 1, 2, 3],
            Table::Reactions => &[0, 1, 2],
        }
    }
}

/// What tables and columns are called where they are not called as in the app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    others: Vec<(String, String)>,
    /// Tables and columns that the app does not have.
    missing: Vec<String>,
    /// What columns hold that the app does not have, or of rows in which they are empty.
    defaults: Vec<(String, String)>,
    /// What the app calls its categories, in the order of their codes; empty if it has codes.
    categories: Vec<String>,
}

impl Names {
    /// Takes lines such as `post=posts` for a table and `post.written_text=body` for a column.
    ///
    /// # Errors
    /// When a line has another form, or names a table or column that is not read.
    pub fn parse(lines: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Names, Error> {
        let mut others = Vec::new();
        for line in lines {
            let line = line.as_ref();
            let Some((ours, theirs)) = line.split_once('=') else {
                let what =
                    format!("\"{line}\" renames nothing; write TABLE=NAME or TABLE.COLUMN=NAME");
                return Err(Error::Invalid { what });
            };
            if !is_known(ours) {
                let known: Vec<&str> = Table::ALL.iter().map(|table| table.name()).collect();
                let what = format!(
                    "\"{ours}\" is no table or column that is read; the tables are \"{}\"",
                    known.join("\", \"")
                );
                return Err(Error::Invalid { what });
            }
            let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if theirs.is_empty() || !theirs.chars().all(good) {
                let what = format!(
                    "\"{theirs}\" cannot be the name of a table or column; use letters, digits, \"_\" and \".\""
                );
                return Err(Error::Invalid { what });
            }
            others.push((ours.to_owned(), theirs.to_owned()));
        }
        Ok(Names { others, ..Names::default() })
    }

    /// Whether the app has a table.
    pub(crate) fn has(&self, table: Table) -> bool {
        !self.missing.iter().any(|name| name == table.name())
    }

    /// Puts what the app does not say into a row: defaults, and codes for the names of categories.
    pub(crate) fn complete(&self, table: Table, row: &mut Row) {
        for (at, column) in table.columns().iter().enumerate() {
            let Some(value) = row.get_mut(at).filter(|value| value.is_none()) else { continue };
            let full = format!("{}.{column}", table.name());
            let default = self.defaults.iter().find(|(name, _)| *name == full);
            *value = default.map(|(_, default)| default.clone());
        }
        if table == Table::Challenges
            && let Some(Some(category)) = row.get_mut(1)
            && let Some(code) = self.categories.iter().position(|name| name == category)
        {
            *category = code.to_string();
        }
    }

    fn completes(&self) -> bool {
        !self.defaults.is_empty() || !self.categories.is_empty()
    }

    /// What a table is called.
    pub fn table(&self, table: Table) -> &str {
        self.find(table.name()).unwrap_or(table.name())
    }

    /// What the columns of a table are called; nothing for one that the app does not have.
    pub fn columns(&self, table: Table) -> impl Iterator<Item = &str> {
        table.columns().iter().map(move |column| {
            let full = format!("{}.{column}", table.name());
            let is_missing = self.missing.contains(&full);
            if is_missing { "" } else { self.find(&full).unwrap_or(column) }
        })
    }

    fn find(&self, ours: &str) -> Option<&str> {
        let other = self.others.iter().find(|(name, _)| name == ours);
        other.map(|(_, theirs)| theirs.as_str())
    }
}

fn is_known(ours: &str) -> bool {
    Table::ALL.iter().any(|table| match ours.split_once('.') {
        None => ours == table.name(),
        Some((name, column)) => name == table.name() && table.columns().contains(&column),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_columns_can_have_other_names() {
        let names = Names::parse(["post=app.posts", "post.written_text=body"]).expect("good names");
        assert_eq!(names.table(Table::Posts), "app.posts");
        assert_eq!(names.table(Table::Challenges), "challenge");
        let columns: Vec<&str> = names.columns(Table::Posts).collect();
        assert_eq!(columns, ["id", "user_id", "challenge_id", "created_time", "body"]);
    }

    #[test]
    fn names_that_could_not_be_read_are_refused() {
        for line in ["post", "posts=x", "post.text=x", "post=a b", "post=", "post=x;drop"] {
            assert!(Names::parse([line]).is_err(), "{line}");
        }
    }
}

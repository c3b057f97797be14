//! An app of any size whose rows are made up when they are asked for, so that the load is measured and not the app.

use keyrack_recommender::{Error, From, Row, Source, Table};

/// Members, followers and reactions of each user.
const CHALLENGES_JOINED: u64 = 2;
const REACTIONS: u64 = 10;

/// How large it is.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) users: u64,
    pub(crate) challenges: u64,
    pub(crate) posts: u64,
    /// The days on which posts were written, the oldest first.
    pub(crate) days: Vec<String>,
}

impl App {
    fn length(&self, table: Table) -> u64 {
        match table {
            Table::Challenges => self.challenges,
            Table::Members => self.users * CHALLENGES_JOINED,
            Table::Posts => self.posts,
            Table::Reactions => self.users * REACTIONS,
            Table::Tracking => self.users / 2,
        }
    }

    /// All rows of all tables.
    pub(crate) fn rows(&self) -> u64 {
        Table::ALL.iter().map(|table| self.length(*table)).sum()
    }

    /// A row by its number from 1.
    fn row(&self, table: Table, n: u64) -> Row {
        let some = |values: &[u64]| values.iter().map(|n| Some(n.to_string())).collect::<Row>();
        let first_day = &self.days[0];
        match table {
            Table::Challenges => {
                let mut row = some(&[n, n % 5, u64::from(!n.is_multiple_of(10)), 30]);
                row.push(Some(format!("{first_day} 00:00:00")));
                row
            }
            Table::Members => some(&[1 + mixed(n) % self.challenges, n % self.users]),
            Table::Posts => {
                let mut row = some(&[n, mixed(n) % self.users, 1 + mixed(n * 3) % self.challenges]);
                let day = (n - 1) * self.days.len() as u64 / self.posts;
                row.push(Some(format!("{} 01:00:00", self.days[day as usize])));
                row.push(Some(
                    if n.is_multiple_of(12) { "I have a break today!" } else { "Ran" }.into(),
                ));
                row
            }
            Table::Reactions => {
                // Everybody reacts to seven posts, and to some of them twice.
                let user = n % self.users;
                let post = 1 + mixed(user * 7 + (n / self.users) % 7 + 1) % self.posts;
                some(&[n, post, user, u64::from(n.is_multiple_of(10))])
            }
            Table::Tracking => some(&[n % self.users, 1 + mixed(n * 5) % self.challenges, 0]),
        }
    }
}

impl Source for App {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        let (From::Id(after) | From::Row(after)) = from;
        let last = self.length(table).min(after.saturating_add(limit as u64));
        Ok((after + 1..=last).map(|n| self.row(table, n)).collect())
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        Ok(ids.iter().map(|id| self.row(Table::Posts, *id)).collect())
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        Ok(self.length(table))
    }
}

/// A number that looks random, the same for the same one.
pub(crate) fn mixed(n: u64) -> u64 {
    let n = (n.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (n ^ (n >> 31)) >> 11
}

//! What lists are judged on: an app that is made up, or one that was recorded.

use jiff::{ToSpan as _, civil::Date};

use super::{GeneratedApp, RecordedApp};
use crate::source::{Memory, Table};

/// The days for which posts of a made-up app can be seen, and the days at its end by which lists are judged.
pub(super) const WEEK: usize = 7;

/// What posts say that only announce a break.
pub(super) const BREAK_TEXT: &str = "I have a break today";

/// An app by which lists are judged.
#[derive(Debug)]
pub enum App {
    /// One that is made up.
    Generated(GeneratedApp),
    /// One that was recorded.
    Recorded(RecordedApp),
}

impl App {
    pub(super) fn world(&self) -> &dyn World {
        match self {
            App::Generated(app) => app,
            App::Recorded(app) => app,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) id: u64,
    pub(super) day: usize,
    /// Who wrote it; for posts that no user wrote, a number beyond those of users.
    pub(super) author: usize,
    pub(super) challenge: usize,
    pub(super) rests: bool,
    /// What made-up users think of it; nobody else knows.
    pub(super) quality: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Reaction {
    pub(super) id: u64,
    pub(super) day: usize,
    pub(super) user: usize,
    pub(super) post: u64,
    pub(super) cancelled: bool,
}

/// The days of an app. Users and challenges are numbered from 0.
pub(super) trait World: Sync {
    fn first_day(&self) -> Date;

    fn days(&self) -> usize;

    fn users(&self) -> usize;

    /// In order of their ids, which grow with the days.
    fn posts(&self) -> &[Post];

    /// In order of their ids, which grow with the days.
    fn reactions(&self) -> &[Reaction];

    /// Whether everybody may see a post.
    fn is_open(&self, post: &Post) -> bool;

    fn category(&self, challenge: usize) -> usize;

    /// The app's tables as they are before any day: its challenges, and who takes part in and follows them.
    fn tables(&self) -> Memory;

    /// How likely a user likes a post on a day.
    fn liking(&self, user: usize, post: &Post, day: usize) -> f64;

    /// The days for which a post can be seen.
    fn max_age(&self) -> usize {
        WEEK
    }

    /// The days at the end by which lists are judged.
    fn judged_days(&self) -> usize {
        WEEK
    }

    /// Whether nothing is known of users but what they did. Then only those who come back can be judged.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Adds what was written and reacted on a day to the tables.
    fn add_day(&self, tables: &mut Memory, day: usize) {
        let created = moment(self.first_day(), day);
        for post in self.posts().iter().filter(|post| post.day == day) {
            let [id, author, challenge] =
                [post.id, post.author as u64, post.challenge as u64 + 1].map(|n| n.to_string());
            let text = if post.rests { BREAK_TEXT } else { "Done for today" };
            tables.push(Table::Posts, &[&id, &author, &challenge, &created, text]);
        }
        for reaction in self.reactions().iter().filter(|reaction| reaction.day == day) {
            let [id, post, user, cancelled] =
                [reaction.id, reaction.post, reaction.user as u64, u64::from(reaction.cancelled)]
                    .map(|n| n.to_string());
            tables.push(Table::Reactions, &[&id, &post, &user, &cancelled]);
        }
    }
}

pub(super) fn moment(first_day: Date, day: usize) -> String {
    let days = i64::try_from(day).unwrap_or(0);
    let date = first_day.checked_add(days.days()).unwrap_or(first_day);
    format!("{date} 01:00:00")
}

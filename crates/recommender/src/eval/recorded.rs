//! An app of which it was recorded what came when, and who liked what.

use std::{collections::HashMap, fs, path::Path};

use jiff::civil::Date;

use super::world::{Post, Reaction, World};
use crate::{
    error::Error,
    source::{ENDLESS_DAYS, LONG_AGO, Memory, Table},
};

/// A recorded app. Each of its items is a group of its own, as in an app that maps items which come one by one.
///
/// It is read from three files of whole numbers separated by spaces:
///
/// - `about`: users, the days at the end by which lists are judged, and the first day as year, month and day.
/// - `items`: id, section and day of each; days are numbered from 0, and ids from 1 in the order of days.
/// - `likes`: user, id of the item and day of each, in the order of time; users are numbered from 0.
#[derive(Debug)]
pub struct RecordedApp {
    first_day: Date,
    days: usize,
    judged_days: usize,
    users: usize,
    sections: Vec<usize>,
    posts: Vec<Post>,
    reactions: Vec<Reaction>,
    liked_on: HashMap<(usize, u64), usize>,
}

impl RecordedApp {
    /// Reads an app from a folder.
    ///
    /// # Errors
    /// When a file cannot be read or makes no sense.
    pub fn read(folder: &Path) -> Result<RecordedApp, Error> {
        let about = rows::<5>(folder, "about")?;
        let items = rows::<3>(folder, "items")?;
        let likes = rows::<3>(folder, "likes")?;
        let wrong = |what: &str| Error::Invalid { what: format!("{}: {what}", folder.display()) };
        let [users, judged_days, year, month, day] =
            *about.first().ok_or_else(|| wrong("\"about\" is empty"))?;
        let first_day = i16::try_from(year)
            .ok()
            .zip(i8::try_from(month).ok().zip(i8::try_from(day).ok()))
            .and_then(|(year, (month, day))| Date::new(year, month, day).ok())
            .ok_or_else(|| wrong("the first day is no date"))?;
        let in_order = |rows: &[[usize; 3]]| rows.is_sorted_by_key(|[_, _, day]| *day);
        let is_numbered = items.iter().enumerate().all(|(at, [id, _, _])| *id == at + 1);
        if !is_numbered || !in_order(&items) || !in_order(&likes) {
            return Err(wrong("ids and days do not grow together"));
        }
        if likes.iter().any(|[user, item, _]| *user >= users || !(1..=items.len()).contains(item)) {
            return Err(wrong("somebody or something that is liked is unknown"));
        }
        let days = likes.last().map_or(0, |[_, _, day]| day + 1);
        let post = |(at, [id, _, day]): (usize, &[usize; 3])| Post {
            id: *id as u64,
            day: *day,
            author: users + at,
            challenge: at,
            rests: false,
            quality: 0.0,
        };
        let reaction = |(at, [user, item, day]): (usize, &[usize; 3])| Reaction {
            id: at as u64 + 1,
            day: *day,
            user: *user,
            post: *item as u64,
            cancelled: false,
        };
        Ok(RecordedApp {
            first_day,
            days,
            judged_days,
            users,
            sections: items.iter().map(|[_, section, _]| *section).collect(),
            posts: items.iter().enumerate().map(post).collect(),
            reactions: likes.iter().enumerate().map(reaction).collect(),
            liked_on: likes.iter().map(|[user, item, day]| ((*user, *item as u64), *day)).collect(),
        })
    }
}

impl World for RecordedApp {
    fn first_day(&self) -> Date {
        self.first_day
    }

    fn days(&self) -> usize {
        self.days
    }

    fn users(&self) -> usize {
        self.users
    }

    fn posts(&self) -> &[Post] {
        &self.posts
    }

    fn reactions(&self) -> &[Reaction] {
        &self.reactions
    }

    fn is_open(&self, _post: &Post) -> bool {
        true
    }

    fn category(&self, challenge: usize) -> usize {
        self.sections[challenge]
    }

    /// As a mapping of any feed fills what an app does not have.
    fn tables(&self) -> Memory {
        let mut tables = Memory::default();
        for (at, section) in self.sections.iter().enumerate() {
            let [id, section] = [at + 1, *section].map(|n| n.to_string());
            tables.push(Table::Challenges, &[&id, &section, "1", ENDLESS_DAYS, LONG_AGO]);
        }
        tables
    }

    /// What is not recorded as liked on that day or later is not liked.
    fn liking(&self, user: usize, post: &Post, day: usize) -> f64 {
        let is_liked = self.liked_on.get(&(user, post.id)).is_some_and(|liked| *liked >= day);
        f64::from(u8::from(is_liked))
    }

    /// Items stay for good, as far as a feed can say so.
    fn max_age(&self) -> usize {
        366
    }

    fn judged_days(&self) -> usize {
        self.judged_days
    }

    fn is_recorded(&self) -> bool {
        true
    }
}

/// The lines of a file, of so many numbers each.
fn rows<const N: usize>(folder: &Path, name: &str) -> Result<Vec<[usize; N]>, Error> {
    let path = folder.join(name);
    let wrong = |reason: String| Error::Source { table: path.display().to_string(), reason };
    let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let row = |(at, line): (usize, &str)| {
        let numbers = line.split(' ').map(str::parse).collect::<Result<Vec<usize>, _>>();
        let row = numbers.ok().and_then(|numbers| numbers.try_into().ok());
        row.ok_or_else(|| wrong(format!("line {} does not have {N} numbers", at + 1)))
    };
    text.lines().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(about: &str, items: &str, likes: &str) -> Result<RecordedApp, Error> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("about", about), ("items", items), ("likes", likes)] {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        RecordedApp::read(folder.path())
    }

    const ABOUT: &str = "2 7 1997 9 20\n";

    #[test]
    fn an_item_is_liked_up_to_the_day_of_the_like() {
        let app = read(ABOUT, "1 3 0\n2 0 4\n", "0 1 2\n1 2 5\n").expect("an app");
        assert_eq!((app.users(), app.days(), app.category(0)), (2, 6, 3));
        let liking = |user, at: usize, day| app.liking(user, &app.posts()[at], day);
        assert_eq!([liking(0, 0, 2), liking(0, 0, 3), liking(1, 1, 3)], [1.0, 0.0, 1.0]);
        assert_eq!([liking(1, 0, 0), liking(0, 1, 0)], [0.0, 0.0]);
    }

    #[test]
    fn files_that_make_no_sense_are_refused() {
        let reason = |about: &str, items: &str, likes: &str| {
            read(about, items, likes).expect_err("refused").to_string()
        };
        let items = "1 3 0\n2 0 4\n";
        assert!(reason("", items, "").contains("\"about\" is empty"));
        assert!(reason("2 7 1997 13 1\n", items, "").contains("no date"));
        assert!(reason(ABOUT, "1 3 4\n2 0 0\n", "").contains("grow together"));
        assert!(reason(ABOUT, items, "2 1 2\n").contains("unknown"));
        assert!(reason(ABOUT, items, "1 3 2\n").contains("unknown"));
        assert!(reason(ABOUT, items, "1 3\n").contains("line 1 does not have 3 numbers"));
    }
}

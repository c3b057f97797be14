//! What the app's rows say: each row as a value, or the reason why it is left out.

use jiff::{civil::Date, tz::TimeZone};

use crate::{day, keys::UserId, source::Row};

/// The most categories there can be: the documented keys end with the fifth.
pub(crate) const CATEGORIES_MAX: usize = 5;

/// The largest id that a sorted set's score holds exactly.
pub(crate) const ID_MAX: u64 = (1 << 53) - 1;

/// A challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Its id.
    pub id: u64,
    /// Category code, from 0.
    pub category: usize,
    /// Whether everybody may see it.
    pub public: bool,
    /// Planned length in days.
    pub duration: u32,
    /// Planned last day.
    pub finished: Date,
}

/// Somebody who takes part in a challenge, or follows one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The user.
    pub user: UserId,
    /// The challenge.
    pub challenge: u64,
}

/// A post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Its id.
    pub id: u64,
    /// Who wrote it.
    pub author: UserId,
    /// The challenge it belongs to.
    pub challenge: u64,
    /// The day on which it was written; none if the row does not say.
    pub day: Option<Date>,
    /// Whether the row says a day that is none, so that nobody knows how old the post is.
    pub has_bad_day: bool,
    /// What it says.
    pub text: String,
}

/// A reaction to a post, or one taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// Its id in the log.
    pub id: u64,
    /// The post.
    pub post: u64,
    /// Who reacted.
    pub user: UserId,
    /// Whether it takes an earlier one back.
    pub cancelled: bool,
}

/// Where days begin, for the rows of one load.
#[derive(Debug, Clone)]
pub(crate) struct Zones {
    pub(crate) users: TimeZone,
    pub(crate) database: TimeZone,
}

impl Challenge {
    /// Reads a row; nothing when it makes no sense or its category is none of so many.
    pub(crate) fn read(row: &Row, zones: &Zones, categories: usize) -> Option<Challenge> {
        let category = text(row, 1)?.parse().ok().filter(|category| *category < categories)?;
        let duration = match text(row, 3) {
            None => 0,
            Some(days) => days.parse::<f64>().ok().filter(|days| *days >= 0.0)? as u32,
        };
        let created = day::day_of_text(text(row, 4)?, &zones.database, &zones.users)?;
        let finished = day::days_later(created, duration)?;
        Some(Challenge {
            id: id(row, 0)?,
            category,
            public: truth(text(row, 2)),
            duration,
            finished,
        })
    }

    /// As it stands in `on_clg_info`.
    pub(crate) fn to_text(&self) -> String {
        let Challenge { category, public, duration, finished, .. } = self;
        format!("{category},{},{duration},{finished}", u8::from(*public))
    }

    /// Reads what stands in `on_clg_info`, whoever wrote it.
    pub(crate) fn from_text(id: u64, value: &str) -> Option<Challenge> {
        let mut values = value.split(',').map(str::trim);
        let category = values.next()?.parse().ok()?;
        let public = truth(values.next());
        let duration = values.next()?.parse().ok()?;
        let finished = values.next()?.parse().ok()?;
        Some(Challenge { id, category, public, duration, finished })
    }

    /// Whether a post of it may still be in a pool of so many days.
    pub(crate) fn is_going_on(&self, today: Date, max_post_age: u64) -> bool {
        let days = day::days_between(self.finished, today);
        days <= i64::try_from(max_post_age).unwrap_or(i64::MAX)
    }
}

impl Member {
    pub(crate) fn read(row: &Row) -> Option<Member> {
        Some(Member { challenge: id(row, 0)?, user: user(row, 1)? })
    }

    /// Reads a row of those who follow, and whether they still do.
    pub(crate) fn read_follower(row: &Row) -> Option<(Member, bool)> {
        let follows = !truth(text(row, 2));
        Some((Member { user: user(row, 0)?, challenge: id(row, 1)? }, follows))
    }
}

impl Post {
    pub(crate) fn read(row: &Row, zones: &Zones) -> Option<Post> {
        let day = text(row, 3).and_then(|at| day::day_of_text(at, &zones.database, &zones.users));
        let has_bad_day = day.is_none() && text(row, 3).is_some();
        let (id, author, challenge) = (id(row, 0)?, user(row, 1)?, id(row, 2)?);
        let text = text(row, 4).unwrap_or_default().to_owned();
        Some(Post { id, author, challenge, day, has_bad_day, text })
    }

    /// Whether it only says that its author has a break; apps end that sentence in one way or another.
    pub(crate) fn is_break(&self, phrase: &str) -> bool {
        let plain = |text: &str| -> String {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
        };
        !phrase.is_empty() && plain(&self.text) == plain(phrase)
    }
}

impl Reaction {
    pub(crate) fn read(row: &Row) -> Option<Reaction> {
        let cancelled = truth(text(row, 3));
        Some(Reaction { id: id(row, 0)?, post: id(row, 1)?, user: user(row, 2)?, cancelled })
    }
}

/// The id of a row that is read by id.
pub(crate) fn id_of(row: &Row) -> Option<u64> {
    id(row, 0)
}

fn text(row: &Row, at: usize) -> Option<&str> {
    row.get(at)?.as_deref()
}

fn id(row: &Row, at: usize) -> Option<u64> {
    text(row, at)?.trim().parse().ok().filter(|id| *id <= ID_MAX)
}

fn user(row: &Row, at: usize) -> Option<UserId> {
    UserId::new(text(row, at)?).ok()
}

/// What databases and earlier programs write for true.
fn truth(text: Option<&str>) -> bool {
    let yes = ["1", "true", "t", "yes", "y"];
    text.is_some_and(|text| yes.iter().any(|word| text.trim().eq_ignore_ascii_case(word)))
}

/// Whole numbers separated by commas, padded with 0 to the number of categories; nothing when one is no number.
pub(crate) fn numbers(text: &str) -> Option<Vec<u64>> {
    let read = text.split(',').map(|number| number.trim().parse::<u64>());
    let mut numbers: Vec<u64> = read.collect::<Result<_, _>>().ok()?;
    if numbers.len() < CATEGORIES_MAX {
        numbers.resize(CATEGORIES_MAX, 0);
    }
    Some(numbers)
}

/// Whole numbers as they stand in the store.
pub(crate) fn numbers_text(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> Row {
        values.iter().map(|value| (!value.is_empty()).then(|| (*value).to_owned())).collect()
    }

    fn zones() -> Zones {
        let users = TimeZone::get("Australia/Sydney").expect("a zone");
        Zones { users, database: TimeZone::UTC }
    }

    fn challenge(values: &[&str]) -> Option<String> {
        Challenge::read(&row(values), &zones(), 5).map(|challenge| challenge.to_text())
    }

    #[test]
    fn challenges_end_by_the_calendar_of_their_users() {
        let end = challenge(&["7", "2", "t", "30", "2024-01-12 13:30:00"]);
        assert_eq!(end.as_deref(), Some("2,1,30,2024-02-12"));
        let without_duration = challenge(&["7", "0", "", "", "2024-01-12 10:00:00"]);
        assert_eq!(without_duration.as_deref(), Some("0,0,0,2024-01-12"));
    }

    #[test]
    fn challenges_without_a_good_category_are_left_out() {
        for category in ["", "5", "-1", "sport"] {
            assert_eq!(challenge(&["7", category, "1", "30", "2024-01-12 10:00:00"]), None);
        }
    }

    #[test]
    fn both_spellings_of_public_are_read() {
        let public = |text| Challenge::from_text(1, text).map(|challenge| challenge.public);
        assert_eq!(public("2,True,30,2024-02-12"), Some(true));
        assert_eq!(public("2,1,30,2024-02-12"), Some(true));
        assert_eq!(public("2,False,30,2024-02-12"), Some(false));
        assert_eq!(public("2,0,30,2024-02-12"), Some(false));
        assert_eq!(public("nonsense"), None);
    }

    #[test]
    fn breaks_are_known_whatever_they_end_with() {
        let says = |text: &str| {
            let post = Post::read(&row(&["1", "9", "7", "2024-01-12", text]), &zones());
            post.expect("a good row").is_break("I have a break today")
        };
        assert!(says("I have a break today."));
        assert!(says("I have a break today!"));
        assert!(says("  i HAVE a break, today "));
        assert!(!says("I have a break today, but ran anyway"));
        assert!(!says(""));
    }

    #[test]
    fn rows_without_sense_are_left_out() {
        assert_eq!(Member::read(&row(&["x", "1"])), None);
        assert_eq!(Member::read(&row(&["1", ""])), None);
        assert_eq!(Reaction::read(&row(&["1", "99999999999999999999", "3", "f"])), None);
        let follows = |values| Member::read_follower(&row(values)).map(|(_, follows)| follows);
        assert_eq!(follows(&["1", "2", "true"]), Some(false));
        assert_eq!(follows(&["1", "2", ""]), Some(true));
        assert_eq!(follows(&["1", "x", ""]), None);
    }
}

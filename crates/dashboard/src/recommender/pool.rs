//! The posts of each day as columns, a part for each category.

use keyrack_format as format;
use keyrack_recommender::PoolDay;

/// The posts of all days.
#[derive(Debug, PartialEq)]
pub(super) struct Pool {
    pub(super) days: Vec<Day>,
    /// The width of a column.
    pub(super) width: f64,
    /// Category codes with all their posts.
    pub(super) categories: Vec<(usize, String)>,
    /// The most posts of one day.
    pub(super) max: String,
    pub(super) label: String,
}

/// The posts of one day.
#[derive(Debug, PartialEq)]
pub(super) struct Day {
    pub(super) x: f64,
    /// Category code, top and height.
    pub(super) parts: Vec<(usize, f64, f64)>,
    pub(super) title: String,
}

impl Pool {
    pub(super) const WIDTH: f64 = 720.0;
    pub(super) const HEIGHT: f64 = 120.0;

    /// The oldest day at the left.
    pub(super) fn of(days: &[PoolDay]) -> Pool {
        let sum = |day: &PoolDay| day.posts.iter().sum::<u64>();
        let max = days.iter().map(sum).max().unwrap_or(0);
        let slot = Pool::WIDTH / days.len().max(1) as f64;
        let columns = days.iter().enumerate().map(|(at, day)| {
            let mut y = Pool::HEIGHT;
            let parts = day.posts.iter().enumerate().filter(|(_, posts)| **posts > 0);
            let parts = parts.map(|(category, posts)| {
                let height = Pool::HEIGHT * *posts as f64 / max.max(1) as f64;
                y -= height;
                (category, y.max(0.0), height)
            });
            let parts = parts.collect();
            let each: Vec<String> = day.posts.iter().map(u64::to_string).collect();
            let posts = format::counted(sum(day), "post");
            let title = format!("{}: {posts}, by category {}", day.day, each.join(" "));
            Day { x: (at as f64 + 0.1) * slot, parts, title }
        });
        let categories = days.first().map_or(0, |day| day.posts.len());
        let of_category = |category: usize| days.iter().map(|day| day.posts[category]).sum::<u64>();
        Pool {
            days: columns.collect(),
            width: slot * 0.8,
            categories: (0..categories)
                .map(|category| (category, format::count(of_category(category))))
                .collect(),
            max: format::count(max),
            label: format!(
                "{} of {}",
                format::counted(days.iter().map(sum).sum(), "post"),
                format::counted(days.len() as u64, "day")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_on_the_ground_and_the_largest_is_as_high_as_the_picture() {
        let day = |day: &str, posts: &[u64]| PoolDay { day: day.into(), posts: posts.to_vec() };
        let pool = Pool::of(&[day("2024-01-11", &[1, 0, 2]), day("2024-01-12", &[2, 2, 2])]);
        assert_eq!(pool.days[1].parts, [(0, 80.0, 40.0), (1, 40.0, 40.0), (2, 0.0, 40.0)]);
        assert_eq!(pool.days[0].parts, [(0, 100.0, 20.0), (2, 60.0, 40.0)]);
        assert_eq!(pool.days[0].title, "2024-01-11: 3 posts, by category 1 0 2");
        assert_eq!(pool.categories[2], (2, "4".to_owned()));
        assert_eq!((pool.max.as_str(), pool.label.as_str()), ("6", "9 posts of 2 days"));
    }

    #[test]
    fn no_days_are_an_empty_picture() {
        assert!(Pool::of(&[]).days.is_empty());
    }
}

//! What a caller wants to have on a list, beside what the user wants.

use super::candidates::Candidate;
use crate::{error::Error, rows::CATEGORIES_MAX};

/// The most names in one list of a filter: a longer one belongs into the app's tables.
const NAMES_MAX: usize = 500;

/// The most challenges that a list can be limited to: the posts of each are looked up.
const CHALLENGES_MAX: usize = 50;

/// Limits what is on a list. What is empty or absent limits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only posts of these categories.
    pub categories: Vec<usize>,
    /// Only posts of these challenges.
    pub challenges: Vec<u64>,
    /// No posts of these authors.
    pub without_authors: Vec<String>,
    /// None of these posts.
    pub without_posts: Vec<u64>,
    /// Only posts that came at most so many nights ago.
    pub max_age: Option<u64>,
}

impl Filter {
    pub(super) fn check(&self) -> Result<(), Error> {
        let bad = |what: String| Err(Error::Invalid { what });
        if let Some(category) = self.categories.iter().find(|code| **code >= CATEGORIES_MAX) {
            return bad(format!(
                "there is no category {category}; use 0 to {}",
                CATEGORIES_MAX - 1
            ));
        }
        let lengths = [
            ("challenges", self.challenges.len(), CHALLENGES_MAX),
            ("authors", self.without_authors.len(), NAMES_MAX),
            ("posts", self.without_posts.len(), NAMES_MAX),
        ];
        match lengths.into_iter().find(|(_, length, max)| length > max) {
            Some((name, length, max)) => {
                bad(format!("{length} {name} are too many for a filter; use at most {max}"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn admits(&self, post: &Candidate) -> bool {
        (self.categories.is_empty() || self.categories.contains(&post.category))
            && (self.challenges.is_empty() || self.challenges.contains(&post.challenge))
            && !self.without_authors.contains(&post.author)
            && !self.without_posts.contains(&post.post)
            && self.max_age.is_none_or(|nights| post.age <= nights)
    }

    /// Whether posts of a category are worth looking up.
    pub(super) fn wants_category(&self, code: usize) -> bool {
        self.challenges.is_empty()
            && (self.categories.is_empty() || self.categories.contains(&code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_filter_keeps_its_posts_out() {
        let post = Candidate {
            post: 7,
            challenge: 3,
            category: 1,
            author: "ann".into(),
            shown: 0,
            likes: 0,
            age: 2,
        };
        let admits = |filter: Filter| filter.admits(&post);
        assert!(admits(Filter::default()));
        assert!(admits(Filter { categories: vec![1], challenges: vec![3], ..Filter::default() }));
        assert!(!admits(Filter { categories: vec![0, 2], ..Filter::default() }));
        assert!(!admits(Filter { challenges: vec![4], ..Filter::default() }));
        assert!(!admits(Filter { without_authors: vec!["ann".into()], ..Filter::default() }));
        assert!(!admits(Filter { without_posts: vec![7], ..Filter::default() }));
        assert!(!admits(Filter { max_age: Some(1), ..Filter::default() }));
        assert!(admits(Filter { max_age: Some(2), ..Filter::default() }));
    }

    #[test]
    fn filters_that_make_no_sense_are_refused() {
        let refused = |filter: Filter| filter.check().is_err();
        assert!(refused(Filter { categories: vec![5], ..Filter::default() }));
        assert!(refused(Filter { challenges: vec![1; CHALLENGES_MAX + 1], ..Filter::default() }));
        assert!(refused(Filter { without_posts: vec![1; NAMES_MAX + 1], ..Filter::default() }));
        assert!(!refused(Filter { categories: vec![0, 4], ..Filter::default() }));
    }
}

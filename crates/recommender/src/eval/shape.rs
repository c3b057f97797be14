//! The shapes of made-up apps. Constants of the recommender were chosen on apps of these shapes that were made with one seed; the
//! benchmark judges apps that are made with another.

use super::Size;

/// What distinguishes one made-up app from another.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// What it is called.
    pub name: &'static str,
    /// How large it is by default.
    pub size: Size,
    /// How likely a user reacts to a post about which nothing else is said, as log odds.
    pub base: f64,
    /// How much the category counts.
    pub taste: f64,
    /// How much agreement beside the category counts.
    pub agreement: f64,
    /// How much challenges differ in quality.
    pub quality: f64,
    /// How much posts of one challenge differ in quality.
    pub post_quality: f64,
    /// How much it counts who the author is.
    pub author: f64,
    /// What a post loses in a day.
    pub ageing: f64,
    /// Groups of users who like the same challenges; 0: users and challenges have directions of their own.
    pub communities: usize,
    /// Languages; a post of another language is hardly ever liked.
    pub languages: usize,
    /// How much of a user's direction is another one at the end.
    pub drift: f64,
    /// The share of what users look at that is already popular; what is neither popular nor new is at random.
    pub look_at_popular: f64,
    /// The share of what users look at that is of today.
    pub look_at_newest: f64,
    /// Posts that the most active user looks at on a day.
    pub looks: f64,
    /// How fast that falls with the rank of a user.
    pub looks_exponent: f64,
    /// The share of users who come in the last week.
    pub newcomers: f64,
    /// Planned days of challenges.
    pub durations: [usize; 3],
}

impl Shape {
    /// An app of which all others are variations.
    pub const PLAIN: Shape = Shape {
        name: "plain",
        size: Size { users: 1000, challenges: 150, days: 28 },
        base: -3.6,
        taste: 4.0,
        agreement: 1.1,
        quality: 0.6,
        post_quality: 0.0,
        author: 0.0,
        ageing: 0.15,
        communities: 0,
        languages: 1,
        drift: 0.0,
        look_at_popular: 0.0,
        look_at_newest: 0.0,
        looks: 300.0,
        looks_exponent: 0.5,
        newcomers: 0.0,
        durations: [14, 30, 60],
    };

    /// A small club: few challenges that everybody knows, dense reactions, mostly to what is new, and authors who matter.
    pub const CLUB: Shape = Shape {
        name: "club",
        size: Size { users: 300, challenges: 40, days: 28 },
        base: -3.2,
        taste: 2.0,
        quality: 0.9,
        author: 0.7,
        look_at_newest: 0.5,
        looks: 120.0,
        looks_exponent: 0.4,
        newcomers: 0.1,
        ..Shape::PLAIN
    };

    /// A large and sparse app: communities, a long tail of users who hardly react, and many challenges.
    pub const SPARSE: Shape = Shape {
        name: "sparse",
        size: Size { users: 3000, challenges: 500, days: 28 },
        base: -4.2,
        taste: 1.0,
        agreement: 3.0,
        quality: 0.5,
        post_quality: 0.5,
        communities: 25,
        looks: 400.0,
        looks_exponent: 0.9,
        newcomers: 0.1,
        ..Shape::PLAIN
    };

    /// An app that changes: short challenges, and users whose interests move.
    pub const DRIFT: Shape = Shape {
        name: "drift",
        size: Size { users: 1500, challenges: 400, days: 35 },
        base: -3.4,
        taste: 2.5,
        agreement: 1.3,
        ageing: 0.4,
        drift: 0.8,
        looks: 150.0,
        looks_exponent: 0.6,
        newcomers: 0.15,
        durations: [7, 10, 14],
        ..Shape::PLAIN
    };

    /// An app of four languages in which everybody looks at what is popular.
    pub const LANGUAGES: Shape = Shape {
        name: "languages",
        size: Size { users: 1500, challenges: 240, days: 28 },
        base: -3.0,
        taste: 2.0,
        agreement: 0.8,
        quality: 1.0,
        post_quality: 0.6,
        author: 0.3,
        languages: 4,
        look_at_popular: 0.4,
        looks: 200.0,
        looks_exponent: 0.7,
        newcomers: 0.1,
        ..Shape::PLAIN
    };

    /// The apps by which lists are judged.
    pub const JUDGED: [Shape; 4] = [Shape::CLUB, Shape::SPARSE, Shape::DRIFT, Shape::LANGUAGES];

    /// A shape by its name.
    pub fn named(name: &str) -> Option<Shape> {
        let all = Shape::JUDGED.into_iter().chain([Shape::PLAIN]);
        all.into_iter().find(|shape| shape.name == name)
    }
}

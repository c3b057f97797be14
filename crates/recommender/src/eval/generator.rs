//! A made-up app with a known truth: users with tastes, challenges with qualities, daily posts, and reactions to what is seen.

use std::collections::HashSet;

use jiff::civil::Date;

use super::{
    shape::Shape,
    world::{Post, Reaction, WEEK, World, moment},
};
use crate::{
    random::Random,
    source::{Memory, Table},
};

/// Latent directions in which users and challenges can agree beside the category.
const LATENT: usize = 4;

/// What a post of a language that a user does not read loses, as log odds.
const FOREIGN: f64 = 4.0;

const CATEGORIES: usize = 5;

/// How large an app is made.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Users.
    pub users: usize,
    /// Challenges.
    pub challenges: usize,
    /// Days that are lived through.
    pub days: usize,
}

/// A made-up app.
#[derive(Debug)]
pub struct GeneratedApp {
    first_day: Date,
    shape: Shape,
    days: usize,
    users: Vec<User>,
    challenges: Vec<Challenge>,
    /// What was written on each day.
    posts: Vec<Post>,
    /// What was reacted on each day, in order.
    reactions: Vec<Reaction>,
    reacted: HashSet<(usize, u64)>,
}

#[derive(Debug)]
struct User {
    taste: [f64; CATEGORIES],
    latent: [f64; LATENT],
    /// The direction at the end, where interests move.
    latent_later: [f64; LATENT],
    community: usize,
    language: usize,
    /// How much others like what the user writes.
    charm: f64,
    first_day: usize,
    /// Posts looked at on a day.
    looks: usize,
}

#[derive(Debug)]
struct Challenge {
    category: usize,
    public: bool,
    quality: f64,
    latent: [f64; LATENT],
    community: usize,
    language: usize,
    first_day: usize,
    duration: usize,
    members: Vec<usize>,
    followers: Vec<usize>,
}

impl GeneratedApp {
    /// Makes an app of the plain shape. The same seed makes the same one.
    pub fn generate(size: Size, seed: u64) -> GeneratedApp {
        GeneratedApp::shaped(Shape { size, ..Shape::PLAIN }, seed)
    }

    /// Makes an app of a shape. The same seed makes the same one.
    pub fn shaped(shape: Shape, seed: u64) -> GeneratedApp {
        let mut dice = Random::new(seed);
        let Size { users, challenges, days } = shape.size;
        let users: Vec<User> = (0..users).map(|rank| User::new(rank, &shape, &mut dice)).collect();
        let challenges: Vec<Challenge> =
            (0..challenges).map(|_| Challenge::new(&users, &shape, &mut dice)).collect();
        let first_day = jiff::civil::date(2024, 3, 1);
        let (posts, reactions, reacted) = (Vec::new(), Vec::new(), HashSet::new());
        let mut world =
            GeneratedApp { first_day, shape, days, users, challenges, posts, reactions, reacted };
        let mut likes = Vec::new();
        for day in 0..days {
            world.write(day, &mut dice);
            likes.resize(world.posts.len(), 0);
            world.react(day, &mut likes, &mut dice);
        }
        world
    }

    /// Members of all running challenges write, or have a break.
    fn write(&mut self, day: usize, dice: &mut Random) {
        for (challenge, about) in self.challenges.iter().enumerate() {
            if !about.runs_on(day) {
                continue;
            }
            for author in &about.members {
                if dice.chance(0.5) {
                    let id = self.posts.len() as u64 + 1;
                    let rests = dice.chance(0.1);
                    let spread = self.shape.post_quality;
                    let quality = if spread > 0.0 { spread * dice.normal() } else { 0.0 };
                    self.posts.push(Post { id, day, author: *author, challenge, rests, quality });
                }
            }
        }
    }

    /// Users look at posts of the last week, the first ones more closely.
    fn react(&mut self, day: usize, likes: &mut [u64], dice: &mut Random) {
        let is_recent = |post: &&Post| post.day + WEEK > day && self.is_open(post);
        let recent: Vec<Post> = self.posts.iter().filter(is_recent).cloned().collect();
        if recent.is_empty() {
            return;
        }
        let mut popular: Vec<usize> = (0..recent.len()).collect();
        popular.sort_by_key(|at| std::cmp::Reverse(likes[recent[*at].id as usize - 1]));
        popular.truncate(recent.len().div_ceil(10));
        let newest = recent.iter().position(|post| post.day == day).unwrap_or(0);
        for user in 0..self.users.len() {
            if self.users[user].first_day > day {
                continue;
            }
            for place in 0..self.users[user].looks {
                let at = self.look(&popular, newest, recent.len(), dice);
                let post = &recent[at];
                let looks = dice.chance(1.0 / ((place + 2) as f64).log2());
                if post.author == user || !looks {
                    continue;
                }
                if !dice.chance(self.liking(user, post, day))
                    || !self.reacted.insert((user, post.id))
                {
                    continue;
                }
                likes[post.id as usize - 1] += 1;
                self.log(day, user, post.id, false);
                if dice.chance(0.1) {
                    self.log(day, user, post.id, true);
                }
            }
        }
    }

    /// Which of the recent posts somebody looks at.
    fn look(&self, popular: &[usize], newest: usize, n: usize, dice: &mut Random) -> usize {
        let Shape { look_at_popular, look_at_newest, .. } = self.shape;
        if look_at_popular + look_at_newest > 0.0 {
            let chance = dice.share();
            if chance < look_at_popular {
                return popular[dice.below(popular.len())];
            }
            if chance < look_at_popular + look_at_newest {
                return newest + dice.below(n - newest);
            }
        }
        dice.below(n)
    }

    fn log(&mut self, day: usize, user: usize, post: u64, cancelled: bool) {
        let id = self.reactions.len() as u64 + 1;
        self.reactions.push(Reaction { id, day, user, post, cancelled });
    }
}

impl World for GeneratedApp {
    fn first_day(&self) -> Date {
        self.first_day
    }

    fn days(&self) -> usize {
        self.days
    }

    fn users(&self) -> usize {
        self.users.len()
    }

    fn posts(&self) -> &[Post] {
        &self.posts
    }

    fn reactions(&self) -> &[Reaction] {
        &self.reactions
    }

    fn is_open(&self, post: &Post) -> bool {
        self.challenges[post.challenge].public && !post.rests
    }

    fn category(&self, challenge: usize) -> usize {
        self.challenges[challenge].category
    }

    fn tables(&self) -> Memory {
        let mut tables = Memory::default();
        for (id, challenge) in self.challenges.iter().enumerate() {
            let created = moment(self.first_day, challenge.first_day);
            let [id, category, public, duration] =
                [id + 1, challenge.category, usize::from(challenge.public), challenge.duration]
                    .map(|n| n.to_string());
            tables.push(Table::Challenges, &[&id, &category, &public, &duration, &created]);
            for member in &challenge.members {
                tables.push(Table::Members, &[&id, &member.to_string()]);
            }
            for follower in &challenge.followers {
                tables.push(Table::Tracking, &[&follower.to_string(), &id, "0"]);
            }
        }
        tables
    }

    /// The truth: how likely a user reacts to a post that is looked at.
    fn liking(&self, user: usize, post: &Post, day: usize) -> f64 {
        let (shape, author) = (&self.shape, &self.users[post.author]);
        let (user, challenge) = (&self.users[user], &self.challenges[post.challenge]);
        let agreement = if shape.communities > 0 {
            if user.community == challenge.community { 1.0 } else { 0.0 }
        } else {
            user.agreement(challenge, shape.drift * day as f64 / self.days as f64)
        };
        let odds = shape.base
            + shape.taste * user.taste[challenge.category]
            + shape.agreement * agreement
            + challenge.quality
            + post.quality
            + shape.author * author.charm
            - if user.language == challenge.language { 0.0 } else { FOREIGN }
            - shape.ageing * (day - post.day) as f64;
        1.0 / (1.0 + (-odds).exp())
    }
}

impl User {
    fn new(rank: usize, shape: &Shape, dice: &mut Random) -> User {
        let mut taste = [0.0; CATEGORIES].map(|_: f64| dice.gamma(0.4));
        let total: f64 = taste.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        taste.iter_mut().for_each(|share| *share /= total);
        let looks =
            (shape.looks / ((rank % 50 + 1) as f64).powf(shape.looks_exponent)).ceil() as usize;
        let latent = latent(dice);
        let latent_later = if shape.drift > 0.0 { self::latent(dice) } else { latent };
        let is_new = shape.newcomers > 0.0 && dice.chance(shape.newcomers);
        User {
            taste,
            latent,
            latent_later,
            community: if shape.communities > 0 { dice.below(shape.communities) } else { 0 },
            language: if shape.languages > 1 { dice.below(shape.languages) } else { 0 },
            charm: if shape.author > 0.0 { dice.normal() } else { 0.0 },
            first_day: if is_new { shape.size.days - WEEK } else { 0 },
            looks,
        }
    }

    fn agreement(&self, challenge: &Challenge, moved: f64) -> f64 {
        let now = self.latent.iter().zip(self.latent_later);
        let now = now.map(|(first, later)| (1.0 - moved) * first + moved * later);
        now.zip(challenge.latent).map(|(a, b)| a * b).sum()
    }
}

impl Challenge {
    fn new(users: &[User], shape: &Shape, dice: &mut Random) -> Challenge {
        let days = shape.size.days;
        let mut challenge = Challenge {
            category: dice.below(CATEGORIES),
            public: true,
            quality: 0.0,
            latent: latent(dice),
            community: if shape.communities > 0 { dice.below(shape.communities) } else { 0 },
            language: if shape.languages > 1 { dice.below(shape.languages) } else { 0 },
            first_day: 0,
            duration: 0,
            members: Vec::new(),
            followers: Vec::new(),
        };
        let wish = |user: &User| {
            let same = |a: usize, b: usize, n: usize| if n > 1 && a != b { -3.0 } else { 0.0 };
            6.0 * user.taste[challenge.category]
                + user.agreement(&challenge, 0.0)
                + same(user.community, challenge.community, shape.communities)
                + same(user.language, challenge.language, shape.languages)
                - if user.first_day > 0 { 100.0 } else { 0.0 }
        };
        let mut keen: Vec<(usize, f64)> = users
            .iter()
            .enumerate()
            .map(|(id, user)| (id, wish(user) + 2.0 * dice.normal()))
            .collect();
        keen.sort_by(|a, b| b.1.total_cmp(&a.1));
        let size = 2 + dice.below(6);
        challenge.members = keen.iter().take(size).map(|(id, _)| *id).collect();
        challenge.followers = keen.iter().skip(size).take(size / 2).map(|(id, _)| *id).collect();
        challenge.duration = shape.durations[dice.below(3)];
        challenge.public = !dice.chance(0.1);
        challenge.quality = shape.quality * dice.normal();
        // Many run from the beginning on.
        challenge.first_day = dice.below(2 * days).saturating_sub(days);
        challenge
    }

    fn runs_on(&self, day: usize) -> bool {
        (self.first_day..self.first_day + self.duration).contains(&day)
    }
}

fn latent(dice: &mut Random) -> [f64; LATENT] {
    [0.0; LATENT].map(|_: f64| dice.normal() * 0.8)
}

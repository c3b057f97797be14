//! A made-up app with a known truth: users with tastes, challenges with qualities, daily posts, and reactions to what is seen.

use std::collections::HashSet;

use jiff::{ToSpan as _, civil::Date};

use crate::{
    random::Random,
    source::{Memory, Table},
};

/// Latent directions in which users and challenges can agree beside the category.
const LATENT: usize = 4;

const CATEGORIES: usize = 5;

/// What posts say that only announce a break.
pub(super) const BREAK_TEXT: &str = "I have a break today";

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
    /// Its first day.
    pub first_day: Date,
    users: Vec<User>,
    challenges: Vec<Challenge>,
    /// What was written on each day.
    pub(super) posts: Vec<Post>,
    /// What was reacted on each day, in order.
    pub(super) reactions: Vec<Reaction>,
    reacted: HashSet<(usize, u64)>,
}

#[derive(Debug)]
struct User {
    taste: [f64; CATEGORIES],
    latent: [f64; LATENT],
    /// Posts looked at on a day.
    looks: usize,
}

#[derive(Debug)]
struct Challenge {
    category: usize,
    public: bool,
    quality: f64,
    latent: [f64; LATENT],
    first_day: usize,
    duration: usize,
    members: Vec<usize>,
    followers: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) id: u64,
    pub(super) day: usize,
    pub(super) author: usize,
    pub(super) challenge: usize,
    pub(super) rests: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Reaction {
    pub(super) id: u64,
    pub(super) day: usize,
    pub(super) user: usize,
    pub(super) post: u64,
    pub(super) cancelled: bool,
}

impl GeneratedApp {
    /// Makes an app. The same seed makes the same one.
    pub fn generate(size: Size, seed: u64) -> GeneratedApp {
        let mut dice = Random::new(seed);
        let users: Vec<User> = (0..size.users).map(|rank| User::new(rank, &mut dice)).collect();
        let challenges: Vec<Challenge> =
            (0..size.challenges).map(|_| Challenge::new(&users, size.days, &mut dice)).collect();
        let first_day = jiff::civil::date(2024, 3, 1);
        let (posts, reactions, reacted) = (Vec::new(), Vec::new(), HashSet::new());
        let mut world = GeneratedApp { first_day, users, challenges, posts, reactions, reacted };
        for day in 0..size.days {
            world.write(day, &mut dice);
            world.react(day, &mut dice);
        }
        world
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        self.users.len()
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
                    self.posts.push(Post { id, day, author: *author, challenge, rests });
                }
            }
        }
    }

    /// Users look at posts of the last week in the order in which the app happens to show them, the first ones more closely.
    fn react(&mut self, day: usize, dice: &mut Random) {
        let recent: Vec<Post> = self
            .posts
            .iter()
            .filter(|post| post.day + 7 > day && self.is_open(post))
            .cloned()
            .collect();
        if recent.is_empty() {
            return;
        }
        for user in 0..self.users.len() {
            for place in 0..self.users[user].looks {
                let post = &recent[dice.below(recent.len())];
                let looks = dice.chance(1.0 / ((place + 2) as f64).log2());
                if post.author == user || !looks {
                    continue;
                }
                if !dice.chance(self.liking(user, post, day))
                    || !self.reacted.insert((user, post.id))
                {
                    continue;
                }
                self.log(day, user, post.id, false);
                if dice.chance(0.1) {
                    self.log(day, user, post.id, true);
                }
            }
        }
    }

    fn log(&mut self, day: usize, user: usize, post: u64, cancelled: bool) {
        let id = self.reactions.len() as u64 + 1;
        self.reactions.push(Reaction { id, day, user, post, cancelled });
    }

    /// The truth: how likely a user reacts to a post that is looked at.
    fn liking(&self, user: usize, post: &Post, day: usize) -> f64 {
        let (user, challenge) = (&self.users[user], &self.challenges[post.challenge]);
        let agreement: f64 = user.latent.iter().zip(challenge.latent).map(|(a, b)| a * b).sum();
        let taste = 4.0 * user.taste[challenge.category];
        let freshness = -0.15 * (day - post.day) as f64;
        1.0 / (1.0 + (-(-3.6 + taste + 1.1 * agreement + challenge.quality + freshness)).exp())
    }

    /// Whether everybody may see a post.
    pub(super) fn is_open(&self, post: &Post) -> bool {
        self.challenges[post.challenge].public && !post.rests
    }

    pub(super) fn category(&self, challenge: usize) -> usize {
        self.challenges[challenge].category
    }

    /// The app's tables as they are before any day: its challenges, and who takes part in and follows them.
    pub fn tables(&self) -> Memory {
        let mut tables = Memory::default();
        for (id, challenge) in self.challenges.iter().enumerate() {
            let created = self.moment(challenge.first_day);
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

    /// Adds what was written and reacted on a day to the tables.
    pub fn add_day(&self, tables: &mut Memory, day: usize) {
        let created = self.moment(day);
        for post in self.posts.iter().filter(|post| post.day == day) {
            let [id, author, challenge] =
                [post.id, post.author as u64, post.challenge as u64 + 1].map(|n| n.to_string());
            let text = if post.rests { BREAK_TEXT } else { "Done for today" };
            tables.push(Table::Posts, &[&id, &author, &challenge, &created, text]);
        }
        for reaction in self.reactions.iter().filter(|reaction| reaction.day == day) {
            let [id, post, user, cancelled] =
                [reaction.id, reaction.post, reaction.user as u64, u64::from(reaction.cancelled)]
                    .map(|n| n.to_string());
            tables.push(Table::Reactions, &[&id, &post, &user, &cancelled]);
        }
    }

    fn moment(&self, day: usize) -> String {
        let days = i64::try_from(day).unwrap_or(0);
        let date = self.first_day.checked_add(days.days()).unwrap_or(self.first_day);
        format!("{date} 01:00:00")
    }
}

impl User {
    fn new(rank: usize, dice: &mut Random) -> User {
        let mut taste = [0.0; CATEGORIES].map(|_: f64| dice.gamma(0.4));
        let total: f64 = taste.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        taste.iter_mut().for_each(|share| *share /= total);
        let looks = (300.0 / ((rank % 50 + 1) as f64).sqrt()).ceil() as usize;
        User { taste, latent: latent(dice), looks }
    }
}

impl Challenge {
    fn new(users: &[User], days: usize, dice: &mut Random) -> Challenge {
        let category = dice.below(CATEGORIES);
        let direction = latent(dice);
        let wish = |user: &User| {
            let agreement: f64 = user.latent.iter().zip(direction).map(|(a, b)| a * b).sum();
            6.0 * user.taste[category] + agreement
        };
        let mut keen: Vec<(usize, f64)> = users
            .iter()
            .enumerate()
            .map(|(id, user)| (id, wish(user) + 2.0 * dice.normal()))
            .collect();
        keen.sort_by(|a, b| b.1.total_cmp(&a.1));
        let size = 2 + dice.below(6);
        let members = keen.iter().take(size).map(|(id, _)| *id).collect();
        let followers = keen.iter().skip(size).take(size / 2).map(|(id, _)| *id).collect();
        let duration = [14, 30, 60][dice.below(3)];
        Challenge {
            category,
            public: !dice.chance(0.1),
            quality: 0.6 * dice.normal(),
            latent: direction,
            // Many run from the beginning on.
            first_day: dice.below(2 * days).saturating_sub(days),
            duration,
            members,
            followers,
        }
    }

    fn runs_on(&self, day: usize) -> bool {
        (self.first_day..self.first_day + self.duration).contains(&day)
    }
}

fn latent(dice: &mut Random) -> [f64; LATENT] {
    [0.0; LATENT].map(|_: f64| dice.normal() * 0.8)
}

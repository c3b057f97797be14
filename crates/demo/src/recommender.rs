//! The recommender: challenges, posts, reactions, and people who look at their lists.

use std::{ops::ControlFlow, time::Duration};

use keyrack_recommender::{
    Memory, Post, Reaction, Recommender as Service, Request, Settings, Table,
    eval::{GeneratedApp, Size, evaluate},
    keys::UserId,
    user_id,
};
use keyrack_store::Store;

use crate::{
    agenda::Plan,
    error::Error,
    people::{PEOPLE, Person},
    random::Random,
    scenario::TimedAction,
};

const CATEGORIES: u64 = 5;
const CHALLENGES: u64 = 30;
/// What there is when the demo starts.
const POSTS: u64 = 300;
const REACTIONS: u64 = 900;
/// So many people take part in something.
const MEMBERS: u64 = PEOPLE / 5;

/// The app that lists are judged on: small, so that it does not take long.
const LESSON: Size = Size { users: 200, challenges: 30, days: 21 };

/// Everything live has ids beyond what was there at the beginning.
const LIVE: u64 = 1_000_000;

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Write {
        post: u64,
        author: Person,
        challenge: u64,
    },
    React {
        number: u64,
        post: u64,
        whom: Person,
    },
    /// Somebody looks at the first posts of their list.
    Look(Person),
    Hide {
        post: u64,
        whom: Person,
    },
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Recommender {
    at: Duration,
    numbers: u64,
    posts: u64,
}

impl Plan for Recommender {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        self.at += Duration::from_millis(random.between(300, 1_500));
        let whom = Person::any(random);
        let action = match random.below(100) {
            0..15 => {
                self.posts += 1;
                let challenge = random.between(1, CHALLENGES);
                Action::Write { post: LIVE + self.posts, author: whom, challenge }
            }
            15..55 => {
                self.numbers += 1;
                Action::React { number: LIVE + self.numbers, post: self.some_post(random), whom }
            }
            55..97 => Action::Look(whom),
            _ => Action::Hide { post: self.some_post(random), whom },
        };
        TimedAction { at: self.at, action: action.into() }
    }
}

impl Recommender {
    /// New posts are looked at more than old ones.
    fn some_post(&self, random: &mut Random) -> u64 {
        if self.posts > 0 && random.percent(50) {
            return LIVE + random.between(1, self.posts);
        }
        random.between(1, POSTS)
    }
}

/// Where lists are made.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    service: Service,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        Driver { service: Service::new(store, Settings::default()) }
    }

    /// Loads the app's tables, as it happens every night.
    pub(crate) async fn begin(&self, random: &mut Random) -> Result<(), Error> {
        let mut tables = self.tables(random);
        self.service.sync(&mut tables, &mut |_| ControlFlow::Continue(())).await?;
        Ok(())
    }

    fn tables(&self, random: &mut Random) -> Memory {
        let today = self.service.today().to_string();
        let mut tables = Memory::default();
        for challenge in 1..=CHALLENGES {
            let (id, category) = (challenge.to_string(), random.below(CATEGORIES).to_string());
            let public = if random.percent(90) { "1" } else { "0" };
            tables.push(Table::Challenges, &[&id, &category, public, "30", &today]);
        }
        for _ in 0..MEMBERS {
            let (whom, challenge) =
                (Person::any(random).id(), random.between(1, CHALLENGES).to_string());
            tables.push(Table::Members, &[&challenge, &whom]);
            if random.percent(40) {
                tables.push(Table::Tracking, &[&whom, &challenge, "0"]);
            }
        }
        for post in 1..=POSTS {
            let (id, author) = (post.to_string(), Person::any(random).id());
            let challenge = random.between(1, CHALLENGES).to_string();
            tables.push(Table::Posts, &[&id, &author, &challenge, &today, "Done for today"]);
        }
        for reaction in 1..=REACTIONS {
            let (id, whom) = (reaction.to_string(), Person::any(random).id());
            let post = random.between(1, POSTS).to_string();
            let taken_back = if random.percent(5) { "1" } else { "0" };
            tables.push(Table::Reactions, &[&id, &post, &whom, taken_back]);
        }
        tables
    }

    /// Judges lists on an app that is made up, and uses what that teaches.
    pub(crate) async fn learn(
        self,
        seed: u64,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        let learning = async {
            let found = evaluate(&GeneratedApp::generate(LESSON, seed), LESSON.days, seed).await?;
            Ok(self.service.adopt(found).await?)
        };
        tokio::select! {
            learned = learning => learned,
            () = stop => Ok(()),
        }
    }

    pub(crate) async fn perform(&self, action: Action) -> Result<(), Error> {
        match action {
            Action::Write { post, author, challenge } => {
                let day = Some(self.service.today());
                let (id, author, text) = (post, user(author)?, "Done for today".to_owned());
                self.service
                    .add_post(Post { id, author, challenge, day, has_bad_day: false, text })
                    .await?;
            }
            Action::React { number, post, whom } => {
                let reaction = Reaction { id: number, post, user: user(whom)?, cancelled: false };
                self.service.add_reaction(reaction).await?;
            }
            Action::Look(whom) => {
                let whom = user(whom)?;
                let list = self.service.recommend(&Request::of(whom.clone()).limit(10)).await?;
                let posts: Vec<u64> = list.items.iter().map(|item| item.post_id).collect();
                self.service.shown(&whom, &posts).await?;
            }
            Action::Hide { post, whom } => self.service.hide(&user(whom)?, post).await?,
        }
        Ok(())
    }
}

fn user(whom: Person) -> Result<UserId, Error> {
    Ok(user_id(&whom.id())?)
}

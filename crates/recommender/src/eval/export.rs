//! An app as files for programs that make other lists, and the lists of all of them judged by the same truth.
//!
//! Each line has whole numbers separated by spaces. `train`, `pool` and `closed` are what was known at the end of the day; the same
//! with `earlier_` in front, and `earlier_wanted`, are for tuning on as many days before.

use std::{collections::HashMap, fmt::Write as _, fs, path::Path};

use super::{
    bootstrap::{self, Interval},
    metrics::{K, Scores},
    run::{Simulation, Truth, user_id},
    world::{App, World},
};
use crate::{error::Error, online::Request, random::Random};

/// How good one way to make lists is.
#[derive(Debug, Clone)]
pub struct ListQuality {
    /// Its name.
    pub name: String,
    /// NDCG of the first ten, over users with later reactions; of a recorded app, also with earlier ones.
    pub ndcg: Interval,
    /// How many of the first ten a user would like on the next day, over all users with likes. Of a recorded app, how many a user
    /// liked later, over those who liked anything later.
    pub likes: Interval,
    /// The same over users without any.
    pub likes_new: Interval,
    /// The share of the pool that is on anybody's list.
    pub coverage: f64,
    ndcg_of_users: Vec<f64>,
    likes_of_users: Vec<f64>,
    likes_of_new: Vec<f64>,
}

/// How much more one way has than another, with its bounds.
#[derive(Debug, Clone, Copy)]
pub struct Gain {
    /// Of NDCG, as a ratio.
    pub ndcg: Interval,
    /// Of expected likes, as a ratio.
    pub likes: Interval,
    /// Of expected likes of new users, as a ratio.
    pub likes_new: Interval,
}

impl ListQuality {
    /// How much more it has than another.
    pub fn gain(&self, other: &ListQuality, seed: u64) -> Gain {
        Gain {
            ndcg: bootstrap::ratio(&self.ndcg_of_users, &other.ndcg_of_users, seed),
            likes: bootstrap::ratio(&self.likes_of_users, &other.likes_of_users, seed),
            likes_new: bootstrap::ratio(&self.likes_of_new, &other.likes_of_new, seed),
        }
    }
}

/// Lives through an app up to the days by which lists are judged, and writes what others need to make lists, and our lists as `keyrack.lists`.
///
/// # Errors
/// When a file cannot be written, or the store fails.
pub async fn export(app: &App, folder: &Path) -> Result<(), Error> {
    let world = app.world();
    let day = last_day(world)?;
    let write = |name: &str, text: String| write(folder, name, &text);
    let (truth, earlier) = (Truth::at(world, day), Truth::at(world, day - world.judged_days()));
    for (prefix, truth) in [("", &truth), ("earlier_", &earlier)] {
        write(&format!("{prefix}train"), train(world, truth))?;
        write(&format!("{prefix}pool"), pool(truth))?;
        write(&format!("{prefix}closed"), closed(world, truth))?;
    }
    write("earlier_wanted", wanted(&earlier))?;
    write(
        "users",
        (0..world.users()).fold(String::new(), |text, user| text + &format!("{user}\n")),
    )?;
    let mut life = Simulation::new(world).await?;
    life.live_until(day).await?;
    let learned = life.service.read_map(&crate::keys::learned()).await?;
    write("learned", format!("{:?}\n{:?}\n", learned.get("known"), learned.get("new")))?;
    let mut lists = String::new();
    for user in 0..world.users() {
        let page = life.service.recommend(&Request::of(user_id(user)?).limit(K)).await?;
        line(&mut lists, user, page.items.iter().map(|item| item.post_id));
    }
    write("keyrack.lists", lists)
}

/// Judges all lists of a folder, those of simple rules included: ours first.
///
/// # Errors
/// When a file cannot be read.
pub fn judge(app: &App, folder: &Path, seed: u64) -> Result<Vec<ListQuality>, Error> {
    let world = app.world();
    let day = last_day(world)?;
    let truth = Truth::at(world, day);
    let mut names: Vec<String> = fs::read_dir(folder)
        .map_err(|error| failed(folder, &error))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".lists")?.to_owned()))
        .collect();
    names.sort_by_key(|name| (name != "keyrack", name.clone()));
    let judged = names.iter().map(|name| {
        let lists = read_lists(&folder.join(format!("{name}.lists")))?;
        Ok(judge_lists(name, world, &truth, day, &lists, seed))
    });
    let mut judged: Vec<ListQuality> = judged.collect::<Result<_, Error>>()?;
    let mut dice = Random::new(seed);
    judged.push(judge_lists("random", world, &truth, day, &random(world, &truth, &mut dice), seed));
    Ok(judged)
}

/// The last day that is not judged.
fn last_day(world: &dyn World) -> Result<usize, Error> {
    let (days, judged) = (world.days(), world.judged_days());
    days.checked_sub(judged + 1).filter(|day| *day > judged).ok_or_else(|| Error::Invalid {
        what: format!("{days} days are too few; use at least {}", 2 * judged + 2),
    })
}

fn judge_lists(
    name: &str,
    world: &dyn World,
    truth: &Truth<'_>,
    day: usize,
    lists: &HashMap<usize, Vec<u64>>,
    seed: u64,
) -> ListQuality {
    let (mut ndcg, mut likes, mut likes_new) = (Vec::new(), Vec::new(), Vec::new());
    let mut listed = std::collections::HashSet::new();
    let nothing = Vec::new();
    for user in 0..world.users() {
        let list = lists.get(&user).unwrap_or(&nothing);
        listed.extend(list.iter().take(K).copied());
        let wanted = truth.wanted.get(&user);
        if world.is_recorded() && wanted.is_none() {
            continue;
        }
        let posts = list.iter().take(K).filter_map(|post| truth.pool.get(post));
        let expected: f64 = posts.map(|post| world.liking(user, post, day + 1)).sum();
        let is_new = !truth.has_liked.contains(&user);
        if is_new { &mut likes_new } else { &mut likes }.push(expected);
        // Most users of a recorded app may be new: they would hide what is said of the others.
        if let Some(wanted) = wanted.filter(|_| !(world.is_recorded() && is_new)) {
            let list: Vec<_> = list.iter().filter_map(|post| truth.listed(*post)).collect();
            ndcg.push(Scores::of(&list, wanted).ndcg);
        }
    }
    ListQuality {
        name: name.to_owned(),
        ndcg: bootstrap::mean(&ndcg, seed),
        likes: bootstrap::mean(&likes, seed),
        likes_new: bootstrap::mean(&likes_new, seed),
        coverage: listed.len() as f64 / truth.pool.len().max(1) as f64,
        ndcg_of_users: ndcg,
        likes_of_users: likes,
        likes_of_new: likes_new,
    }
}

fn random(world: &dyn World, truth: &Truth<'_>, dice: &mut Random) -> HashMap<usize, Vec<u64>> {
    let mut posts: Vec<u64> = truth.pool.keys().copied().collect();
    posts.sort_unstable();
    let list = |user| (user, (0..K).map(|_| posts[dice.below(posts.len())]).collect());
    (0..world.users()).map(list).collect()
}

/// User, challenge and likes of it.
fn train(world: &dyn World, truth: &Truth<'_>) -> String {
    let mut likes: std::collections::BTreeMap<(usize, usize), u64> = Default::default();
    let challenge_of: HashMap<u64, usize> =
        world.posts().iter().map(|post| (post.id, post.challenge)).collect();
    for (user, post) in &truth.reacted {
        *likes.entry((*user, challenge_of[post])).or_default() += 1;
    }
    let mut text = String::new();
    likes.iter().for_each(|((user, challenge), n)| {
        let _ = writeln!(text, "{user} {challenge} {n}");
    });
    text
}

/// Post, challenge, author, likes and age of all that can be recommended.
fn pool(truth: &Truth<'_>) -> String {
    let mut posts: Vec<_> = truth.pool.values().collect();
    posts.sort_by_key(|post| post.id);
    let mut text = String::new();
    for post in posts {
        let likes = truth.likes.get(&post.id).copied().unwrap_or(0);
        let age = truth.day - post.day;
        let _ = writeln!(text, "{} {} {} {likes} {age}", post.id, post.challenge, post.author);
    }
    text
}

/// User and post, for posts of the pool that the user has reacted to or written.
fn closed(world: &dyn World, truth: &Truth<'_>) -> String {
    let reacted = truth.reacted.iter().copied().filter(|(_, post)| truth.pool.contains_key(post));
    let written = truth.pool.values().map(|post| (post.author, post.id));
    let mut pairs: Vec<(usize, u64)> = reacted.chain(written).collect();
    pairs.sort_unstable();
    pairs.retain(|(user, _)| *user < world.users());
    let mut text = String::new();
    pairs.iter().for_each(|(user, post)| {
        let _ = writeln!(text, "{user} {post}");
    });
    text
}

fn wanted(truth: &Truth<'_>) -> String {
    let mut text = String::new();
    let mut users: Vec<_> = truth.wanted.iter().collect();
    users.sort_by_key(|(user, _)| **user);
    for (user, posts) in users {
        let mut posts: Vec<u64> = posts.iter().copied().collect();
        posts.sort_unstable();
        line(&mut text, *user, posts.into_iter());
    }
    text
}

fn line(text: &mut String, user: usize, posts: impl Iterator<Item = u64>) {
    let _ = write!(text, "{user}");
    posts.for_each(|post| {
        let _ = write!(text, " {post}");
    });
    text.push('\n');
}

fn read_lists(path: &Path) -> Result<HashMap<usize, Vec<u64>>, Error> {
    let text = fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    let list = |line: &str| {
        let mut numbers = line.split(' ').map(str::parse::<u64>);
        let user = numbers.next()?.ok()?;
        Some((usize::try_from(user).ok()?, numbers.collect::<Result<_, _>>().ok()?))
    };
    let bad = |at: usize| Error::Invalid { what: format!("{}: line {}", path.display(), at + 1) };
    text.lines().enumerate().map(|(at, line)| list(line).ok_or_else(|| bad(at))).collect()
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| failed(&path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::Source { table: path.display().to_string(), reason: error.to_string() }
}

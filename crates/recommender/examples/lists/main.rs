//! Measures the recommender for `cargo xtask bench recommend`: one line of `name value` for each result.
//!
//! - `lists world URL USERS POSTS REQUESTS` loads an app of that size with a progress bar, and times requests of 100 posts: one after the
//!   other, and eight at once.
//! - `lists privacy REQUESTS` asks for lists of many kinds and counts posts on them that nobody may see.
//! - `lists export SHAPE SCALE SEED FOLDER` writes a made-up app of that shape, its users and challenges so many percent of the usual, and our
//!   lists for it; `lists judge` with the same arguments judges all lists of the folder. The shape `recorded:FOLDER` is the app that the files
//!   of that folder tell of, whole.
//! - `lists eval USERS CHALLENGES DAYS SEED` judges lists on a made-up app.

mod app;

use std::{
    io::Write as _,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use keyrack_recommender::{
    Memory, Progress, Reaction, Recommender, Request, Settings, Table,
    eval::{
        App as JudgedApp, Evaluation, GeneratedApp, ListQuality, RecordedApp, Shape, Size,
        evaluate, export, judge,
    },
    keys::UserId,
    user_id,
};
use keyrack_store::Store;

use self::app::{App, mixed};

/// As in the `keyrack` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Posts of a request.
const LIMIT: usize = 100;
/// Who ask at once.
const AT_ONCE: u64 = 8;

const USAGE: &str = "usage: lists world URL USERS POSTS REQUESTS | privacy REQUESTS | export SHAPE SCALE SEED FOLDER | \
                     judge SHAPE SCALE SEED FOLDER | eval USERS CHALLENGES DAYS SEED";

type Failed = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["world", url, users, posts, requests] => {
            world(url, users.parse()?, posts.parse()?, requests.parse()?).await
        }
        ["export", shape, scale, seed, folder] => {
            let app = judged_app(shape, scale.parse()?, seed.parse()?)?;
            Ok(export(&app, folder.as_ref()).await?)
        }
        ["judge", shape, scale, seed, folder] => {
            let seed = seed.parse()?;
            let app = judged_app(shape, scale.parse()?, seed)?;
            print_judged(&judge(&app, folder.as_ref(), seed)?, seed)
        }
        ["privacy", requests] => privacy(requests.parse()?).await,
        ["eval", users, challenges, days, seed] => {
            let size = Size {
                users: users.parse()?,
                challenges: challenges.parse()?,
                days: days.parse()?,
            };
            let seed = seed.parse()?;
            print_evaluation(&evaluate(&GeneratedApp::generate(size, seed), size.days, seed).await?)
        }
        _ => Err(USAGE.into()),
    }
}

/// A made-up app or a recorded one.
fn judged_app(name: &str, percent: usize, seed: u64) -> Result<JudgedApp, Failed> {
    if let Some(folder) = name.strip_prefix("recorded:") {
        return Ok(JudgedApp::Recorded(RecordedApp::read(folder.as_ref())?));
    }
    let mut shape = Shape::named(name).ok_or_else(|| format!("there is no shape \"{name}\""))?;
    shape.size.users = shape.size.users * percent / 100;
    shape.size.challenges = shape.size.challenges * percent / 100;
    Ok(JudgedApp::Generated(GeneratedApp::shaped(shape, seed)))
}

/// The figures of each kind of list, and how much more ours have.
fn print_judged(judged: &[ListQuality], seed: u64) -> Result<(), Failed> {
    let mut out = std::io::stdout();
    for lists in judged {
        let gain = judged[0].gain(lists, seed);
        let intervals =
            [lists.ndcg, lists.likes, lists.likes_new, gain.ndcg, gain.likes, gain.likes_new];
        let figures =
            intervals.iter().flat_map(|interval| [interval.value, interval.low, interval.high]);
        let figures: Vec<String> =
            figures.chain([lists.coverage]).map(|figure| format!("{figure:.4}")).collect();
        writeln!(out, "lists {}\t{}", lists.name, figures.join("\t"))?;
    }
    Ok(())
}

fn print(name: &str, value: f64) -> Result<(), Failed> {
    Ok(writeln!(std::io::stdout(), "{name} {value:.4}")?)
}

/// The break posts of the app are not recommended.
fn settings() -> Settings {
    Settings { break_text: "I have a break today".into(), ..Settings::default() }
}

/// Loads an app and asks for lists.
async fn world(url: &str, users: u64, posts: u64, requests: u64) -> Result<(), Failed> {
    let store = Store::open(url).await?;
    let recommender = Recommender::new(store.clone(), settings());
    let today = recommender.today();
    let day = |ago: i64| today.saturating_sub(jiff::Span::new().days(ago)).to_string();
    let days = (0..7).rev().map(day).collect();
    let mut app = App { users, challenges: (posts / 40).max(10), posts, days };
    let before = store.info().await?.memory_bytes as f64;
    let started = Instant::now();
    let bar = Bar::new();
    recommender.sync(&mut app, &mut |progress| bar.show(progress)).await?;
    bar.0.finish_and_clear();
    let took = started.elapsed().as_secs_f64();
    print("rows", app.rows() as f64)?;
    print("load_s", took)?;
    print("bytes", store.info().await?.memory_bytes as f64 - before)?;
    print("live_posts", recommender.stats().await?.posts.iter().sum::<u64>() as f64)?;
    let times = one_by_one(&recommender, users, requests).await?;
    print("p50_ms", at(&times, 0.5))?;
    print("p99_ms", at(&times, 0.99))?;
    print("requests_per_s", at_once(&recommender, users, requests).await?)
}

/// A progress bar on stderr.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Bar {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{msg:10} {wide_bar} {human_pos} of {human_len}")
        {
            bar.set_style(style);
        }
        Bar(bar)
    }

    fn show(&self, progress: Progress) -> ControlFlow<()> {
        self.0.set_message(progress.step);
        if let Some(of) = progress.of {
            self.0.set_length(of);
            self.0.set_position(progress.rows);
        }
        ControlFlow::Continue(())
    }
}

fn somebody(users: u64, n: u64) -> Result<UserId, Failed> {
    Ok(user_id(&(mixed(n) % users).to_string())?)
}

/// How long requests take, in order of time.
async fn one_by_one(
    recommender: &Recommender,
    users: u64,
    requests: u64,
) -> Result<Vec<Duration>, Failed> {
    let mut times = Vec::new();
    for n in 0..requests {
        let request = Request::of(somebody(users, n)?).limit(LIMIT);
        let started = Instant::now();
        let page = recommender.recommend(&request).await?;
        times.push(started.elapsed());
        if page.items.len() != LIMIT {
            return Err(format!("a list of {} posts", page.items.len()).into());
        }
    }
    // The first ones find nothing warm.
    times.drain(..times.len().min(20));
    times.sort();
    Ok(times)
}

fn at(times: &[Duration], share: f64) -> f64 {
    let place = (times.len() as f64 * share) as usize;
    times.get(place.min(times.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// Requests a second when several ask at once.
async fn at_once(recommender: &Recommender, users: u64, requests: u64) -> Result<f64, Failed> {
    let recommender = Arc::new(recommender.clone());
    let started = Instant::now();
    let asking = (0..AT_ONCE).map(|who| {
        let recommender = recommender.clone();
        tokio::spawn(async move {
            for n in (who..requests).step_by(AT_ONCE as usize) {
                let request = Request::of(somebody(users, requests + n)?).limit(LIMIT);
                recommender.recommend(&request).await?;
            }
            Ok::<_, Failed>(())
        })
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await??;
    }
    Ok(requests as f64 / started.elapsed().as_secs_f64())
}

/// Asks for many lists of an app in which one challenge in four is private, and one post in thirteen a break.
async fn privacy(requests: u64) -> Result<(), Failed> {
    let recommender = Recommender::new(Store::open("embedded:memory").await?, settings());
    let today = format!("{} 00:00:00", recommender.today());
    let mut app = Memory::default();
    for challenge in 0..40u64 {
        let values =
            [challenge, challenge % 5, u64::from(challenge % 4 != 3), 60].map(|n| n.to_string());
        app.push(Table::Challenges, &[&values[0], &values[1], &values[2], &values[3], &today]);
    }
    for post in 0..800u64 {
        let ids = [1000 + post, 500 + post % 90, post % 40].map(|id| id.to_string());
        let text = if post.is_multiple_of(13) { "I have a break today!" } else { "Ran" };
        app.push(Table::Posts, &[&ids[0], &ids[1], &ids[2], &today, text]);
    }
    recommender.sync(&mut app, &mut |_| ControlFlow::Continue(())).await?;
    let (mut bad, mut listed) = (0u64, 0u64);
    for n in 0..requests {
        let user = somebody(997, n)?;
        if n.is_multiple_of(10) {
            // Also of what cannot be seen: it must not come back because somebody likes it.
            let post = 1000 + mixed(n * 3) % 800;
            let reaction =
                Reaction { id: n + 1, post, user: user.clone(), cancelled: n.is_multiple_of(30) };
            recommender.add_reaction(reaction).await?;
        }
        let mut request = Request::of(user).limit(1 + (mixed(n * 5) % 100) as usize);
        request.seed = Some(n);
        let page = recommender.recommend(&request).await?;
        listed += page.items.len() as u64;
        let hidden = |post: u64| (post - 1000) % 40 % 4 == 3 || (post - 1000).is_multiple_of(13);
        bad += page.items.iter().filter(|item| hidden(item.post_id)).count() as u64;
    }
    print("requests", requests as f64)?;
    print("listed", listed as f64)?;
    print("bad", bad as f64)
}

fn print_evaluation(found: &Evaluation) -> Result<(), Failed> {
    let mut out = std::io::stdout();
    for measured in &found.measured {
        let (ndcg, scores) = (measured.ndcg, measured.scores);
        let figures = [
            ndcg.value,
            ndcg.low,
            ndcg.high,
            scores.precision,
            scores.recall,
            scores.map,
            scores.hit_rate,
            measured.coverage,
            scores.diversity,
            scores.novelty,
        ];
        let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:.4}")).collect();
        writeln!(out, "lists {}\t{}", measured.name, figures.join("\t"))?;
    }
    print("users", found.users as f64)?;
    print("left_out", found.left_out as f64)?;
    print("ratio", found.ratio.value)?;
    print("ratio_low", found.ratio.low)?;
    print("ratio_high", found.ratio.high)
}

//! The page of all progress bars: what is under way, whoever's it is, and the bars of those who were here lately.
//!
//! `running_row` is a running trace as one line, `bar_history` what a bar has learned, `bar` and `trace` are the pages of one.

mod bar;
mod bar_history;
mod running_row;
mod trace;

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{extract::State, response::Response};
use futures_util::future::try_join_all;
use keyrack_format as format;
use keyrack_keys::UserSub;
use keyrack_progress::{BarLine, Progress};
use keyrack_services::Cache;
use keyrack_web::Problem;
use serde::Deserialize;

pub(crate) use self::{bar::bar, trace::trace};
use self::{bar_history::BarHistoryCache, running_row::Row};
use super::{
    Frame, Visit, assets, form, link,
    live::{View, live_page, show},
    plot::ms,
};
use crate::Site;

/// The most bars and traces under way on one page.
const BARS_MAX: usize = 50;
const UNDERWAY_MAX: usize = 30;
/// How many traces under way are looked through for those that a filter names.
const UNDERWAY_LOOK: usize = 1_000;
/// How many users are looked at for one page, at how many at once, and how many bars of each.
const USERS_MAX: usize = 500;
const USERS_STEP: usize = 50;
const BARS_EACH: usize = 20;
/// How many bars of a single user.
const BARS_OF_ONE: usize = 500;
/// How old a list of bars may be.
const LIST_AGE: Duration = Duration::from_secs(2);

/// What pages about progress bars remember.
#[derive(Debug)]
pub(crate) struct Bars {
    lists: Cache<ProgressQuery, Arc<List>>,
    pasts: BarHistoryCache,
}

impl Default for Bars {
    fn default() -> Bars {
        Bars { lists: Cache::new(LIST_AGE), pasts: BarHistoryCache::default() }
    }
}

/// What is wanted, as it stands in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
struct ProgressQuery {
    user: String,
    bar: String,
    cursor: String,
}

/// Some bars, and where to go on.
#[derive(Debug)]
struct List {
    lines: Vec<BarLine>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "progress.html", blocks = ["live"])]
pub(super) struct ProgressPage {
    frame: Frame,
    wanted: ProgressQuery,
    underway: Vec<Row>,
    /// How many more there are.
    underway_left_out: String,
    bars: Vec<BarRow>,
    next: Option<String>,
}
live_page!(ProgressPage);

/// A bar as one line.
struct BarRow {
    name: String,
    link: String,
    user: String,
    user_link: String,
    steps: u64,
    retained: String,
    last: String,
}

impl View for ProgressQuery {
    type Page = ProgressPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<ProgressPage, Problem> {
        let cache = &site.bars.lists;
        let list = cache
            .get(self.clone(), async { self.list(&site.services.progress).await.map(Arc::new) });
        let (list, (underway, left_out)) = tokio::try_join!(list, self.underway(site))?;
        let now = site.services.store.now_ms();
        Ok(ProgressPage {
            frame,
            wanted: self.clone(),
            underway,
            underway_left_out: if left_out == 0 { String::new() } else { format::count(left_out) },
            bars: list.lines.iter().map(|line| BarRow::of(line, now)).collect(),
            next: list.next.as_ref().map(|next| self.link(next)),
        })
    }
}

/// `GET /progress`
pub(crate) async fn progress(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let wanted = visit.query::<ProgressQuery>().and_then(|wanted| {
        wanted.user()?;
        Ok(wanted)
    });
    match wanted {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

impl ProgressQuery {
    fn is_all(&self) -> bool {
        self.user.is_empty() && self.bar.is_empty()
    }

    fn user(&self) -> Result<Option<UserSub>, Problem> {
        match self.user.trim() {
            "" => Ok(None),
            name => user_sub(name).map(Some),
        }
    }

    fn link(&self, cursor: &str) -> String {
        let pairs = [("user", &*self.user), ("bar", &*self.bar), ("cursor", cursor)];
        link::with_query("/progress", &pairs)
    }

    /// The bars that are wanted, as many as fit.
    async fn list(&self, progress: &Progress) -> Result<List, Problem> {
        let fits = |line: &BarLine| line.name.contains(self.bar.trim());
        if let Some(user) = self.user()? {
            let mut lines = progress.bar_lines(&user, BARS_OF_ONE).await?;
            lines.retain(fits);
            return Ok(List { lines, next: None });
        }
        let cursor = Some(self.cursor.clone()).filter(|cursor| !cursor.is_empty());
        let (mut lines, mut next, mut looked_at) = (Vec::new(), cursor, 0);
        loop {
            let page = progress.active_users(next.as_deref(), USERS_STEP).await?;
            looked_at += page.users.len();
            let users: Vec<UserSub> = page.users.into_iter().map(|(user, _)| user).collect();
            let found = users.iter().map(|user| progress.bar_lines(user, BARS_EACH));
            let found = try_join_all(found).await?;
            lines.extend(found.into_iter().flatten().filter(fits));
            next = page.next;
            if next.is_none() || lines.len() >= BARS_MAX || looked_at >= USERS_MAX {
                break;
            }
        }
        lines.sort_by(|a, b| b.last_at.unwrap_or(0.0).total_cmp(&a.last_at.unwrap_or(0.0)));
        Ok(List { lines, next })
    }

    /// What is under way, and how much more.
    async fn underway(&self, site: &Site) -> Result<(Vec<Row>, u64), Problem> {
        let progress = &site.services.progress;
        let look = if self.is_all() { UNDERWAY_MAX } else { UNDERWAY_LOOK };
        let (mut found, count) =
            tokio::try_join!(progress.running(0, look), progress.running_count())?;
        let count = if self.is_all() {
            count
        } else {
            let user = self.user.trim();
            found.retain(|trace| {
                (user.is_empty() || trace.user.as_str() == user)
                    && trace.bar.contains(self.bar.trim())
            });
            found.len() as u64
        };
        found.truncate(UNDERWAY_MAX);
        let shown = found.len() as u64;
        let rows = found.iter().map(|trace| Row::look(site, trace));
        let rows = try_join_all(rows).await?.into_iter().flatten().collect();
        Ok((rows, count.saturating_sub(shown)))
    }
}

impl BarRow {
    fn of(line: &BarLine, now: u64) -> BarRow {
        let user = line.user.as_str();
        BarRow {
            name: line.name.clone(),
            link: bar_link(user, &line.name),
            user: user.to_owned(),
            user_link: link::with_query("/progress", &[("user", user)]),
            steps: line.steps,
            retained: format::count(line.retained),
            last: line.last_at.map(|at| format::relative(ms(at), now)).unwrap_or_default(),
        }
    }
}

/// The page of a bar.
fn bar_link(user: &str, bar: &str) -> String {
    format!("/progress/{}/{}", link::segment(user), link::segment(bar))
}

/// The page of a trace.
fn trace_link(user: &str, bar: &str, trace: &str) -> String {
    format!("{}/{}", bar_link(user, bar), link::segment(trace))
}

/// A user whom somebody has typed.
pub(super) fn user_sub(name: &str) -> Result<UserSub, Problem> {
    UserSub::new(name).map_err(|error| form::wrong("user", &error.to_string()))
}

//! The page of a journey: its events as they rain, how things stand, and how much happened in each second.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use keyrack_format as format;
use keyrack_journeys::{Event, Journey, Prompt, Totals, keys::JourneyUid};
use keyrack_services::Cache;
use keyrack_web::Problem;

use super::{
    Frame, Visit, assets, form,
    live::{View, live_page, show},
    plot::{Columns, ms},
};
use crate::Site;

/// How many of the latest events are looked at.
const EVENTS_MAX: usize = 300;
/// How many of them are listed.
const LISTED_MAX: usize = 12;
/// How often the counts of a journey are read, however many watch.
const COUNTS_AGE: Duration = Duration::from_secs(1);

/// How journeys stood a moment ago.
#[derive(Debug)]
pub(crate) struct JourneyCache(Cache<JourneyUid, Arc<(Totals, Vec<u64>)>>);

impl Default for JourneyCache {
    fn default() -> JourneyCache {
        JourneyCache(Cache::new(COUNTS_AGE))
    }
}

#[derive(Template)]
#[template(path = "journey.html", blocks = ["live"])]
pub(super) struct JourneyPage {
    frame: Frame,
    question: String,
    uid: String,
    style: &'static str,
    lasts: String,
    created: String,
    watchers: usize,
    figures: Vec<(&'static str, String)>,
    answers: Vec<AnswerRow>,
    drops: Vec<Drop>,
    latest: Vec<EventRow>,
    /// Events of each second.
    seconds: Columns,
    events: String,
}
live_page!(JourneyPage);

/// How many gave an answer, and how long its bar is, in hundredths.
struct AnswerRow {
    answer: String,
    count: String,
    width: f64,
}

/// An event of the last moments: those of one person fall in one line, the newest are on top.
struct Drop {
    x: f64,
    y: f64,
    kind: &'static str,
    title: String,
}

struct EventRow {
    kind: &'static str,
    what: String,
    who: String,
    at: String,
    when: String,
}

struct JourneyView {
    uid: JourneyUid,
}

impl View for JourneyView {
    type Page = JourneyPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<JourneyPage, Problem> {
        let journey = site.services.journeys.journey(&self.uid).await?;
        let end = journey.duration_seconds.ceil() as u64;
        let course = async { site.services.journeys.course(&self.uid, end).await.map(Arc::new) };
        let course = site.journey_cache.0.get(self.uid.clone(), course);
        let (course, events) =
            tokio::try_join!(course, site.services.journeys.events(&self.uid, EVENTS_MAX))?;
        let (totals, histogram) = &*course;
        let now = site.services.store.now_ms();
        Ok(JourneyPage {
            frame,
            question: journey.prompt.question().to_owned(),
            uid: journey.uid.clone(),
            style: journey.prompt.style(),
            lasts: format::duration_s(journey.duration_seconds as u64),
            created: format::utc(ms(journey.created_at)),
            watchers: site.services.live.watchers(&self.uid),
            figures: figures(totals, &journey),
            answers: answers(totals, &journey.prompt),
            drops: drops(&events, now),
            latest: events
                .iter()
                .take(LISTED_MAX)
                .map(|event| EventRow::of(event, &journey.prompt, now))
                .collect(),
            seconds: Columns::of(histogram, end as usize),
            events: format::counted(histogram.iter().sum(), "event"),
        })
    }
}

/// `GET /journeys/{uid}`
pub(crate) async fn journey(
    State(site): State<Arc<Site>>,
    Path(uid): Path<String>,
    visit: Visit,
) -> Response {
    match JourneyUid::new(uid) {
        Ok(uid) => show(site, visit, JourneyView { uid }).await,
        Err(error) => form::wrong("uid", &error.to_string()).for_reader(&visit.headers),
    }
}

fn figures(totals: &Totals, journey: &Journey) -> Vec<(&'static str, String)> {
    let mut figures = vec![("on the journey", totals.users), ("likes", totals.likes)];
    if let Prompt::Press { .. } = journey.prompt {
        figures.extend([("presses", totals.press), ("pressing", totals.press_active)]);
    }
    figures.into_iter().map(|(name, n)| (name, format::count(n.max(0) as u64))).collect()
}

/// How many gave each answer, all answers that there are.
fn answers(totals: &Totals, prompt: &Prompt) -> Vec<AnswerRow> {
    let all: Vec<(String, i64)> = match prompt {
        Prompt::Press { .. } => Vec::new(),
        Prompt::Numeric { min, max, step, .. } => {
            let shown = (*min..=*max).step_by((*step).max(1) as usize);
            // Others than those that are shown are taken too.
            let mut counts: BTreeMap<i64, i64> = shown.map(|answer| (answer, 0)).collect();
            counts.extend(&totals.numeric_active);
            counts.into_iter().map(|(answer, n)| (answer.to_string(), n)).collect()
        }
        Prompt::Color { colors, .. } => named(colors, &totals.color_active),
        Prompt::Word { options, .. } => named(options, &totals.word_active),
    };
    let most = all.iter().map(|(_, n)| *n).max().unwrap_or(0).max(1) as f64;
    all.into_iter()
        .map(|(answer, n)| AnswerRow {
            answer,
            count: format::count(n.max(0) as u64),
            width: 100.0 * n.max(0) as f64 / most,
        })
        .collect()
}

fn named(names: &[String], counts: &BTreeMap<i64, i64>) -> Vec<(String, i64)> {
    let count = |at: usize| counts.get(&(at as i64)).copied().unwrap_or(0);
    names.iter().enumerate().map(|(at, name)| (name.clone(), count(at))).collect()
}

impl Drop {
    pub(super) const WIDTH: f64 = 720.0;
    pub(super) const HEIGHT: f64 = 160.0;
    /// How long a drop takes to the ground.
    pub(super) const SECONDS: u64 = 60;
}

fn drops(events: &[Event], now: u64) -> Vec<Drop> {
    let fallen = |event: &Event| now.saturating_sub(ms(event.created_at));
    let recent = events.iter().filter(|event| fallen(event) < Drop::SECONDS * 1000);
    // The newest are drawn last, over the others.
    recent
        .rev()
        .map(|event| {
            let mut hasher = DefaultHasher::new();
            event.session_uid.hash(&mut hasher);
            let share = (hasher.finish() % 1000) as f64 / 1000.0;
            Drop {
                x: 6.0 + share * (Drop::WIDTH - 12.0),
                y: 6.0
                    + (Drop::HEIGHT - 12.0) * fallen(event) as f64 / (Drop::SECONDS * 1000) as f64,
                kind: kind(&event.evtype),
                title: format!("{} {}", event.user_sub, word(&event.evtype)),
            }
        })
        .collect()
}

/// What an event is, as a class of the stylesheet.
fn kind(evtype: &str) -> &'static str {
    match evtype {
        "join" => "join",
        "leave" => "leave",
        "like" => "like",
        _ => "answer",
    }
}

fn word(evtype: &str) -> &'static str {
    match evtype {
        "join" => "joins",
        "leave" => "leaves",
        "like" => "likes it",
        "press_prompt_start_response" => "presses",
        "press_prompt_end_response" => "lets go",
        _ => "answers",
    }
}

impl EventRow {
    fn of(event: &Event, prompt: &Prompt, now: u64) -> EventRow {
        let number = |name: &str| event.data.get(name).and_then(serde_json::Value::as_i64);
        let choices = match prompt {
            Prompt::Color { colors: choices, .. } | Prompt::Word { options: choices, .. } => {
                &choices[..]
            }
            _ => &[],
        };
        let chosen = number("index")
            .and_then(|at| choices.get(usize::try_from(at).ok()?).cloned())
            .or_else(|| number("rating").map(|rating| rating.to_string()));
        let what = word(&event.evtype);
        EventRow {
            kind: kind(&event.evtype),
            what: chosen.map_or_else(|| what.into(), |chosen| format!("{what} {chosen}")),
            who: event.user_sub.clone(),
            at: format!("{:.1} s", event.journey_time),
            when: format::relative(ms(event.created_at), now),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(evtype: &str, created_at: f64) -> Event {
        Event {
            uid: "e".into(),
            user_sub: "alice".into(),
            session_uid: "s".into(),
            evtype: evtype.into(),
            data: json!({"index": 1}),
            journey_time: 3.25,
            created_at,
        }
    }

    #[test]
    fn drops_fall_for_a_minute_and_stay_in_the_picture() {
        let events = [event("join", 100.0), event("like", 70.0), event("like", 39.0)];
        let drops = drops(&events, 100_000);
        assert_eq!(drops.len(), 2);
        assert!(drops[1].y < drops[0].y && drops[0].y < Drop::HEIGHT);
        assert_eq!(drops[0].x, drops[1].x, "one person falls in one line");
    }

    #[test]
    fn answers_are_told_by_their_words() {
        let prompt = Prompt::Word { text: "?".into(), options: vec!["no".into(), "yes".into()] };
        let row = EventRow::of(&event("word_prompt_response", 0.0), &prompt, 2_000);
        assert_eq!((&*row.what, &*row.at, &*row.when), ("answers yes", "3.2 s", "2 s ago"));
        let mut totals = Totals::default();
        totals.word_active.insert(1, 4);
        let told = answers(&totals, &prompt);
        let told: Vec<_> = told.iter().map(|row| (&*row.answer, &*row.count, row.width)).collect();
        assert_eq!(told, [("no", "0", 0.0), ("yes", "4", 100.0)]);
    }
}

//! The page of all journeys: what each asks, who watches, and when something last happened there.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format as format;
use keyrack_journeys::{JourneySummary, STORED_MAX, keys::JourneyUid};
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    Frame, Visit, assets, link,
    live::{View, live_page, show},
    plot::ms,
};
use crate::Site;

/// Journeys on one page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "journeys.html", blocks = ["live"])]
pub(super) struct JourneysPage {
    frame: Frame,
    rows: Vec<Row>,
    count: String,
    next: Option<String>,
    /// Whether anybody can take part through this server.
    has_tickets: bool,
}
live_page!(JourneysPage);

/// A journey as one line.
struct Row {
    question: String,
    link: String,
    uid: String,
    style: &'static str,
    lasts: String,
    created: String,
    events: String,
    last: String,
    watchers: usize,
}

/// Where the page begins, as it stands in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct JourneysQuery {
    /// How many to leave out; more than this nobody pages through.
    from: u32,
}

impl View for JourneysQuery {
    type Page = JourneysPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<JourneysPage, Problem> {
        let glances = site.services.journeys.glances(self.from as usize, PAGE);
        let (count, glances) = tokio::try_join!(site.services.journeys.count(), glances)?;
        let now = site.services.store.now_ms();
        let until = self.from as usize + PAGE;
        let next = (until as u64) < count;
        Ok(JourneysPage {
            frame,
            rows: glances.iter().map(|glance| Row::of(site, glance, now)).collect(),
            count: format::count(count),
            next: next.then(|| link::with_query("/journeys", &[("from", &until.to_string())])),
            has_tickets: site.services.tickets.is_some(),
        })
    }
}

/// `GET /journeys`
pub(crate) async fn journeys(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<JourneysQuery>() {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

impl Row {
    fn of(site: &Site, glance: &JourneySummary, now: u64) -> Row {
        let journey = &glance.journey;
        let more = if glance.events >= STORED_MAX { "+" } else { "" };
        let uid = JourneyUid::new(journey.uid.clone()).ok();
        Row {
            question: journey.prompt.question().to_owned(),
            link: format!("/journeys/{}", link::segment(&journey.uid)),
            uid: journey.uid.clone(),
            style: journey.prompt.style(),
            lasts: format::duration_s(journey.duration_seconds as u64),
            created: format::relative(ms(journey.created_at), now),
            events: format!("{}{more}", format::count(glance.events)),
            last: glance.last_event_at.map(|at| format::relative(ms(at), now)).unwrap_or_default(),
            watchers: uid.map_or(0, |uid| site.services.live.watchers(&uid)),
        }
    }
}

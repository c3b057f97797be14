//! Pages that keep themselves up to date.
//!
//! A page and its stream have one address: a browser gets the page, the page's script gets the part of it that changes,
//! again each time that it has. What is sent is made from the present state, so nothing piles up however much
//! happens, and whoever was away for a while misses nothing.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    http::StatusCode,
    response::{Html, IntoResponse as _, Response},
};
use keyrack_web::{
    Problem,
    stream::{Source, StreamEvent, stream},
};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Frame, Visit};
use crate::Site;

/// How often a page is looked at anew.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A page of which a part is live.
pub(super) trait Page: Template {
    /// The live part.
    fn live(&self) -> askama::Result<String>;
    /// What stands round it.
    fn frame(&self) -> &Frame;
}

/// Gives a template with a block `live` and a field `frame` what a [`Page`] has.
macro_rules! live_page {
    ($page:ty) => {
        impl $crate::live::Page for $page {
            fn live(&self) -> askama::Result<String> {
                askama::Template::render(&self.as_live())
            }

            fn frame(&self) -> &$crate::Frame {
                &self.frame
            }
        }
    };
}
pub(super) use live_page;

/// What a page is about: enough to make it, as often as wanted.
pub(super) trait View: Send + Sync + 'static {
    type Page: Page;

    /// The page as of now.
    fn look(
        &self,
        site: &Site,
        frame: Frame,
    ) -> impl Future<Output = Result<Self::Page, Problem>> + Send;
}

/// The page, or its stream if that is what was asked for.
pub(super) async fn show<V: View>(site: Arc<Site>, visit: Visit, view: V) -> Response {
    if visit.is_stream {
        return follow(site, visit.frame, view);
    }
    match view.look(&site, visit.frame).await {
        Ok(page) => {
            let mut response = super::render(&page);
            page.frame().settle(&mut response);
            response
        }
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// A page without a live part.
pub(super) fn still(page: &impl Template, frame: &Frame, status: StatusCode) -> Response {
    match page.render() {
        Ok(text) => {
            let mut response = (status, Html(text)).into_response();
            frame.settle(&mut response);
            response
        }
        Err(error) => super::not_rendered(&error),
    }
}

/// One script's stream.
struct Follower<V> {
    site: Arc<Site>,
    frame: Frame,
    view: V,
    ticks: Interval,
    sent: String,
}

fn follow<V: View>(site: Arc<Site>, frame: Frame, view: V) -> Response {
    let permit = match site.app.permit_to_wait() {
        Ok(permit) => permit,
        Err(problem) => return problem.into_response(),
    };
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let app = site.app.clone();
    stream(app, permit, Follower { site, frame, view, ticks, sent: String::new() })
}

impl<V: View> Source for Follower<V> {
    const HAS_IDS: bool = false;

    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            self.ticks.tick().await;
            let look = self.view.look(&self.site, self.frame.clone()).await;
            let (kind, text) = match look.map(|page| page.live()) {
                Ok(Ok(text)) => ("live", text),
                Ok(Err(error)) => {
                    tracing::error!(%error, "could not render a page");
                    return None;
                }
                Err(problem) if problem.status() == StatusCode::SERVICE_UNAVAILABLE => {
                    ("away", format!("{}. Trying again every second.", problem.message()))
                }
                Err(problem) => ("trouble", problem.message().to_owned()),
            };
            if text != self.sent {
                self.sent.clone_from(&text);
                return Some(StreamEvent::Event { kind, data: text });
            }
        }
    }
}

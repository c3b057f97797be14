//! A real browser for tests: Chromium without a window, driven over WebDriver.
//!
//! [`Browser`] is a small client of the protocol's JSON over plain HTTP, with the few commands that tests of pages
//! need. Each has its own browser and profile, which are gone when the value is dropped.

mod base64;
mod wire;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

use self::wire::Driver;
use crate::clients;

/// How long a page has for what a test waits for: a starved machine must not fail a test.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The name under which the protocol gives elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Runs axe and gives back a line for each serious finding.
const LOOK_FOR_BARRIERS: &str = "const done = arguments[0];
axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations
  .map(({ id, impact, help, nodes }) => `${impact}: ${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`)));";

/// A browser with one window.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
}

/// Something on a page, until the page changes.
#[derive(Debug, Clone)]
pub struct Element {
    id: String,
}

impl Browser {
    /// Starts a browser.
    ///
    /// # Panics
    /// When Chromium or its driver is missing or does not start; `cargo xtask setup` installs both.
    pub async fn start() -> Browser {
        let driver = blocking(Driver::start).await;
        Browser { driver }
    }

    /// Opens a page and waits until it is loaded.
    pub async fn open(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Sets the size of the page, in pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", params).await;
    }

    /// Has the page look as it would on paper.
    pub async fn print(&self) {
        self.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    }

    /// Has pages see a system that prefers dark or light.
    pub async fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    async fn devtools(&self, command: &str, params: Json) -> Json {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": params })).await
    }

    /// The first element that a CSS selector finds, as soon as there is one.
    ///
    /// # Panics
    /// When there is none for a long time.
    #[track_caller]
    pub fn find(&self, selector: &str) -> impl Future<Output = Element> {
        let at = std::panic::Location::caller();
        async move {
            let start = Instant::now();
            loop {
                if let Some(element) = self.look(selector).await {
                    return element;
                }
                assert!(start.elapsed() < PATIENCE, "{at}: nothing is \"{selector}\"");
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }

    /// The first element that a CSS selector finds now.
    pub async fn look(&self, selector: &str) -> Option<Element> {
        let query = json!({ "using": "css selector", "value": selector });
        let found = self.post("/elements", query).await;
        let id = found.get(0)?.get(ELEMENT)?.as_str()?.to_owned();
        Some(Element { id })
    }

    /// Clicks on the first element that a CSS selector finds.
    #[track_caller]
    pub fn click(&self, selector: &str) -> impl Future<Output = ()> {
        let at = std::panic::Location::caller();
        async move {
            let start = Instant::now();
            loop {
                assert!(start.elapsed() < PATIENCE, "{at}: \"{selector}\" cannot be clicked on");
                // A page that is live may change between the look and the click.
                if let Some(element) = self.look(selector).await {
                    let path = format!("/element/{}/click", element.id);
                    if self.try_post(&path, json!({})).await.is_ok() {
                        return;
                    }
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }

    /// Types into the first element that a CSS selector finds, in place of what was there.
    #[track_caller]
    pub fn fill(&self, selector: &str, what: &str) -> impl Future<Output = ()> {
        let (found, what) = (self.find(selector), what.to_owned());
        async move {
            let element = found.await;
            self.post(&format!("/element/{}/clear", element.id), json!({})).await;
            let keys = json!({ "text": what });
            self.post(&format!("/element/{}/value", element.id), keys).await;
        }
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub async fn press(&self, keys: &str) {
        let strokes = keys.chars().flat_map(|key| {
            let key = key.to_string();
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        });
        let actions = json!([{
            "type": "key",
            "id": "keyboard",
            "actions": strokes.collect::<Vec<_>>(),
        }]);
        self.post("/actions", json!({ "actions": actions })).await;
    }

    /// Presses a key while another is held.
    pub async fn chord(&self, held: char, key: char) {
        let stroke = |kind: &str, key: char| json!({ "type": kind, "value": key.to_string() });
        let strokes = [("keyDown", held), ("keyDown", key), ("keyUp", key), ("keyUp", held)];
        let strokes: Vec<Json> = strokes.map(|(kind, key)| stroke(kind, key)).into();
        let actions = json!([{ "type": "key", "id": "keyboard", "actions": strokes }]);
        self.post("/actions", json!({ "actions": actions })).await;
    }

    /// The text that a reader sees in the first element that a CSS selector finds.
    #[track_caller]
    pub fn text(&self, selector: &str) -> impl Future<Output = String> {
        let quoted = serde_json::to_string(selector).expect("a text is JSON");
        let found = self.find(selector);
        async move {
            found.await;
            text(self.evaluate(&format!("document.querySelector({quoted})?.innerText ?? ''")).await)
        }
    }

    /// The value of an expression in the page.
    pub async fn evaluate(&self, expression: &str) -> Json {
        let script = json!({ "script": format!("return {expression};"), "args": [] });
        self.post("/execute/sync", script).await
    }

    /// Waits until an expression in the page is true.
    ///
    /// # Panics
    /// When it is not for a long time.
    #[track_caller]
    pub fn wait_until(&self, expression: &str) -> impl Future<Output = ()> {
        let at = std::panic::Location::caller();
        let expression = expression.to_owned();
        async move {
            let start = Instant::now();
            while self.evaluate(&format!("Boolean({expression})")).await != Json::Bool(true) {
                if start.elapsed() >= PATIENCE {
                    let page = self.evaluate("document.body.innerText").await;
                    panic!("{at}: \"{expression}\" is not true; the page says {page}");
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }

    /// What keeps some people from using the page, according to axe: all its findings, with the places.
    ///
    /// # Panics
    /// When the set-up has not run.
    pub async fn barriers(&self) -> Vec<String> {
        let prepare = json!({ "script": clients::axe(), "args": [] });
        self.post("/execute/sync", prepare).await;
        let found = self.post("/execute/async", json!({ "script": LOOK_FOR_BARRIERS, "args": [] }));
        serde_json::from_value(found.await).expect("a list of texts")
    }

    /// Bytes that the page and all that belongs to it took on the way, as if it had never been seen before.
    pub async fn weight(&self) -> u64 {
        self.devtools("Network.clearBrowserCache", json!({})).await;
        self.post("/refresh", json!({})).await;
        self.loaded().await
    }

    /// Bytes that the page and what it has loaded took on the way; what the browser had already took none.
    pub async fn loaded(&self) -> u64 {
        let sum = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]\
            .reduce((sum, entry) => sum + entry.transferSize, 0)";
        self.evaluate(sum).await.as_u64().expect("a number")
    }

    /// Bytes of the page's own data once all garbage is gone.
    pub async fn heap(&self) -> u64 {
        self.devtools("HeapProfiler.collectGarbage", json!({})).await;
        let usage = self.devtools("Runtime.getHeapUsage", json!({})).await;
        usage["usedSize"].as_f64().map(|bytes| bytes as u64).expect("a number")
    }

    /// Saves a picture of what is seen of the page as PNG.
    pub async fn snapshot(&self, path: &Path) {
        self.capture(path, json!({ "format": "png" })).await;
    }

    /// Saves a picture of the whole page as PNG.
    pub async fn screenshot(&self, path: &Path) {
        self.capture(path, json!({ "captureBeyondViewport": true, "format": "png" })).await;
    }

    async fn capture(&self, path: &Path, options: Json) {
        let picture = self.devtools("Page.captureScreenshot", options).await;
        let picture = base64::decode(&text(picture["data"].clone())).expect("a picture");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder for pictures");
        }
        std::fs::write(path, picture).expect("the picture is written");
    }

    /// What pages have written to the console since the last look, errors of loading among it.
    pub async fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({ "type": "browser" })).await;
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| text(entry["message"].clone())).collect()
    }

    /// The addresses that pages have asked for since the last look.
    pub async fn requests(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({ "type": "performance" })).await;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let request = |entry: &Json| {
            let event: Json = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &event["message"];
            (message["method"] == "Network.requestWillBeSent")
                .then(|| text(message["params"]["request"]["url"].clone()))
        };
        entries.iter().filter_map(request).collect()
    }

    #[track_caller]
    fn post(&self, path: &str, body: Json) -> impl Future<Output = Json> {
        let (at, told) = (std::panic::Location::caller(), format!("{path} {body}"));
        let answer = self.try_post(path, body);
        async move { answer.await.unwrap_or_else(|error| panic!("{at}: {told}: {error:#}")) }
    }

    /// A command of the session, or what the driver says about why it could not be carried out.
    fn try_post(&self, path: &str, body: Json) -> impl Future<Output = Result<Json, Json>> {
        let (driver, path) = (self.driver.link(), path.to_owned());
        blocking(move || driver.session(&path, &body))
    }
}

/// The protocol is one answer for one question, so plain blocking calls do, away from the test's own thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

fn text(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

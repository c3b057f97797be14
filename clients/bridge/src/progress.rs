//! Progress bars. The only place that names the types of `keyrack_progress`.

use std::borrow::Cow;

use keyrack_keys::UserSub;
use keyrack_progress::{
    Progress,
    client::{Client, Run},
};
use keyrack_store::Store;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{
    error::Failure,
    parts::{Parts, milliseconds, to_json},
};

pub(crate) fn open(store: Store) -> Progress {
    Progress::open(store, keyrack_jobs::hot::keys::hot())
}

/// A run of a progress bar that begins.
#[derive(Deserialize)]
pub(crate) struct Begin<'a> {
    user: Cow<'a, str>,
    name: Cow<'a, str>,
    step: Cow<'a, str>,
    iterations: Option<u64>,
}

impl Begin<'_> {
    /// Begins the run. Returns its number, and seconds that it takes as far as earlier runs tell; 0 if
    /// nothing is known.
    pub(crate) async fn run(self, parts: &Parts) -> Result<String, Failure> {
        let user = UserSub::new(self.user.as_ref())?;
        let eta = parts.progress.eta(&user, &self.name).await?;
        let of_step = eta.steps.iter().find(|known| known.step_name == self.step);
        let expected = of_step.map_or(0.0, |known| known.seconds(self.iterations.unwrap_or(0)));
        let client = Client::direct(parts.progress.clone(), user);
        let run = client.start(&self.name, &self.step, self.iterations);
        let number = parts.runs.add(client, run);
        Ok(to_json(&(number, expected)))
    }
}

/// The runs that have begun and not ended.
#[derive(Default)]
pub(crate) struct Runs {
    state: Mutex<OpenRuns>,
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct OpenRuns {
    last: u32,
    open: Vec<(u32, Client, Run)>,
}

impl Runs {
    fn add(&self, client: Client, run: Run) -> u32 {
        let OpenRuns { last, open } = &mut *self.state.lock();
        *last = last.wrapping_add(1);
        open.push((*last, client, run));
        *last
    }

    pub(crate) fn tick(&self, number: u32, n: u64) {
        if let Some((.., run)) = self.state.lock().open.iter().find(|(known, ..)| *known == number)
        {
            run.tick(n);
        }
    }

    pub(crate) fn estimate(&self, number: u32) -> Option<f64> {
        let state = self.state.lock();
        let (.., run) = state.open.iter().find(|(known, ..)| *known == number)?;
        Some(run.estimate()?.p50)
    }

    fn take(&self, number: u32) -> Option<(Client, Run)> {
        let runs = &mut self.state.lock().open;
        let place = runs.iter().position(|(known, ..)| *known == number)?;
        let (_, client, run) = runs.swap_remove(place);
        Some((client, run))
    }
}

/// The end of a run, well or not. Waits for at most so many milliseconds until that is stored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    number: u32,
    is_done: bool,
    timeout: f64,
}

impl End {
    pub(crate) async fn run(self, parts: &Parts) -> Result<String, Failure> {
        if let Some((client, run)) = parts.runs.take(self.number) {
            if self.is_done {
                run.finish();
            } else {
                drop(run);
            }
            client.flush(milliseconds(self.timeout)).await;
        }
        Ok("null".to_owned())
    }
}

//! Progress bars. The only place that names the types of `keyrack_progress`.

use keyrack_keys::UserSub;
use keyrack_progress::client::{Client, Run};
use keyrack_store::Store;
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::runtime::Handle;

use crate::{
    error::Failure,
    rack::{Rack, check_process, seconds},
};

/// The progress bars of a store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Progress {
    bars: keyrack_progress::Progress,
}

impl Progress {
    pub(crate) fn open(store: Store) -> Progress {
        Progress { bars: keyrack_progress::Progress::open(store, keyrack_jobs::hot::keys::hot()) }
    }
}

/// A run of a progress bar.
#[pyclass(frozen, module = "keyrack._keyrack")]
pub(crate) struct Bar {
    pid: u32,
    client: Client,
    runtime: Handle,
    /// Nothing once it has ended.
    run: Mutex<Option<Run>>,
    /// Seconds that a run takes, as far as earlier runs tell; 0 if nothing is known.
    #[pyo3(get)]
    expected: f64,
}

#[pymethods]
impl Bar {
    /// Begins a run of a progress bar with so many iterations, or with one step that has none.
    #[new]
    fn new(
        py: Python<'_>,
        rack: &Rack,
        user: &str,
        name: &str,
        step: &str,
        iterations: Option<u64>,
    ) -> PyResult<Bar> {
        let opened = rack.opened()?;
        let user = UserSub::new(user).map_err(Failure::from)?;
        let bars = opened.parts().progress.bars.clone();
        let expected = opened.run(py, async {
            let eta = bars.eta(&user, name).await?;
            let of_step = eta.steps.iter().find(|known| known.step_name == step);
            Ok(of_step.map_or(0.0, |known| known.seconds(iterations.unwrap_or(0))))
        })?;
        let runtime = opened.handle().clone();
        let _inside = opened.handle().enter();
        let client = Client::direct(bars, user);
        let run = Mutex::new(Some(client.start(name, step, iterations)));
        Ok(Bar { pid: std::process::id(), client, runtime, run, expected })
    }

    /// So many more iterations are done.
    fn tick(&self, n: u64) -> PyResult<()> {
        check_process(self.pid)?;
        if let Some(run) = &*self.run.lock() {
            run.tick(n);
        }
        Ok(())
    }

    /// The run has ended, well or not. Waits at most so many seconds until that is stored.
    fn end(&self, py: Python<'_>, is_done: bool, timeout: f64) -> PyResult<()> {
        check_process(self.pid)?;
        match self.run.lock().take() {
            Some(run) if is_done => run.finish(),
            run => drop(run),
        }
        py.detach(|| self.runtime.block_on(self.client.flush(seconds(timeout))));
        Ok(())
    }
}

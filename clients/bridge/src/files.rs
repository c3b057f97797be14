//! Calls about files: uploads that leave no file that nobody knows.

use std::{borrow::Cow, collections::HashMap, future::pending, sync::Arc};

use keyrack_files::{Entry, File, Files, Upload};
use keyrack_store::Store;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::{
    error::Failure,
    parts::{Parts, to_json},
};

/// The uploads that are under way.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    state: Mutex<(u32, HashMap<u32, Running>)>,
}

/// An upload, and what moves its entry on for as long as it takes.
#[derive(Debug)]
struct Running {
    upload: Arc<Upload>,
    renewal: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// A file in a bucket.
#[derive(Deserialize)]
pub(crate) struct OfFile<'a> {
    bucket: Cow<'a, str>,
    key: Cow<'a, str>,
    hint: Option<String>,
}

impl OfFile<'_> {
    /// Begins an upload, and returns its number.
    pub(crate) async fn begin(self, parts: &Parts) -> Result<String, Failure> {
        let file = File { hint: self.hint, ..File::new(self.bucket, self.key) };
        let upload = Arc::new(Files::new(parts.store.clone()).begin_upload(file).await?);
        let held = upload.clone();
        let renewal = tokio::spawn(async move {
            // When it cannot be held any longer, the end of the upload says so.
            let _ = held.during(pending::<()>()).await;
        });
        let (last, running) = &mut *parts.uploads.state.lock();
        *last = last.wrapping_add(1);
        running.insert(*last, Running { upload, renewal });
        Ok(last.to_string())
    }

    /// Asks for the file to be deleted by the next sweep.
    pub(crate) async fn delete(self, store: &Store) -> Result<String, Failure> {
        let files = Files::new(store.clone());
        files.request_deletion(&self.bucket, &self.key, self.hint.as_deref()).await?;
        Ok("null".to_owned())
    }
}

/// An upload by its number.
#[derive(Deserialize)]
pub(crate) struct OfUpload {
    upload: u32,
}

impl OfUpload {
    /// Makes sure that the file is there still, and will be for some minutes.
    pub(crate) async fn hold(self, uploads: &Uploads) -> Result<String, Failure> {
        let upload = uploads.state.lock().1.get(&self.upload).map(|found| found.upload.clone());
        upload.ok_or_else(over)?.hold().await?;
        Ok("null".to_owned())
    }

    /// Takes the file out of purgatory: it is on record.
    pub(crate) async fn save(self, uploads: &Uploads) -> Result<String, Failure> {
        let running = uploads.state.lock().1.remove(&self.upload).ok_or_else(over)?;
        // Until it is taken out, its entry is moved on.
        running.upload.hold().await?;
        running.upload.release().await?;
        Ok("null".to_owned())
    }

    /// Leaves the file to the sweep.
    pub(crate) fn abandon(self, uploads: &Uploads) -> String {
        drop(uploads.state.lock().1.remove(&self.upload));
        "null".to_owned()
    }
}

fn over() -> Failure {
    Failure::new("conflict", "the upload has ended; begin another")
}

/// Up to so many files that wait to be deleted.
#[derive(Deserialize)]
pub(crate) struct Waiting {
    max: usize,
}

#[derive(Serialize)]
struct WaitingFile {
    bucket: String,
    key: String,
    /// When it is to be deleted, in unix milliseconds.
    at: f64,
    hint: Option<String>,
}

impl Waiting {
    pub(crate) async fn list(self, store: &Store) -> Result<String, Failure> {
        let entries = Files::new(store.clone()).list(0, self.max).await?;
        let shown = entries.into_iter().filter_map(|Entry { file, at, .. }| {
            let File { bucket, key, hint, .. } = file.ok()?;
            Some(WaitingFile { bucket, key, at: at * 1000.0, hint })
        });
        Ok(to_json(&shown.collect::<Vec<_>>()))
    }
}

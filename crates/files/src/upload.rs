//! An upload that no crash can turn into a file that nobody knows.
//!
//! The file is entered in purgatory before its first byte is stored, and taken out when it is on record. Whatever goes wrong in
//! between, up to the end of the process, leaves the entry, and the sweep deletes the file. While the upload lives, its entry
//! is moved on, so that it may take any time.

use std::{fmt, time::Duration};

use keyrack_store::Script;
use tokio::time::{Instant, sleep};

#[cfg(feature = "buckets")]
use crate::buckets::Buckets;
use crate::{
    error::{Error, SaveError},
    file::File,
    files::{Files, refused},
    keys,
};

static HOLD: Script = keyrack_store::script!("upload/hold.lua");

/// How long a file stays in purgatory once nobody moves its entry on.
const HOLD_TIME: Duration = Duration::from_secs(600);

/// How often the entry is moved on; two of these may fail.
const RENEW_EVERY: Duration = Duration::from_secs(200);

/// How soon a store that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// An upload under way. Dropping it leaves the file to the sweep.
#[must_use = "an upload that is not saved is swept"]
pub struct Upload {
    files: Files,
    file: File,
}

impl Files {
    /// Begins an upload: from now on the file is in purgatory. Its name should be new: no upload has had it before.
    ///
    /// # Errors
    /// When the names make no sense, when a sweep is deleting that very file, or when the store fails. Nothing may be stored then.
    pub async fn begin_upload(&self, file: File) -> Result<Upload, Error> {
        self.enter(&file, HOLD_TIME).await?;
        Ok(Upload { files: self.clone(), file })
    }
}

impl Upload {
    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Stores the file's content.
    ///
    /// # Errors
    /// When the bucket does not take it, or when the file cannot be held in the meantime.
    #[cfg(feature = "buckets")]
    pub async fn put(&self, buckets: &Buckets, content: Vec<u8>) -> Result<(), Error> {
        self.during(buckets.put(&self.file, content)).await?
    }

    /// Does something that takes time, such as storing the file in one's own way, while nobody deletes it.
    ///
    /// # Errors
    /// When the file cannot be held; the work is broken off then.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = std::pin::pin!(work);
        let mut held_until = Instant::now() + HOLD_TIME;
        let mut renew_after = RENEW_EVERY;
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = sleep(renew_after) => {}
            }
            match self.hold().await {
                Ok(()) => {
                    held_until = Instant::now() + HOLD_TIME;
                    renew_after = RENEW_EVERY;
                }
                Err(error) if error.is_transient() && Instant::now() < held_until => {
                    renew_after = RETRY_PAUSE;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts the file on record by `save`, and takes it out of purgatory.
    ///
    /// # Errors
    /// As [`SaveError`] says; unless the file is on record, it stays in purgatory.
    pub async fn save<T, E>(
        self,
        save: impl Future<Output = Result<T, E>>,
    ) -> Result<T, SaveError<E>> {
        // What was swept in the meantime must not get on record.
        self.hold().await.map_err(SaveError::NotHeld)?;
        let saved = self.during(save).await.map_err(SaveError::NotHeld)?;
        let saved = saved.map_err(SaveError::Save)?;
        self.release().await.map_err(SaveError::Unreleased)?;
        Ok(saved)
    }

    /// Makes sure that the file has not been swept, and will not be within the next minutes. [`Upload::save`] does it first.
    ///
    /// # Errors
    /// When the file was swept, or when the store fails.
    pub async fn hold(&self) -> Result<(), Error> {
        let now = self.files.now();
        let call = HOLD.call(self.files.store()).key("purgatory", &keys::purgatory());
        let call = call.key("claims", &keys::claims()).arg("member", self.file.member());
        let call = call.arg("now", now).arg("held_until", now + HOLD_TIME.as_secs_f64());
        call.run().await.map_err(refused(&self.file))
    }

    /// Takes the file out of purgatory, because it is on record. [`Upload::save`] does it last. As long as it is held there is
    /// time to try again.
    ///
    /// # Errors
    /// When the file was swept, or when the store fails for minutes.
    pub async fn release(&self) -> Result<(), Error> {
        let give_up_at = Instant::now() + RENEW_EVERY;
        let member = self.file.member();
        let mut lost = false;
        loop {
            let released: Result<(), _> = self.files.release_call(member.as_bytes()).run().await;
            match released.map_err(refused(&self.file)) {
                // An answer was lost on the way, but not what it answered.
                Err(Error::Swept { .. }) if lost => return Ok(()),
                Err(error) if error.is_transient() && Instant::now() < give_up_at => {
                    lost = true;
                    sleep(RETRY_PAUSE).await;
                }
                Err(Error::BeingDeleted { bucket, key }) => {
                    return Err(Error::Swept { bucket, key });
                }
                result => return result,
            }
        }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Upload").field(&self.file).finish()
    }
}

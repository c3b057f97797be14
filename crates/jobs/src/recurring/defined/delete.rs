//! Deleting a recurring job that was defined at run time.

use keyrack_store::{Script, script};

use super::{
    define::{TRIES, check_version},
    text,
};
use crate::recurring::{error::Error, keys, service::Recurring};

static DELETE: Script = script!("delete.lua");

impl Recurring {
    /// Deletes a recurring job from the store, if it still has the version that the caller looked at. What is queued stays.
    ///
    /// # Errors
    /// When there is no such job, it has another version, or the store cannot be reached.
    pub async fn delete(&self, name: &str, based_on: Option<u64>) -> Result<(), Error> {
        for _ in 0..TRIES {
            let Some(held) = self.defined_text(name).await? else {
                return Err(self.not_defined(name));
            };
            // Without reading all of it, so that what cannot be read can be deleted.
            let found = text::version(&held).parse().unwrap_or_default();
            check_version(name, based_on, found)?;
            let is_gone: bool = DELETE
                .call(self.store())
                .key("defined", &keys::defined())
                .key("due", &keys::defined_due())
                .key("events", &keys::defined_events())
                .arg("name", name)
                .arg("held", held)
                .run()
                .await?;
            if is_gone {
                return Ok(());
            }
        }
        Err(Error::Busy { name: name.to_owned() })
    }
}

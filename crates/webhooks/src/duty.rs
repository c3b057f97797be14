//! What one server at a time does: it has the duty for 30 s, and takes it for longer each time it
//! does it.

use keyrack_store::Script;

use crate::{
    error::Error,
    keys::{self, DUTY_S, Duty},
    webhooks::Webhooks,
};

static TAKE_DUTY: Script = keyrack_store::script!("duty/take_duty.lua");

impl Webhooks {
    /// Takes a duty, or keeps it. False while another server has it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_duty(&self, duty: &str, server: &str) -> Result<bool, Error> {
        let call = TAKE_DUTY.call(self.store()).key("duty", &keys::duty(&Duty::new(duty)?));
        Ok(call.arg("server", server).arg("hold_s", DUTY_S).run().await?)
    }
}

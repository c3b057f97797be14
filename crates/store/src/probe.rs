//! Whether the store takes writes.

use crate::{error::Error, keys, script, script::Script, store::Store};

static PROBE: Script = script!("probe.lua");

/// How long the key stays.
pub(crate) const PROBE_TTL_MS: u64 = 60_000;

impl Store {
    /// Writes a key by a script, as everything that matters does: a store that only answers PING may be full or blocked.
    ///
    /// # Errors
    /// Why nothing can be written now.
    pub async fn probe(&self) -> Result<(), Error> {
        let call = PROBE.call(self).key("probe", &keys::probe());
        let call = call.arg("now", self.now_ms() / 1000).arg("ttl_ms", PROBE_TTL_MS);
        call.run::<i64>().await.map(drop)
    }
}

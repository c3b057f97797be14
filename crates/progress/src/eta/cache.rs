//! Times out of the cache, or worked out and put there.
//!
//! What is cached always belongs to the present steps, techniques and samples of the bar: every script that changes one of them drops it, and it is put
//! there only if none has changed since it was worked out. It expires all the same, for others that read these keys.

use keyrack_keys::{Key, UserSub};
use keyrack_store::{Script, script};

use super::{Eta, work_out::work_out};
use crate::{
    bar::bar_name,
    bars::{BarKeys, Stored, With},
    error::Error,
    keys::BarName,
    service::Progress,
    stats::Fit,
    text::float,
};

static CACHED: Script = script!("cached.lua");
static CACHE: Script = script!("cache.lua");

/// How long what was worked out is kept: half an hour.
const TTL_SECONDS: u64 = 1_800;

impl Progress {
    /// How long a new trace of a bar will take, out of the cache if possible. An unknown bar has version -1.
    ///
    /// # Errors
    /// When that can be no name, or the store fails.
    pub async fn eta(&self, user: &UserSub, pbar_name: &str) -> Result<Eta, Error> {
        let name = bar_name(pbar_name)?;
        let Some(stored) = self.stored_bar(user, &name, With::Nothing).await? else {
            return Ok(Eta::unknown());
        };
        match self.cached(user, &name, &stored).await? {
            Some(eta) => Ok(eta),
            None => self.work_out_eta(user, &name).await,
        }
    }

    /// Works out anew how long a new trace of a bar will take, and caches it.
    ///
    /// # Errors
    /// When that can be no name, or the store fails.
    pub async fn fresh_eta(&self, user: &UserSub, pbar_name: &str) -> Result<Eta, Error> {
        self.work_out_eta(user, &bar_name(pbar_name)?).await
    }

    async fn work_out_eta(&self, user: &UserSub, name: &BarName) -> Result<Eta, Error> {
        let Some(stored) = self.stored_bar(user, name, With::Samples).await? else {
            return Ok(Eta::unknown());
        };
        let (bar, steps) = (&stored.bar, stored.real_steps());
        let Some((overall, fits)) = work_out(bar, steps, &stored.samples) else {
            return Ok(Eta::nothing_known(bar, steps));
        };
        self.cache(user, name, &stored, overall, &fits).await?;
        Ok(Eta::of(bar, steps, overall, &fits))
    }

    async fn cached(
        &self,
        user: &UserSub,
        name: &BarName,
        stored: &Stored,
    ) -> Result<Option<Eta>, Error> {
        let keys = stored.cache_keys(user, name)?;
        let values: Vec<String> = CACHED
            .call(&self.store)
            .key("overall", &keys[0])
            .keys("steps", &keys[1..])
            .run()
            .await?;
        let Some((overall, fits)) = values.split_first() else { return Ok(None) };
        let fits: Option<Vec<Fit>> = fits.chunks_exact(3).map(read_fit).collect();
        let Some((overall, fits)) = overall.parse().ok().zip(fits) else { return Ok(None) };
        Ok(Some(Eta::of(&stored.bar, stored.real_steps(), overall, &fits)))
    }

    async fn cache(
        &self,
        user: &UserSub,
        name: &BarName,
        stored: &Stored,
        overall: f64,
        fits: &[Fit],
    ) -> Result<(), Error> {
        let keys: Vec<Key> = stored.cache_keys(user, name)?;
        let fits = fits.iter().flat_map(|fit| [float(fit.a), fit.b.map(float).unwrap_or_default()]);
        let _is_kept: bool = CACHE
            .call(&self.store)
            .key("bar", &BarKeys::of(user, name).bar)
            .key("overall", &keys[0])
            .keys("steps", &keys[1..])
            .arg("revision", &stored.revision)
            .arg("sampled", &stored.sampled)
            .arg("ttl", TTL_SECONDS)
            .arg("overall", float(overall))
            .args("fits", fits.collect::<Vec<String>>())
            .run()
            .await?;
        Ok(())
    }
}

/// A fit that we wrote; the original's have no check, and other numbers in `a` and `b`.
fn read_fit(fields: &[String]) -> Option<Fit> {
    let [a, b, check] = fields else { return None };
    if *check != format!("{a},{b}") {
        return None;
    }
    let b = if b.is_empty() { None } else { Some(b.parse().ok()?) };
    Some(Fit { a: a.parse().ok()?, b })
}

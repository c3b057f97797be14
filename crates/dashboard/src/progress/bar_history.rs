//! What a bar has learned, read now and then.

use std::{sync::Arc, time::Duration};

use keyrack_keys::UserSub;
use keyrack_progress::{Samples, estimate::Model};
use keyrack_services::Cache;
use keyrack_web::Problem;

use crate::Site;

/// How many past traces pages look at: more change no figure that people read.
pub(super) const TRACES_MAX: usize = 200;
/// How old it may be: nothing but a completed trace changes it.
const AGE: Duration = Duration::from_secs(3);

/// A bar's past: its latest traces, and what follows from them.
#[derive(Debug)]
pub(super) struct BarHistory {
    pub(super) samples: Samples,
    pub(super) model: Model,
}

/// The pasts of the bars that somebody looks at; none for a trace that has no bar yet.
#[derive(Debug)]
pub(super) struct BarHistoryCache(Cache<(UserSub, String), Option<Arc<BarHistory>>>);

impl Default for BarHistoryCache {
    fn default() -> BarHistoryCache {
        BarHistoryCache(Cache::new(AGE))
    }
}

/// A bar's past; none where there is no such bar.
pub(super) async fn past(
    site: &Site,
    user: &UserSub,
    bar: &str,
) -> Result<Option<Arc<BarHistory>>, Problem> {
    let read = async {
        let samples = site.services.progress.recent_samples(user, bar, TRACES_MAX).await?;
        Ok(samples.map(|samples| Arc::new(BarHistory { model: Model::of(&samples), samples })))
    };
    site.bars.pasts.0.get((user.clone(), bar.to_owned()), read).await
}

//! What came of a journey's events, second by second.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::{
    error::Error,
    journeys::Journeys,
    keys::{self, JourneyUid},
};

/// How things stand at one second of a journey.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Totals {
    /// How many are on the journey.
    pub users: i64,
    /// How many likes there have been.
    pub likes: i64,
    /// How many presses there have been.
    pub press: i64,
    /// How many are pressing.
    pub press_active: i64,
    /// How many gave each number as their latest answer.
    pub numeric_active: BTreeMap<i64, i64>,
    /// How many chose each colour last, by its index.
    pub color_active: BTreeMap<i64, i64>,
    /// How many chose each word last, by its index.
    pub word_active: BTreeMap<i64, i64>,
}

impl Journeys {
    /// How things stand at a second of a journey, which is over or not.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn totals(&self, uid: &JourneyUid, second: u64) -> Result<Totals, Error> {
        Ok(totals_at(&self.counts(uid).await?, second))
    }

    /// Both at once, which takes one read: how things stand at a second, and how many events there were in each.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn course(&self, uid: &JourneyUid, second: u64) -> Result<(Totals, Vec<u64>), Error> {
        let counts = self.counts(uid).await?;
        Ok((totals_at(&counts, second), histogram_of(&counts)))
    }

    /// How many events there were in each second of a journey, up to the last that had one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn histogram(&self, uid: &JourneyUid) -> Result<Vec<u64>, Error> {
        Ok(histogram_of(&self.counts(uid).await?))
    }

    async fn counts(&self, uid: &JourneyUid) -> Result<HashMap<String, i64>, Error> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&keys::counts(uid)));
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }
}

fn totals_at(counts: &HashMap<String, i64>, second: u64) -> Totals {
    let mut totals = Totals::default();
    for (field, change) in counts {
        match field.rsplit_once(':') {
            Some((name, at)) if at.parse().is_ok_and(|at: u64| at <= second) => {
                totals.add(name, *change);
            }
            _ => {}
        }
    }
    totals
}

fn histogram_of(counts: &HashMap<String, i64>) -> Vec<u64> {
    let seconds = counts.iter().filter_map(|(field, count)| {
        let second: usize = field.strip_prefix("all:")?.parse().ok()?;
        Some((second, u64::try_from(*count).unwrap_or(0)))
    });
    let mut histogram = Vec::new();
    for (second, count) in seconds {
        if histogram.len() <= second {
            histogram.resize(second + 1, 0);
        }
        histogram[second] = count;
    }
    histogram
}

impl Totals {
    fn add(&mut self, name: &str, change: i64) {
        let answers = match name.split_once(':') {
            None => {
                match name {
                    "users" => self.users += change,
                    "likes" => self.likes += change,
                    "press" => self.press += change,
                    "press_active" => self.press_active += change,
                    _ => {}
                }
                return;
            }
            Some(("numeric_active", answer)) => (&mut self.numeric_active, answer),
            Some(("color_active", answer)) => (&mut self.color_active, answer),
            Some(("word_active", answer)) => (&mut self.word_active, answer),
            Some(_) => return,
        };
        let (all, answer) = answers;
        let Ok(answer) = answer.parse() else { return };
        let count = all.entry(answer).or_default();
        *count += change;
        if *count == 0 {
            all.remove(&answer);
        }
    }
}

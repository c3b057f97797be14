//! Reading results: as they are stored, as series for charts, and as a verdict on the trend.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{Ledger, expected_state::Kind, key::KeyId, snapshot::read_snapshot};
use crate::{
    bucket::Bucket,
    error::Error,
    keys::{self, Calculation, Dimension, DimensionKey, Interval, Project},
    moments::{Prediction, StraightLine},
    results::is_by_bucket,
    settings::Settings,
    state::{self, Leaf, Total},
};

/// The most points of a series: more than any chart shows.
pub const POINTS_MAX: usize = 10_000;

/// One bucket of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Point {
    /// The bucket's label.
    pub bucket: String,
    /// Its result as text, exactly as stored; `null` for a bucket without values.
    pub value: Option<String>,
}

/// Where a series goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Up, by more than chance explains.
    Rising,
    /// Down, by more than chance explains.
    Falling,
    /// Neither can be told from chance.
    Flat,
}

/// What the bucket sums tell about where things go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The direction.
    pub direction: Direction,
    /// How sure that is, in percent: 99, 95 or 90; 0 for flat.
    pub confidence: u8,
    /// How many buckets it is judged by.
    pub buckets: u64,
    /// The line through them.
    pub line: StraightLine,
    /// What comes next, with three buckets or more.
    pub prediction: Option<Prediction>,
}

impl Ledger {
    /// A result as it is stored; empty when there is none.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn result(
        &self,
        id: &KeyId,
        calculation: Calculation,
        interval: Interval,
    ) -> Result<BTreeMap<String, String>, Error> {
        let key = id.result((calculation, interval));
        Ok(self.fields(&key, Kind::Result).await?.into_iter().collect())
    }

    /// The last buckets of a result in order, those without values among them.
    ///
    /// # Errors
    /// When the calculation has no buckets, or the store failed.
    pub async fn series(
        &self,
        id: &KeyId,
        calculation: Calculation,
        interval: Interval,
        points_max: usize,
    ) -> Result<Vec<Point>, Error> {
        if !is_by_bucket(calculation) {
            let reason = format!("\"{calculation}\" is one result over all buckets, not a series");
            return Err(Error::invalid("calculation", reason));
        }
        let settings = self.settings(&id.project).await?;
        let Some(total) = self.total(id, interval).await? else { return Ok(Vec::new()) };
        let wanted = points_max.clamp(1, POINTS_MAX) as u64;
        let first = total.first().max((total.last + 1).saturating_sub(wanted));
        let labels: Vec<String> = (first..=total.last)
            .filter_map(|number| Some(Bucket::numbered(interval, number)?.label(settings.labels)))
            .collect();
        let key = id.result((calculation, interval));
        let mut points = Vec::with_capacity(labels.len());
        for chunk in labels.chunks(1000) {
            let mut cmd = redis::cmd("HMGET");
            cmd.arg(&*self.store().place(&key)).arg(chunk);
            let values: Vec<Option<String>> =
                cmd.query_async(&mut self.store().connection()).await?;
            points.extend(
                chunk.iter().cloned().zip(values).map(|(bucket, value)| Point { bucket, value }),
            );
        }
        Ok(points)
    }

    /// Where the bucket sums go; `None` with fewer than two buckets.
    ///
    /// The last bucket is still open as long as its time is not over, and pulls the line down: it can be left out.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn trend(
        &self,
        id: &KeyId,
        interval: Interval,
        with_open: bool,
    ) -> Result<Option<Trend>, Error> {
        let settings = self.settings(&id.project).await?;
        let Some(total) = self.total(id, interval).await? else { return Ok(None) };
        let total = if with_open {
            total
        } else {
            let last = self.state_fields(id, interval, vec![state::field((0, total.last))]).await?;
            let leaf = last.first().cloned().flatten().and_then(|text| Leaf::parse(&text));
            total.without_last(&leaf.unwrap_or_default().sum)
        };
        let moments = total.moments(settings.gaps);
        let Some(line) = moments.line() else { return Ok(None) };
        let (direction, confidence) = judged(&line);
        let prediction = moments.prediction();
        Ok(Some(Trend { direction, confidence, buckets: moments.n(), line, prediction }))
    }

    async fn total(&self, id: &KeyId, interval: Interval) -> Result<Option<Total>, Error> {
        let fields = self.state_fields(id, interval, vec![state::TOTAL.to_owned()]).await?;
        let total = fields.into_iter().next().flatten().and_then(|text| Total::parse(&text));
        Ok(total.filter(|total| total.buckets > 0))
    }

    async fn state_fields(
        &self,
        id: &KeyId,
        interval: Interval,
        fields: Vec<String>,
    ) -> Result<Vec<Option<String>>, Error> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(&*self.store().place(&id.state(interval))).arg(fields);
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// What is declared for a key: calculations, each with an interval.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn declared(&self, id: &KeyId) -> Result<Vec<(Calculation, Interval)>, Error> {
        Ok(read_snapshot(self.store(), id, &[], &[]).await?.declared.pairs().to_vec())
    }

    /// How many values a key has.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn values_len(&self, id: &KeyId) -> Result<u64, Error> {
        let mut cmd = redis::cmd("HLEN");
        cmd.arg(&*self.store().place(&id.values()));
        Ok(cmd.query_async(&mut self.store().connection()).await?)
    }

    /// The projects that have sent events, in order.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn projects(&self) -> Result<Vec<Project>, Error> {
        self.members(&keys::projects(self.account())).await
    }

    /// The dimensions of a project, in order.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn dimensions(&self, project: &Project) -> Result<Vec<Dimension>, Error> {
        self.members(&keys::dimensions(project, self.account())).await
    }

    /// The keys of a dimension, in order.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn keys(
        &self,
        project: &Project,
        dimension: &Dimension,
    ) -> Result<Vec<DimensionKey>, Error> {
        self.members(&keys::dimension_keys(project, dimension, self.account())).await
    }

    /// The members of a set of names; what cannot be a name is left out.
    async fn members<T: std::str::FromStr + Ord>(
        &self,
        key: &keyrack_keys::Key,
    ) -> Result<Vec<T>, Error> {
        let mut members = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut cmd = redis::cmd("SSCAN");
            cmd.arg(&*self.store().place(key)).arg(cursor).arg("COUNT").arg(1000);
            let (next, some): (u64, Vec<String>) =
                cmd.query_async(&mut self.store().connection()).await?;
            members.extend(some.iter().filter_map(|name| name.parse().ok()));
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
        members.sort_unstable();
        members.dedup();
        Ok(members)
    }

    /// A project's settings.
    ///
    /// # Errors
    /// When the store failed.
    pub async fn settings(&self, project: &Project) -> Result<Settings, Error> {
        let key = keys::settings(project, self.account());
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&*self.store().place(&key));
        let fields: HashMap<String, String> =
            cmd.query_async(&mut self.store().connection()).await?;
        Ok(Settings::stored(&fields))
    }

    /// Changes a project's settings and calculates all its results afresh.
    ///
    /// # Errors
    /// When the store failed; calling it again completes what was begun.
    pub async fn set_settings(&self, project: &Project, settings: &Settings) -> Result<(), Error> {
        let key = keys::settings(project, self.account());
        let mut cmd = redis::cmd("HSET");
        cmd.arg(&*self.store().place(&key)).arg(&settings.entries());
        let () = cmd.query_async(&mut self.store().connection()).await?;
        for dimension in self.dimensions(project).await? {
            for name in self.keys(project, &dimension).await? {
                self.recompute(&self.key(project, &dimension, &name)).await?;
            }
        }
        Ok(())
    }
}

/// The direction of a line, and how sure it is.
fn judged(line: &StraightLine) -> (Direction, u8) {
    let direction = if line.slope > 0.0 { Direction::Rising } else { Direction::Falling };
    let ci = line.ci.unwrap_or([f64::INFINITY; 3]);
    let sure = [99, 95, 90].into_iter().zip(ci.into_iter().rev());
    let confidence = sure.into_iter().find(|(_, ci)| line.slope.abs() > *ci);
    confidence.map_or((Direction::Flat, 0), |(percent, _)| (direction, percent))
}

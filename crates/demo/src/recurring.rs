//! Jobs by the calendar.

use keyrack_jobs::{
    bee::{Hive, keys::QueueName},
    recurring::{CronSchedule, Definition, Recurring, Schedule, Scheduler, Settings},
};
use keyrack_store::Store;

use crate::{error::Error, hot::STATISTICS, jobs::REPORTS, mark::MARK};

/// The recurring jobs of the company, for whoever runs a scheduler for it.
pub fn definitions() -> Vec<Definition> {
    let cron = |zone, expression| {
        CronSchedule::new(zone, expression).map(Schedule::Cron).expect("a good schedule")
    };
    let reports = QueueName::new(REPORTS).expect("a good name");
    vec![
        Definition::new("demo.daily_digest", cron("Europe/Berlin", "30 6 * * MON-FRI"))
            .kwarg("what", "daily digest")
            .to_queue(reports.clone()),
        Definition::new("demo.check_health", cron("UTC", "*/30 * * * * *"))
            .kwarg("what", "check of health")
            .to_queue(reports),
        Definition::new(STATISTICS, cron("US/Pacific", "* * * * *")),
    ]
}

/// Puts due jobs into their queues until told to stop.
pub(crate) async fn schedule(store: Store, stop: impl Future<Output = ()>) -> Result<(), Error> {
    // `Hive::open` would leave the options of Node's workers behind, which have no mark.
    let hive = Hive::named(store, format!("{MARK}:calendar"));
    hive.adjust_clock().await?;
    let recurring = Recurring::new(hive, definitions())?;
    Scheduler::new(recurring, Settings::default()).run(stop).await;
    Ok(())
}

//! Where the metrics of the process come from, for whoever exports them.

use std::{pin::Pin, sync::OnceLock};

use tokio::sync::Notify;

/// Makes the metrics as text, in the form of OpenMetrics.
pub type MetricsSource =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

static SOURCE: OnceLock<MetricsSource> = OnceLock::new();
pub(crate) static IS_SET: Notify = Notify::const_new();

/// Has the exporter send these metrics too, if there is one. The first source of a process stays.
pub fn export_metrics(source: MetricsSource) {
    if SOURCE.set(source).is_ok() {
        IS_SET.notify_one();
    }
}

pub(crate) fn source() -> Option<&'static MetricsSource> {
    SOURCE.get()
}

//! The result of a task that nobody aborts.

use std::{future, panic::resume_unwind};

use tokio::task::JoinError;

/// The value of a task that ended; a panic of the task goes on in its caller.
///
/// A task that nobody aborts is canceled only by a runtime that shuts down, as when a program ends while its worker
/// runs. Then the caller waits for its own end, which is next: whatever it would do instead needs the runtime too.
pub async fn joined<T>(ended: Result<T, JoinError>) -> T {
    match ended {
        Ok(value) => value,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_runtime_that_ends_ends_callers_without_a_panic() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (panicked, panics) = std::sync::mpsc::channel();
        let waits = runtime.spawn(async move {
            struct Report(std::sync::mpsc::Sender<bool>);
            impl Drop for Report {
                fn drop(&mut self) {
                    self.0.send(std::thread::panicking()).unwrap();
                }
            }
            let _report = Report(panicked);
            let canceled = tokio::spawn(future::pending::<()>());
            canceled.abort();
            joined(canceled.await).await;
        });
        runtime.shutdown_timeout(Duration::from_secs(10));
        assert!(waits.is_finished());
        assert!(!panics.recv().unwrap());
    }

    #[tokio::test]
    #[should_panic(expected = "from the task")]
    async fn a_panic_of_the_task_goes_on_in_its_caller() {
        joined(tokio::spawn(async { panic!("from the task") }).await).await;
    }
}

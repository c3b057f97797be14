//! The trace that the current task belongs to.

use crate::TraceContext;

tokio::task_local! {
    static CURRENT: Option<TraceContext>;
}

/// The context of the current task, if it has one.
///
/// It does not pass to tasks that are spawned: run those [`within`] the context.
pub fn current() -> Option<TraceContext> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// Runs a future in a context, or outside of every trace.
pub async fn within<F: Future>(context: Option<TraceContext>, future: F) -> F::Output {
    CURRENT.scope(context, future).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_future_runs_within_its_context_and_nothing_else_does() {
        let context =
            TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None);
        let context = context.expect("a context");
        let seen = within(Some(context.clone()), async {
            let outside = within(None, async { current() }).await;
            let spawned = tokio::spawn(async { current() }).await.expect("it runs");
            (current(), outside, spawned)
        });
        assert_eq!(seen.await, (Some(context), None, None));
        assert_eq!(current(), None);
    }
}

//! How long a watcher may be silent, and a trace may take to begin.

use super::*;

/// Time that moves only when it is told to: otherwise it would leap ahead whenever everybody waits for the network.
struct StoppedClock(#[expect(dead_code, reason = "dropping it lets time go on")] Sender<()>);

impl StoppedClock {
    fn new() -> StoppedClock {
        let (sender, receiver) = channel::<()>();
        // Time does not leap while a blocking task runs.
        tokio::task::spawn_blocking(move || receiver.recv());
        StoppedClock(sender)
    }

    async fn advance(&self, time: Duration) {
        tokio::time::advance(time).await;
    }
}

/// Just not enough, and then enough.
const A_MOMENT: Duration = Duration::from_millis(10);

#[tokio::test(start_paused = true)]
async fn who_says_nothing_is_closed_after_five_seconds() {
    let stage = Stage::new().await;
    let clock = StoppedClock::new();
    let mut silent = Client::connect(&stage.site).await;
    // When another is through, the first has surely been heard.
    Client::watch(&stage.site).await.is_ready().await;
    clock.advance(Duration::from_secs(5) - A_MOMENT).await;
    assert!(silent.0.next().now_or_never().is_none());
    clock.advance(A_MOMENT * 2).await;
    assert_eq!(silent.closed().await, 1008);
}

#[tokio::test(start_paused = true)]
async fn a_trace_that_never_begins_is_given_up_after_thirty_seconds() {
    let stage = Stage::new().await;
    let clock = StoppedClock::new();
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "preparing", false);
    clock.advance(Duration::from_secs(30) - A_MOMENT).await;
    assert!(client.0.next().now_or_never().is_none());
    clock.advance(A_MOMENT * 2).await;
    assert_eq!(client.closed().await, 1008);
}

#[tokio::test(start_paused = true)]
async fn idle_time_is_fifteen_minutes_since_the_last_change() {
    let stage = Stage::new().await;
    let clock = StoppedClock::new();
    stage.begin().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "load", false);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(14 * 60)).await;
        stage.update("load", false).await;
        check(&client.hear().await, "load", false);
    }
    clock.advance(Duration::from_secs(15 * 60) - A_MOMENT).await;
    assert!(client.0.next().now_or_never().is_none());
    clock.advance(A_MOMENT * 2).await;
    assert_eq!(client.closed().await, 1008);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_without_the_trace_says_why() {
    let stage = Stage::new().await;
    let clock = StoppedClock::new();
    let mut events = stage.site.stream(EVENTS, &[]).await;
    assert_eq!(events.next().await.kind, "update");
    clock.advance(Duration::from_secs(31)).await;
    let end = events.next().await;
    assert_eq!(end.kind, "end");
    assert!(end.data["reason"].as_str().expect("a reason").contains("30 seconds"), "{end:?}");
    events.ends().await;
}

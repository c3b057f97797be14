use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use tokio::sync::Notify;

use super::*;

fn alice() -> UserSub {
    UserSub::new("alice").expect("a good subject")
}

#[tokio::test]
async fn all_who_ask_at_once_share_one_request() {
    let (flights, starts) = (Arc::new(SharedRequests::default()), Arc::new(AtomicUsize::new(0)));
    let go = Arc::new(Notify::new());
    let ask = || {
        let (starts, go) = (starts.clone(), go.clone());
        flights.join(&alice(), false, move || async move {
            go.notified().await;
            starts.fetch_add(1, Ordering::SeqCst)
        })
    };
    let asking: Vec<_> = (0..100).map(|_| ask()).collect();
    go.notify_one();
    assert_eq!(join_all(asking).await, vec![Some(0); 100]);
    assert!(flights.is_empty());
    go.notify_one();
    assert_eq!(ask().await, Some(1));
}

#[tokio::test]
async fn who_wants_it_fresh_gets_the_next_request_together() {
    let (flights, starts) = (Arc::new(SharedRequests::default()), Arc::new(AtomicUsize::new(0)));
    let go = Arc::new(Notify::new());
    let ask = |fresh| {
        let (starts, go) = (starts.clone(), go.clone());
        flights.join(&alice(), fresh, move || async move {
            let number = starts.fetch_add(1, Ordering::SeqCst);
            go.notified().await;
            number
        })
    };
    let first = ask(false);
    let fresh: Vec<_> = (0..50).map(|_| ask(true)).collect();
    let also_first = ask(false);
    go.notify_one();
    assert_eq!((first.await, also_first.await), (Some(0), Some(0)));
    go.notify_one();
    assert_eq!(join_all(fresh).await, vec![Some(1); 50]);
    assert!(flights.is_empty());
}

#[tokio::test]
async fn a_request_that_panics_is_out_of_the_way() {
    let flights: Arc<SharedRequests<u8>> = Arc::default();
    let broken = flights.join(&alice(), false, || async { panic!("on purpose") });
    let next = flights.join(&alice(), true, || async { 7 });
    assert_eq!((broken.await, next.await), (None, Some(7)));
    assert!(flights.is_empty());
}

#[tokio::test]
async fn a_request_goes_on_when_nobody_waits_for_it() {
    let flights: Arc<SharedRequests<()>> = Arc::default();
    let ended = Arc::new(Notify::new());
    let end = ended.clone();
    drop(flights.join(&alice(), false, move || async move { end.notify_one() }));
    ended.notified().await;
}

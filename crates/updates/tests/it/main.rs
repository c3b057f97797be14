//! Updates on every store, and through a bad network.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use keyrack_keys::Registry;
use keyrack_store::{Event, Store};
use keyrack_testkit::{FaultProxy, RedisServer, on_every_store, simulated_store};
use keyrack_updates::{
    Reason, Updates,
    keys::{self, Repo},
};

fn repo(name: &str) -> Repo {
    Repo::new(name).expect("a name")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announcement_is_the_documented_message_on_every_store() {
    on_every_store(async |store| {
        let channel = keys::updates(&repo("frontend-web"));
        assert_eq!(channel.name(), "updates:frontend-web");
        let mut heard = store.subscribe(&[channel]).await.expect("subscribed");
        let updates = Updates::new(store.clone());
        updates.announce(&repo("backend")).await.expect("announced to nobody");
        updates.announce(&repo("frontend-web")).await.expect("announced");
        let Some(Event::Message(message)) = heard.next().await else { panic!("a message") };
        assert_eq!((&*message.channel, &message.payload[..]), ("updates:frontend-web", &b"1"[..]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_announcements_are_one_update_on_every_store() {
    on_every_store(async |store| {
        let updates = Updates::new(store.clone());
        let mut follower = updates.follow(repo("jobs")).await.expect("followed");
        let mut last = store.subscribe(&[keys::updates(&repo("jobs"))]).await.expect("subscribed");
        for _ in 0..3 {
            updates.announce(&repo("jobs")).await.expect("announced");
            // The follower subscribed before, so it has heard what this one has.
            last.next().await.expect("an event");
        }
        assert_eq!(follower.next().await, Reason::Announced);
        assert!(!follower.take_pending());
        updates.announce(&repo("jobs")).await.expect("announced");
        last.next().await.expect("an event");
        assert!(follower.take_pending());
        updates.announce(&repo("jobs")).await.expect("announced");
        assert_eq!(follower.next().await, Reason::Announced);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_announced_while_the_connection_was_lost_is_not_missed() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr()).await;
    let near = Updates::new(Store::open(&server.url()).await.expect("a store"));
    let far =
        Updates::new(Store::open(&format!("redis://{}", proxy.addr())).await.expect("a store"));
    let mut follower = far.follow(repo("jobs")).await.expect("followed");
    near.announce(&repo("jobs")).await.expect("announced");
    assert_eq!(follower.next().await, Reason::Announced);
    proxy.refuse(true).await;
    proxy.cut();
    near.announce(&repo("jobs")).await.expect("announced to nobody");
    proxy.refuse(false).await;
    assert_eq!(follower.next().await, Reason::MayHaveMissed);
    near.announce(&repo("jobs")).await.expect("announced");
    assert_eq!(follower.next().await, Reason::Announced);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_updates_one_host_at_a_time_on_every_store() {
    on_every_store(async |store| {
        let updates = Updates::new(store.clone());
        let (busy, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let hosts = (0..4).map(|n| {
            let (updates, busy, done) = (&updates, &busy, &done);
            async move {
                let turn = updates.turn(&repo("jobs"), &format!("host{n}")).await.expect("a turn");
                let update = async {
                    assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0);
                    let holder = updates.holder(&repo("jobs")).await.expect("a holder");
                    assert_eq!(holder, Some(format!("host{n}")));
                    busy.fetch_sub(1, Ordering::SeqCst);
                };
                turn.during(update).await;
                assert!(turn.end().await.expect("given back"));
                done.fetch_add(1, Ordering::SeqCst);
            }
        });
        futures_util::future::join_all(hosts).await;
        assert_eq!(done.into_inner(), 4);
        assert_eq!(updates.holder(&repo("jobs")).await.expect("nobody"), None);
        // The turns of two repositories have nothing to do with each other.
        let turn = updates.turn(&repo("a"), "x").await.expect("a turn");
        let other = updates.turn(&repo("b"), "y").await.expect("a turn");
        let registry = Box::leak(Box::new(Registry::new(&[keyrack_updates::FAMILIES])));
        let report = keyrack_lint::lint(&store, registry, &Default::default(), |_| {}).await;
        let report = report.expect("a report");
        assert_eq!((report.findings, report.unknown.keys), (Default::default(), 0));
        drop((turn, other));
    })
    .await;
}

#[tokio::test]
async fn the_turn_of_a_dead_host_ends_and_that_of_a_living_one_does_not() {
    tokio::time::pause();
    let (store, clock) = simulated_store(1_794_709_387_250, 1).await;
    let updates = Updates::new(store.clone());
    let pass = async |seconds: u64| {
        for _ in 0..seconds {
            clock.advance_ms(1000);
            store.engine().expect("an engine").tick();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let turn = updates.turn(&repo("jobs"), "living").await.expect("a turn");
    turn.during(pass(600)).await;
    assert_eq!(updates.holder(&repo("jobs")).await.expect("a holder").as_deref(), Some("living"));
    drop(turn);
    let jobs = repo("jobs");
    let next = updates.turn(&jobs, "next");
    tokio::select! {
        turn = next => drop(turn.expect("a turn")),
        () = pass(70) => panic!("the turn did not end"),
    }
    assert_eq!(updates.holder(&repo("jobs")).await.expect("a holder").as_deref(), Some("next"));
}

#[tokio::test]
async fn who_lost_the_turn_does_not_give_back_that_of_another() {
    let (store, _clock) = simulated_store(1_794_709_387_250, 1).await;
    let updates = Updates::new(store.clone());
    let turn = updates.turn(&repo("jobs"), "slow").await.expect("a turn");
    let mut cmd = redis::cmd("SET");
    cmd.arg(&*store.place(&keys::turn(&repo("jobs")))).arg("other");
    cmd.exec_async(&mut store.connection()).await.expect("taken over");
    assert!(!turn.end().await.expect("an answer"));
    assert_eq!(updates.holder(&repo("jobs")).await.expect("a holder").as_deref(), Some("other"));
}

#[tokio::test(flavor = "multi_thread")]
async fn announcements_are_remembered_on_every_store_and_old_ones_go() {
    on_every_store(async |store| {
        let updates = Updates::new(store.clone());
        assert!(updates.repos().await.expect("a list").is_empty());
        let _heard = store.subscribe(&[keys::updates(&repo("backend"))]).await.expect("subscribed");
        for _ in 0..25 {
            updates.announce(&repo("backend")).await.expect("announced");
        }
        updates.announce(&repo("jobs")).await.expect("announced");
        let remembered = updates.announcements(&repo("backend")).await.expect("a list");
        assert_eq!(remembered.len(), 20);
        assert!(remembered.iter().all(|one| one.heard == 1 && one.at > 0.0), "{remembered:?}");
        let known = updates.repos().await.expect("a list");
        let mut names: Vec<_> = known.iter().map(|(repo, _)| repo.to_string()).collect();
        names.sort();
        assert_eq!(names, ["backend", "jobs"]);
    })
    .await;
}

//! Sweeps: what they delete, what they leave, and how they get on with each other.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use keyrack_files::{Buckets, File, Records, Sweep, SweepAction, keys};

use crate::world::{NOW, World, on_every_store};

/// Records that answer by a function.
struct Asking<F>(F);

/// Makes them.
pub(crate) fn asking<F>(answer: F) -> impl Records
where
    F: Fn(&File) -> BoxFuture<'_, Result<SweepAction, String>> + Send + Sync,
{
    Asking(answer)
}

impl<F> Records for Asking<F>
where
    F: Fn(&File) -> BoxFuture<'_, Result<SweepAction, String>> + Send + Sync,
{
    fn fate<'a>(&'a self, file: &'a File) -> BoxFuture<'a, Result<SweepAction, String>> {
        (self.0)(file)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_deleted_and_what_is_not_stays_on_every_store() {
    on_every_store(async |world| {
        let (due, asked, later) =
            (world.put("due").await, world.put("dir/asked").await, world.put("later").await);
        world.zadd(NOW - 5.0, due.member().as_bytes()).await;
        world.files.request_deletion("b", "dir/asked", Some("tests")).await.expect("asked for");
        world.zadd(NOW + 5.0, later.member().as_bytes()).await;
        world.zadd(NOW - 9.0, br#"{"bucket": "c", "key": "never/was", "more": 1}"#).await;
        let swept = Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
        assert_eq!((swept.deleted, swept.missing, swept.unexpected, swept.failed), (2, 1, 1, 0));
        assert!(!world.is_stored(&due).await && !world.is_stored(&asked).await);
        assert!(world.is_stored(&later).await);
        assert_eq!(world.purgatory().await, [(later.member(), NOW + 5.0)]);
        world.assert_clean().await;
        world.advance_s(5);
        Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
        assert!(world.is_empty().await && !world.is_stored(&later).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn poisoned_members_do_not_stop_the_others_and_wait_longer_each_time_on_every_store() {
    on_every_store(async |world| {
        let poison: [&[u8]; 6] = [
            b"not json",
            b"\xff\xfe",
            br#"{"bucket": "b"}"#,
            br#"{"bucket": "no-such-bucket", "key": "k"}"#,
            br#"{"bucket": "..", "key": "k"}"#,
            br#"{"bucket": "b", "key": "../c/k"}"#,
        ];
        for (n, member) in poison.iter().enumerate() {
            world.zadd(NOW - 100.0 + n as f64, member).await;
        }
        let mut good = Vec::new();
        for n in 0..30 {
            let file = world.put(&format!("good/{n}")).await;
            world.zadd(NOW - 50.0, file.member().as_bytes()).await;
            good.push(file);
        }
        let sweep = Sweep::new(&world.files, &world.buckets).batch(4);
        let swept = sweep.run().await.expect("swept");
        assert_eq!((swept.deleted, swept.failed), (30, 6));
        assert_eq!(swept.failures.len(), 6);
        for file in &good {
            assert!(!world.is_stored(file).await, "{file:?}");
        }
        for entry in world.files.list(0, 10).await.expect("entries") {
            let failure = entry.failure.expect("a failure");
            assert_eq!((failure.failures, failure.failed_at, entry.at), (1, NOW, NOW + 60.0));
            assert!(!failure.reason.is_empty());
        }
        // Not before their time, and then only once.
        assert_eq!(sweep.run().await.expect("swept").failed, 0);
        world.advance_s(60);
        assert_eq!(sweep.run().await.expect("swept").failed, 6);
        let entries = world.files.list(0, 10).await.expect("entries");
        assert!(entries.iter().all(|entry| entry.at == NOW + 60.0 + 120.0), "{entries:?}");
    })
    .await;
}

#[tokio::test]
async fn a_file_that_could_not_be_deleted_is_once_its_bucket_is_back() {
    let world = World::in_memory().await;
    let member = br#"{"bucket": "late", "key": "k"}"#;
    world.zadd(NOW, member).await;
    let sweep = Sweep::new(&world.files, &world.buckets);
    assert_eq!(sweep.run().await.expect("swept").failed, 1);
    std::fs::create_dir(world.folder.path().join("late")).expect("a bucket");
    world.buckets.put(&File::new("late", "k"), b"x".to_vec()).await.expect("stored");
    world.advance_s(60);
    assert_eq!(sweep.run().await.expect("swept").deleted, 1);
    assert!(world.is_empty().await);
}

#[tokio::test]
async fn failures_of_members_that_others_took_out_are_forgotten() {
    let world = World::in_memory().await;
    world.zadd(NOW, b"not json").await;
    let sweep = Sweep::new(&world.files, &world.buckets);
    sweep.run().await.expect("swept");
    world.zrem(b"not json").await;
    sweep.run().await.expect("swept");
    assert!(world.is_empty().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sweeps_at_once_share_the_work_on_every_store() {
    on_every_store(async |world| {
        const FILES: usize = 100;
        for n in 0..FILES {
            let file = world.put(&format!("f{n}")).await;
            world.zadd(NOW - n as f64, file.member().as_bytes()).await;
        }
        let asked = Mutex::new(Vec::new());
        let records = asking(|file| {
            asked.lock().expect("not poisoned").push(file.key.clone());
            Box::pin(std::future::ready(Ok(SweepAction::Delete)))
        });
        let sweep = Sweep::new(&world.files, &world.buckets).asking(&records).batch(3);
        let all = futures_util::future::join_all((0..8).map(|_| sweep.run())).await;
        let deleted: u64 = all.into_iter().map(|swept| swept.expect("swept").deleted).sum();
        assert_eq!(deleted, FILES as u64);
        let mut asked = asked.lock().expect("not poisoned").clone();
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), FILES);
        assert!(world.is_empty().await);
    })
    .await;
}

#[tokio::test]
async fn what_a_crashed_sweep_had_taken_on_is_swept_a_minute_later() {
    let world = World::in_memory().await;
    let file = world.put("k").await;
    world.zadd(NOW, file.member().as_bytes()).await;
    let hang = asking(|_| Box::pin(std::future::pending()));
    let sweep = Sweep::new(&world.files, &world.buckets).asking(&hang);
    tokio::select! {
        biased;
        _ = sweep.run() => unreachable!("it hangs"),
        () = keyrack_testkit::wait_until_async("the claim", async || {
            world.purgatory().await[0].1 > NOW
        }) => {}
    }
    let sweep = Sweep::new(&world.files, &world.buckets);
    assert_eq!(sweep.run().await.expect("swept"), Default::default());
    world.advance_s(60);
    assert_eq!(sweep.run().await.expect("swept").deleted, 1);
    assert!(world.is_empty().await);
}

#[tokio::test]
async fn a_sweep_that_hangs_gives_a_file_up_before_its_claim_ends() {
    let world = World::in_memory().await;
    let file = world.put("k").await;
    world.zadd(NOW, file.member().as_bytes()).await;
    let hang = asking(|_| Box::pin(std::future::pending()));
    tokio::time::pause();
    let swept = Sweep::new(&world.files, &world.buckets).asking(&hang).run().await.expect("swept");
    assert_eq!(swept.failures[0].1, "no answer within 30 s");
    assert!(world.is_stored(&file).await);
}

#[tokio::test]
async fn a_file_on_record_is_kept_and_its_entry_goes() {
    let world = World::in_memory().await;
    let (saved, veto) = (world.put("saved").await, world.put("veto").await);
    world.zadd(NOW, saved.member().as_bytes()).await;
    world.zadd(NOW, veto.member().as_bytes()).await;
    let asked = AtomicUsize::new(0);
    let records = asking(|file| {
        asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(match &*file.key {
            "saved" => Ok(SweepAction::Keep),
            _ => Err("the row is in use".into()),
        }))
    });
    let swept =
        Sweep::new(&world.files, &world.buckets).asking(&records).run().await.expect("swept");
    assert_eq!((swept.kept, swept.failed, asked.load(Ordering::Relaxed)), (1, 1, 2));
    assert_eq!(swept.failures, [(veto.member().into_bytes(), "the row is in use".to_owned())]);
    assert!(world.is_stored(&saved).await && world.is_stored(&veto).await);
    assert_eq!(world.purgatory().await, [(veto.member(), NOW + 60.0)]);
}

#[tokio::test]
async fn looking_at_what_is_due_changes_nothing() {
    let world = World::in_memory().await;
    let file = world.put("k").await;
    world.zadd(NOW - 1.0, file.member().as_bytes()).await;
    let due = world.files.due(100).await.expect("what is due");
    assert_eq!((due.len(), due[0].file.as_ref()), (1, Ok(&file)));
    assert_eq!(world.purgatory().await, [(file.member(), NOW - 1.0)]);
    assert!(world.is_stored(&file).await);
}

#[tokio::test]
async fn beginnings_that_crashed_uploads_left_in_a_folder_go_with_their_file() {
    let world = World::in_memory().await;
    for part in ["k#1", "k#2", "other#1"] {
        std::fs::write(world.folder.path().join("b").join(part), "x").expect("a beginning");
    }
    world.zadd(NOW, File::new("b", "k").member().as_bytes()).await;
    let swept = Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
    assert_eq!(swept.deleted, 1);
    let left = std::fs::read_dir(world.folder.path().join("b")).expect("a listing");
    let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left, ["other#1"]);
}

#[tokio::test]
async fn names_that_would_have_to_be_changed_are_not_deleted_under_another() {
    let world = World::in_memory().await;
    let file = world.put("k").await;
    for key in ["/k", "k/", "./k", "x/../k", "k//"] {
        let refused = world.buckets.delete(&File::new("b", key)).await;
        refused.expect_err(key);
    }
    assert!(world.is_stored(&file).await);
}

#[test]
fn places_are_read_from_urls() {
    for good in
        ["file:/srv/files", "file:///srv/files", "file:files", "s3:", "s3:https://s3.example.com"]
    {
        Buckets::open(good).expect(good);
    }
    for bad in ["", "file:", "/srv/files", "s3:example.com", "https://example.com"] {
        let error = Buckets::open(bad).expect_err(bad).to_string();
        assert!(error.ends_with("give file:DIR, s3: or s3:https://HOST"), "{error}");
    }
}

#[test]
fn all_keys_share_a_slot() {
    use keyrack_keys::Layout;
    for key in [keys::purgatory(), keys::claims(), keys::failures()] {
        assert!(key.placed(Layout::Cluster).starts_with("{files}:"), "{key:?}");
    }
}

#[tokio::test]
async fn a_sweep_can_be_spawned() {
    let world = World::in_memory().await;
    let file = world.put("k").await;
    world.zadd(NOW, file.member().as_bytes()).await;
    let (files, buckets) = (world.files.clone(), world.buckets.clone());
    let sweeping = tokio::spawn(async move { Sweep::new(&files, &buckets).run().await });
    assert_eq!(sweeping.await.expect("no panic").expect("swept").deleted, 1);
}

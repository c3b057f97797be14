//! The ways into purgatory and out of it.

use std::time::Duration;

use keyrack_files::{Error, File, Sweep};

use crate::world::{NOW, World, on_every_store};

#[tokio::test(flavor = "multi_thread")]
async fn files_are_entered_with_the_documented_bytes_and_times_on_every_store() {
    on_every_store(async |world| {
        let hour = Duration::from_secs(3600);
        world.files.enter(&File::new("x", "a/b"), hour).await.expect("entered");
        world.files.request_deletion("x", "a/b", Some("h")).await.expect("asked for");
        world.files.request_deletion("x", "grüße", None).await.expect("asked for");
        world.files.request_deletion("x", "grüße", None).await.expect("asked for again");
        let expected = [
            (r#"{"bucket": "x", "expected": true, "hint": "h", "key": "a/b"}"#.to_owned(), NOW),
            (r#"{"bucket": "x", "expected": true, "key": "gr\u00fc\u00dfe"}"#.to_owned(), NOW),
            (r#"{"bucket": "x", "key": "a/b"}"#.to_owned(), NOW + 3600.0),
        ];
        assert_eq!(world.purgatory().await, expected);
        assert_eq!(world.files.count().await.expect("counts"), (3, 2));
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_listed_and_taken_out_as_they_were_found_on_every_store() {
    on_every_store(async |world| {
        let foreign = br#"{"key":"k", "zone": {"a": [1]}, "bucket":"b"}"#;
        world.zadd(NOW - 1.0, foreign).await;
        world.zadd(NOW, b"nonsense").await;
        world.zadd(NOW + 1.0, br#"{"bucket": "b", "key": "later"}"#).await;
        let listed = world.files.list(0, 10).await.expect("a list");
        assert_eq!(listed[0].file, Ok(File::new("b", "k")));
        assert_eq!((&listed[0].member[..], listed[0].at), (&foreign[..], NOW - 1.0));
        assert!(listed[1].file.is_err());
        assert_eq!(world.files.list(1, 1).await.expect("a page"), listed[1..2]);
        assert_eq!(world.files.list(0, 0).await.expect("nothing"), []);
        assert_eq!(world.files.due(10).await.expect("what is due"), listed[..2]);
        assert!(world.files.keep(foreign).await.expect("taken out"));
        assert!(!world.files.keep(foreign).await.expect("gone already"));
        assert_eq!(world.purgatory().await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn names_that_no_storage_has_are_refused_and_nothing_is_entered() {
    let world = World::in_memory().await;
    let long = "k".repeat(1025);
    for (file, field) in [
        (File::new("", "k"), "bucket"),
        (File::new("b", ""), "key"),
        (File::new("b", &*long), "key"),
        (File::new("b", "k").hint(&*long), "hint"),
    ] {
        let refused = world.files.enter(&file, Duration::ZERO).await;
        assert!(
            matches!(refused, Err(Error::Invalid { field: f, .. }) if f == field),
            "{refused:?}"
        );
    }
    assert!(world.is_empty().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_fail_are_told_worst_first_on_every_store() {
    on_every_store(async |world| {
        assert_eq!(world.files.failing(10).await.expect("nothing"), (0, vec![]));
        world.zadd(NOW - 1.0, b"nonsense").await;
        Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
        world.zadd(NOW, br#"{"bucket": "nowhere", "key": "k"}"#).await;
        world.advance_s(60);
        Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
        let (count, failing) = world.files.failing(10).await.expect("those that fail");
        let told: Vec<_> = failing
            .iter()
            .map(|entry| {
                let failures = entry.failure.as_ref().map(|failure| failure.failures);
                (entry.file.is_ok(), failures, entry.at - NOW)
            })
            .collect();
        assert_eq!((count, told), (2, vec![(false, Some(2), 180.0), (true, Some(1), 120.0)]));
        assert_eq!(world.files.failing(1).await.expect("one of them").1.len(), 1);
        world.zrem(b"nonsense").await;
        let (_, failing) = world.files.failing(10).await.expect("those that are left");
        assert_eq!(failing.len(), 1, "what others took out is left out");
    })
    .await;
}

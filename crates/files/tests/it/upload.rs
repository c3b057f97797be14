//! Uploads, and what is left of those that do not come to their end.

use keyrack_files::{Error, File, SaveError, Sweep, SweepAction};

use crate::{
    sweep::asking,
    world::{NOW, World, on_every_store},
};

const MEMBER: &str = r#"{"bucket": "b", "key": "k"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_in_purgatory_until_it_is_on_record_on_every_store() {
    on_every_store(async |world| {
        let upload = world.files.begin_upload(File::new("b", "k")).await.expect("begun");
        assert_eq!(world.purgatory().await, [(MEMBER.to_owned(), NOW + 600.0)]);
        world.advance_s(500);
        upload.put(&world.buckets, b"content".to_vec()).await.expect("stored");
        let during = async {
            // Saving may take its time.
            assert_eq!(world.purgatory().await, [(MEMBER.to_owned(), NOW + 1100.0)]);
            Ok::<_, Error>("row 7")
        };
        assert_eq!(upload.save(during).await.expect("saved"), "row 7");
        assert!(world.is_empty().await);
        let content = world.buckets.get(&File::new("b", "k")).await.expect("a look");
        assert_eq!(content.as_deref(), Some(&b"content"[..]));
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_not_saved_is_swept() {
    let world = World::in_memory().await;
    let upload = world.files.begin_upload(File::new("b", "k")).await.expect("begun");
    upload.put(&world.buckets, b"x".to_vec()).await.expect("stored");
    let failed = upload.save(async { Err::<(), _>("the database is full") }).await;
    assert!(matches!(failed, Err(SaveError::Save("the database is full"))));
    world.advance_s(601);
    let swept = Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
    assert_eq!((swept.deleted, swept.unexpected), (1, 1));
    assert!(world.is_empty().await && !world.is_stored(&File::new("b", "k")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_swept_does_not_get_on_record_on_every_store() {
    on_every_store(async |world| {
        let upload = world.files.begin_upload(File::new("b", "k")).await.expect("begun");
        upload.put(&world.buckets, b"x".to_vec()).await.expect("stored");
        // The process was suspended for longer than its file was held.
        world.advance_s(601);
        Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
        let mut was_saved = false;
        let save = async {
            was_saved = true;
            Ok::<_, Error>(())
        };
        let refused = upload.save(save).await;
        assert!(matches!(refused, Err(SaveError::NotHeld(Error::Swept { .. }))), "{refused:?}");
        assert!(!was_saved);
    })
    .await;
}

#[tokio::test]
async fn an_upload_that_takes_hours_is_not_swept() {
    let world = World::in_memory().await;
    tokio::time::pause();
    let upload = world.files.begin_upload(File::new("b", "k")).await.expect("begun");
    let hours = async {
        for _ in 0..60 {
            // Both clocks go on.
            tokio::time::sleep(std::time::Duration::from_secs(201)).await;
            world.advance_s(201);
            let swept = Sweep::new(&world.files, &world.buckets).run().await.expect("swept");
            assert_eq!(swept, Default::default());
        }
    };
    upload.during(hours).await.expect("held");
    upload.save(async { Ok::<_, Error>(()) }).await.expect("saved");
    assert!(world.is_empty().await);
}

#[tokio::test]
async fn a_name_that_is_being_deleted_cannot_be_uploaded_to() {
    let world = World::in_memory().await;
    world.put("k").await;
    world.zadd(NOW, MEMBER.as_bytes()).await;
    let files = world.files.clone();
    let records = asking(move |file| {
        let files = files.clone();
        Box::pin(async move {
            let begun = files.begin_upload(file.clone()).await;
            assert!(matches!(begun, Err(Error::BeingDeleted { .. })), "{begun:?}");
            let kept = files.keep(MEMBER.as_bytes()).await;
            assert!(matches!(kept, Err(Error::BeingDeleted { .. })), "{kept:?}");
            Ok(SweepAction::Delete)
        })
    });
    let swept =
        Sweep::new(&world.files, &world.buckets).asking(&records).run().await.expect("swept");
    assert_eq!(swept.deleted, 1);
    let upload = world.files.begin_upload(File::new("b", "k")).await.expect("free again");
    drop(upload);
}

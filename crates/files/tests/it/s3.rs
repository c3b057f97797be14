//! The same over HTTP, on a server that speaks S3.

use keyrack_files::{Buckets, Credentials, File, Files, Sweep};
use keyrack_testkit::{S3Server, simulated_store};

use crate::world::NOW_MS;

/// The server takes any.
pub(crate) const KEY: &str = "testing";

pub(crate) fn buckets(server: &S3Server) -> Buckets {
    let credentials =
        Credentials { access_key_id: KEY.to_owned(), secret_access_key: KEY.to_owned() };
    Buckets::s3(Some(&server.url()), Some(credentials))
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_uploaded_and_swept_on_s3() {
    let server = S3Server::start();
    server.create_bucket("pictures");
    let (buckets, (store, clock)) = (buckets(&server), simulated_store(NOW_MS, 1).await);
    let files = Files::new(store);
    let names = ["a/b.png", "grüße 🎶.txt", "with space+plus&amp"];
    for name in names {
        let upload = files.begin_upload(File::new("pictures", name)).await.expect("begun");
        upload.put(&buckets, name.as_bytes().to_vec()).await.expect("stored");
        let saved = upload.save(async { Ok::<_, ()>(()) }).await;
        saved.expect("saved");
        let lost = format!("lost/{name}");
        let upload = files.begin_upload(File::new("pictures", &*lost)).await.expect("begun");
        upload.put(&buckets, b"x".to_vec()).await.expect("stored");
    }
    clock.advance_ms(601_000);
    let swept = Sweep::new(&files, &buckets).run().await.expect("swept");
    assert_eq!((swept.deleted, swept.failed), (3, 0), "{swept:?}");
    for name in names {
        let content = buckets.get(&File::new("pictures", name)).await.expect("a look");
        assert_eq!(content.as_deref(), Some(name.as_bytes()));
        let lost = File::new("pictures", format!("lost/{name}"));
        assert_eq!(buckets.get(&lost).await.expect("a look"), None);
    }
    assert_eq!(files.count().await.expect("counts"), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_and_a_server_that_is_away_are_failures_and_nothing_is_forgotten() {
    let mut server = S3Server::start();
    server.create_bucket("there");
    let (buckets, (store, clock)) = (buckets(&server), simulated_store(NOW_MS, 1).await);
    let files = Files::new(store);
    files.request_deletion("not-there", "k", None).await.expect("asked for");
    files.request_deletion("there", "never-was", None).await.expect("asked for");
    let swept = Sweep::new(&files, &buckets).run().await.expect("swept");
    assert_eq!((swept.deleted, swept.failed), (1, 1), "{swept:?}");
    assert!(swept.failures[0].1.contains("not-there"), "{swept:?}");
    server.kill();
    clock.advance_ms(60_000);
    let swept = Sweep::new(&files, &buckets).run().await.expect("swept");
    assert_eq!((swept.deleted, swept.failed), (0, 1), "{swept:?}");
    assert_eq!(files.count().await.expect("counts").0, 1);
}

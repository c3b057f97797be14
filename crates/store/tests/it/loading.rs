//! Data folders whose log is replayed.

use std::sync::Arc;

use keyrack_store::{Loading, Options, Store};
use redis::AsyncCommands;

use crate::keys::account;

#[tokio::test]
async fn how_much_of_a_log_was_replayed_can_be_watched() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("embedded:{}", folder.path().display());
    let open = async || {
        let loading = Arc::new(Loading::default());
        let options = Options { loading: Some(loading.clone()), ..Options::default() };
        let store = Store::open_with(url.parse().expect("a good URL"), options).await;
        (store.expect("a store"), loading)
    };
    let (store, loading) = open().await;
    assert_eq!((loading.bytes(), loading.bytes_all()), (0, 0), "there is nothing yet");
    let key = store.place(&account("giro")).into_owned();
    let _: i64 = store.connection().incr(&key, 1).await.expect("a write");
    drop(store);
    let (store, loading) = open().await;
    let replayed = store.engine().and_then(keyrack_engine::Engine::recovery).expect("a folder");
    assert_eq!((loading.bytes(), loading.bytes_all()), (replayed.bytes, replayed.bytes));
}

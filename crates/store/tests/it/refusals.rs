//! Stores that cannot be opened: one clear reason each.

use keyrack_store::{Error, Store};
use keyrack_testkit::{OLD_VERSION, RedisCluster, RedisServer, old_server};

async fn refusal(url: &str) -> Error {
    Store::open(url).await.expect_err("a store that cannot be opened")
}

#[tokio::test]
async fn nothing_at_the_address_is_unreachable() {
    let port = keyrack_testkit::Port::lease();
    let error = refusal(&format!("redis://127.0.0.1:{}", port.number())).await;
    assert!(matches!(&error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn a_wrong_password_and_a_missing_one_are_refused() {
    let server = RedisServer::builder().password("right").start();
    let port = server.port();
    for url in [format!("redis://:wrong@127.0.0.1:{port}"), format!("redis://127.0.0.1:{port}")] {
        let error = refusal(&url).await;
        assert!(matches!(&error, Error::Auth { .. }), "{error:?}");
        assert!(!error.to_string().contains("wrong@"), "{error}");
    }
    Store::open(&server.url()).await.expect("the right password");
}

#[tokio::test]
async fn a_database_number_that_the_server_lacks_is_named() {
    let server = RedisServer::start();
    let error = refusal(&format!("redis://127.0.0.1:{}/99", server.port())).await;
    assert!(matches!(&error, Error::NoSuchDatabase { db: 99, .. }), "{error:?}");
}

#[tokio::test]
async fn a_replica_is_refused_with_its_primary_named() {
    let primary = RedisServer::start();
    let replica = RedisServer::builder().replica_of(&primary).start();
    let error = refusal(&replica.url()).await;
    assert!(matches!(&error, Error::ReadOnly { .. }), "{error:?}");
    assert!(error.to_string().contains(&primary.port().to_string()), "{error}");
}

#[tokio::test]
async fn a_node_of_a_cluster_is_refused_with_the_scheme_to_write() {
    let cluster = RedisCluster::start();
    let error = refusal(&cluster.nodes()[0].url()).await;
    assert!(matches!(&error, Error::IsCluster { .. }), "{error:?}");
    assert!(error.to_string().contains("redis+cluster://"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused() {
    let error = refusal(&format!("redis://{}", old_server())).await;
    assert!(matches!(&error, Error::TooOld { version, .. } if version == OLD_VERSION), "{error:?}");
    assert!(error.to_string().contains("needs Redis 6.2"), "{error}");
}

#[tokio::test]
async fn a_data_folder_in_use_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("embedded:{}", folder.path().display());
    let _open = Store::open(&url).await.expect("the first");
    let error = refusal(&url).await;
    assert!(matches!(&error, Error::Folder { in_use: true, .. }), "{error:?}");
}

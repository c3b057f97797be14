//! Servers on which a test runs as the user with just the rights that keyrack needs.

use keyrack_keys::{Layout, Registry};
use keyrack_store::{AclProjects, AclUser, Store, acl_user};
use keyrack_testkit::{RedisCluster, RedisServer, on_every_store_unrestricted, on_store};
use redis::AsyncCommands;

use crate::keys::{FAMILIES, account};

const LOGIN: &str = "app:secret@";

/// Runs a test on every kind of store, and on a server and a cluster as a user who has no other rights.
pub(crate) async fn on_every_store_and_as_acl_user(test: impl AsyncFn(Store)) {
    on_every_store_unrestricted(&test).await;
    let server = RedisServer::start();
    on_store(&as_user(&server, Layout::Documented), &test).await;
    let cluster = RedisCluster::start();
    cluster.nodes().iter().for_each(|node| give_user(node, Layout::Cluster));
    on_store(&cluster.url().replace("://", &format!("://{LOGIN}")), &test).await;
}

/// The URL of a server for the user, who is made known to it.
fn as_user(server: &RedisServer, layout: Layout) -> String {
    give_user(server, layout);
    format!("redis://{LOGIN}{}", server.addr())
}

fn give_user(server: &RedisServer, layout: Layout) {
    let projects = AclProjects::All;
    let user = AclUser { name: "app", password: Some("secret"), layout, projects };
    let line = acl_user(&user, &Registry::new(&[FAMILIES]));
    let mut cmd = redis::cmd("ACL");
    cmd.arg("SETUSER").arg(line.split(' ').skip(1).collect::<Vec<_>>());
    // The store never flushes scripts; a test does, to see it load them again.
    cmd.arg("+script|flush");
    cmd.exec(&mut server.connection()).expect("the rules are accepted");
}

#[tokio::test]
async fn a_key_of_no_declared_family_is_refused_to_the_user() {
    let server = RedisServer::start();
    let store = Store::open(&as_user(&server, Layout::Documented)).await.expect("a store");
    let _: () = store.connection().set(&*store.place(&account("giro")), 1).await.expect("a write");
    for key in ["foreign", "test:balances", "xtest:balance:alice:giro"] {
        let reply: redis::RedisResult<()> = store.connection().set(key, 1).await;
        assert_eq!(reply.expect_err("no rights").code(), Some("NOPERM"), "{key}");
    }
}

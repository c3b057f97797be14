//! Error replies at every way through the store: those that pass by themselves are told as such.

use keyrack_store::{Error, Script, Store, script};
use keyrack_testkit::{RedisServer, ReplyProxy};
use redis::AsyncCommands;

use crate::keys::{account, alice, moved, tasks};

static TRANSFER: Script = script!("transfer.lua", "amounts.lua");

/// What servers say when they cannot do something now, in their own words.
const NOT_NOW: &[&str] = &[
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CLUSTERDOWN The cluster is down",
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Errors writing to the AOF file: No space left on device",
    "NOREPLICAS Not enough good replicas to write.",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
];

const NOT_YOU: &[&str] = &[
    "NOAUTH Authentication required.",
    "WRONGPASS invalid username-password pair or user is disabled.",
];

/// The ways through the store, and the command that each of them sends.
const WAYS: &[(&str, &str)] = &[
    ("command", "INCRBY"),
    ("pipeline", "INCRBY"),
    ("transaction", "INCRBY"),
    ("transaction", "EXEC"),
    ("script", "EVALSHA"),
    ("script in a transaction", "EVAL"),
    ("publish", "PUBLISH"),
    ("blocking pop", "BLPOP"),
    ("ping", "PING"),
    ("info", "INFO"),
];

async fn go(store: &Store, way: &str) -> Result<(), Error> {
    let mut connection = store.connection();
    let giro = store.place(&account("giro")).into_owned();
    let call = || {
        let call =
            TRANSFER.call(store).key("from", &account("giro")).key("to", &account("savings"));
        call.key("moved", &moved(&alice())).arg("amount", 0)
    };
    let mut pipeline = redis::pipe();
    match way {
        "command" => Ok(connection.incr(&giro, 1).await?),
        "pipeline" => {
            Ok(pipeline.incr(&giro, 1).incr(&giro, 1).query_async(&mut connection).await?)
        }
        "transaction" => {
            Ok(pipeline.atomic().incr(&giro, 1).incr(&giro, 1).query_async(&mut connection).await?)
        }
        "script" => call().run::<i64>().await.map(drop),
        "script in a transaction" => {
            pipeline.atomic();
            call().add_to(&mut pipeline);
            Ok(pipeline.query_async(&mut connection).await?)
        }
        "publish" => store.publish(&moved(&alice()), "1").await.map(drop),
        "blocking pop" => {
            let mut pop = redis::cmd("BLPOP");
            pop.arg(&*store.place(&tasks(&alice()))).arg(0.001);
            Ok(pop.query_async::<redis::Value>(&mut store.blocking()).await.map(drop)?)
        }
        "ping" => store.ping().await,
        "info" => store.info().await.map(drop),
        other => panic!("no way is called \"{other}\""),
    }
}

#[tokio::test]
async fn each_reply_that_passes_is_told_as_such_at_every_call() {
    let server = RedisServer::start();
    let proxy = ReplyProxy::start(server.addr()).await;
    let store = Store::open(&proxy.redis_url()).await.expect("a store");
    for (way, command) in WAYS {
        go(&store, way).await.unwrap_or_else(|error| panic!("{way}: {error:?}"));
        for reply in NOT_NOW {
            proxy.answer(command, reply);
            let error = go(&store, way).await.expect_err(reply);
            assert!(matches!(error, Error::Unavailable { .. }), "{way}, {command}: {error:?}");
            assert!(error.is_transient());
        }
        for reply in NOT_YOU {
            proxy.answer(command, reply);
            let error = go(&store, way).await.expect_err(reply);
            assert!(matches!(error, Error::Auth { .. }), "{way}, {command}: {error:?}");
        }
        proxy.answer(command, "NOPERM this user has no permissions to run the command");
        let error = go(&store, way).await.expect_err("no rights");
        assert!(matches!(error, Error::Denied(_)), "{way}, {command}: {error:?}");
        assert!(!error.is_transient());
        proxy.clear();
    }
}

#[tokio::test]
async fn a_server_without_memory_is_told_as_such_by_a_script_and_a_transaction() {
    let server = RedisServer::start();
    let store = Store::open(&server.url()).await.expect("a store");
    let mut full = redis::cmd("CONFIG");
    full.arg("SET").arg("maxmemory").arg("1").exec(&mut server.connection()).expect("full");
    for way in ["command", "pipeline", "transaction", "script", "script in a transaction"] {
        let error = go(&store, way).await.expect_err("no memory is left");
        assert!(matches!(error, Error::Unavailable { .. }), "{way}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_that_misses_its_replicas_is_told_as_such_by_a_script_and_a_transaction() {
    let server = RedisServer::builder().config("min-replicas-to-write", "1").start();
    let store = Store::open(&server.url()).await.expect("a store");
    for way in ["command", "pipeline", "transaction", "script", "script in a transaction"] {
        let error = go(&store, way).await.expect_err("no replica follows");
        assert!(matches!(error, Error::Unavailable { .. }), "{way}: {error:?}");
    }
}

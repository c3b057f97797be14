//! After a panic at any point the engine is whole: everything works on, and the log says what the memory says.

use std::{path::Path, sync::Arc};

use redis::Value;

use crate::{
    Engine, SimulatedHost,
    dump::dump,
    engine::Guard,
    fault::armed::panic_after,
    reply::Reply,
    session::{ClientIndex, ClientInfo, Inbox},
    state::State,
};

/// More points than any of the scenarios here passes.
const POINTS_MAX: usize = 1000;

/// An engine on a folder, and two clients.
struct World {
    engine: Engine,
    clients: Vec<(ClientIndex, Inbox)>,
}

impl World {
    fn open(dir: &Path) -> World {
        let host = Box::new(SimulatedHost::new(1_700_000_000_000, 1));
        let engine = Engine::builder().host(host).open(dir).expect("the folder opens");
        let connect = |_| engine.shared().connect(0, true, ClientInfo::default());
        let clients = (0..2).map(connect).collect();
        World { engine, clients }
    }

    fn lock(&self) -> Guard<'_> {
        self.engine.shared().lock_in_test()
    }

    fn run(&self, client: usize, args: &[&str]) -> Option<Reply> {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        self.lock().execute(self.clients[client].0, &args).reply
    }

    /// All keys as the commands that make them.
    fn contents(&self) -> Vec<String> {
        let state = self.lock();
        let mut contents = Vec::new();
        for (n, db) in state.dbs.iter().enumerate() {
            let mut cursor = 0;
            loop {
                cursor = db.scan(cursor, |key, value| {
                    let mut commands = Vec::new();
                    dump(&mut commands, key, value, db.expires_at(key));
                    contents.push(format!("{n} {}", String::from_utf8_lossy(&commands)));
                });
                if cursor == 0 {
                    break;
                }
            }
        }
        contents.sort();
        contents
    }
}

fn is_whole(state: &mut State) {
    assert!(!state.script_control.is_running());
    assert!(state.scripts.is_some());
    assert_eq!(state.effects.finish(|_| 1), None, "no effect is left for the next unit");
}

/// Does something once for each point in it, with a panic there, and looks at the engine afterwards.
#[track_caller]
fn check_every_point(prepare: &[&[&str]], scenario: impl Fn(&World)) -> usize {
    for n in 0..POINTS_MAX {
        let dir = tempfile::tempdir().expect("a folder");
        let world = World::open(dir.path());
        for command in prepare {
            world.run(0, command);
        }
        let ((), has_panicked) = panic_after(n, || scenario(&world));
        is_whole(&mut world.lock());
        // The same clients, and scripts, go on.
        assert_eq!(world.run(0, &["RESET"]), Some(Reply::Status("RESET".into())), "{n}");
        assert_eq!(world.run(0, &["PING"]), Some(Reply::Status("PONG".into())), "{n}");
        assert_eq!(world.run(0, &["EVAL", "return 7", "0"]), Some(Reply::Int(7)), "{n}");
        assert_eq!(world.run(0, &["SET", "after", "1"]), Some(Reply::OK), "{n}");
        assert_eq!(world.lock().clients.len(), 2, "{n}");
        let contents = world.contents();
        world.engine.close().expect("the disk takes it");
        drop(world);
        assert_eq!(World::open(dir.path()).contents(), contents, "after a panic at point {n}");
        if !has_panicked {
            return n;
        }
    }
    panic!("there are too many points");
}

#[test]
fn a_script_can_panic_at_every_call_of_its_own() {
    let script = "redis.log(redis.LOG_WARNING, 'x') redis.setresp(3) redis.call('SELECT', 1) \
                  redis.call('SET', 'a', 1) redis.pcall('RPUSH', 'l', 1, 2, 3) \
                  redis.acl_check_cmd('GET', 'a') for i = 1, 2500 do end \
                  redis.call('ZADD', 'z', 1, 'm') redis.call('SPOP', 's') return redis.call('GET', 'a')";
    let prepare: &[&[&str]] =
        &[&["SADD", "s", "1", "2", "3"], &["SELECT", "1"], &["SADD", "s", "4", "5"]];
    let n = check_every_point(prepare, |world| {
        let reply = world.run(0, &["EVAL", script, "0"]).expect("an answer");
        assert!(matches!(reply, Reply::Error(_) | Reply::Bulk(_)), "{reply:?}");
    });
    assert!(n > 20, "{n}");
}

#[test]
fn a_transaction_can_panic_at_every_point() {
    let commands: &[&[&str]] = &[
        &["WATCH", "other"],
        &["MULTI"],
        &["SET", "a", "2"],
        &["INCRBY", "a", "40"],
        &["RPOPLPUSH", "l", "m"],
        &["EVAL", "redis.call('HSET', 'h', 'f', 'v') return redis.call('DEL', 'a')", "0"],
        &["EXEC"],
    ];
    let n = check_every_point(&[&["SET", "a", "1"], &["RPUSH", "l", "x", "y"]], |world| {
        commands.iter().for_each(|command| _ = world.run(0, command));
    });
    assert!(n > 20, "{n}");
}

#[test]
fn serving_those_who_wait_can_panic_at_every_point() {
    let n = check_every_point(&[], |world| {
        world.run(1, &["BLMOVE", "l", "moved", "LEFT", "LEFT", "0"]);
        let pushed = world.run(0, &["RPUSH", "l", "a", "b"]);
        assert!(pushed.is_some());
    });
    assert!(n > 5, "{n}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_called_in_process_gets_an_error() {
    let engine = Engine::in_memory();
    let mut connection = engine.connection(0).expect("it exists");
    let mut set = redis::cmd("SET");
    set.arg("k").arg("v");
    let (future, _) = panic_after(0, || {
        let mut future = Box::pin(set.query_async::<Value>(&mut connection));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        std::future::Future::poll(future.as_mut(), &mut cx)
    });
    let std::task::Poll::Ready(Err(error)) = future else { panic!("{future:?}") };
    assert!(error.to_string().contains("the engine failed"), "{error}");
    redis::cmd("PING").exec_async(&mut connection).await.expect("it works on");
}

#[test]
fn a_command_that_can_have_changed_anything_ends_the_process() {
    let dir = tempfile::tempdir().expect("a folder");
    let heard = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let world = World::open(dir.path());
    world.run(0, &["SET", "k", "v"]);
    let log = world.lock().log.clone().expect("it has one");
    let told = heard.clone();
    log.on_end_process(Arc::new(move |reason: &str| told.lock().push(reason.to_owned())));
    let (reply, has_panicked) = panic_after(1, || world.run(0, &["FLUSHALL"]));
    assert!(has_panicked);
    assert!(matches!(reply, Some(Reply::Error(_))), "{reply:?}");
    assert_eq!(*heard.lock(), ["the command \"flushall\" failed half-way"]);
}

//! A real redis-server and an engine side by side, driven with the same steps.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use keyrack_engine::Engine;
use keyrack_testkit::RedisServer;
use tokio::runtime::Runtime;

use super::{
    compare::{self, Mode},
    grammar::Args,
    steps::{N_CLIENTS, Step},
};
use crate::wire::{Frame, Wire};

/// Both servers.
pub(crate) struct World {
    redis: RedisServer,
    engine_address: SocketAddr,
    /// Keeps the engine's port open.
    _engine: (Engine, Runtime, keyrack_engine::Listener),
}

/// Databases on both sides, as redis-server has them by default.
const DATABASES: usize = 16;
/// How long a reply may take to arrive on the slower side.
const PATIENCE: Duration = Duration::from_secs(10);

impl World {
    pub(crate) fn start() -> World {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let engine = Engine::builder().databases(DATABASES).open_in_memory();
        let listener = runtime.block_on(engine.listen("127.0.0.1:0")).expect("a free port");
        let engine_address = listener.local_addr();
        World { redis: RedisServer::start(), engine_address, _engine: (engine, runtime, listener) }
    }

    /// Runs steps from an empty keyspace and compares everything; the first difference ends it.
    pub(crate) fn run(&self, steps: &[Step]) -> Result<(), Difference> {
        let mut run = Run::new(self);
        for (at, step) in steps.iter().enumerate() {
            run.step(step).map_err(|what| Difference { at, what })?;
        }
        run.compare_keyspaces().map_err(|what| Difference { at: steps.len(), what })
    }
}

/// Where the two sides parted.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The step, or the number of steps when only the keyspaces differ at the end.
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// The same client on both sides.
struct Pair {
    redis: Wire,
    engine: Wire,
    /// How the replies of queued commands compare, inside MULTI.
    queued: Option<Vec<Mode>>,
    blocked: bool,
}

struct Run {
    clients: Vec<Pair>,
    /// Not part of the test: looks at the servers.
    control: Pair,
    n_syncs: usize,
}

impl Run {
    fn new(world: &World) -> Run {
        let pair = || Pair {
            redis: Wire::connect(world.redis.addr()),
            engine: Wire::connect(world.engine_address),
            queued: None,
            blocked: false,
        };
        let mut run =
            Run { control: pair(), clients: (0..N_CLIENTS).map(|_| pair()).collect(), n_syncs: 0 };
        // Connections of the run before may still be closing.
        keyrack_testkit::wait_until("earlier clients to be gone", || run.n_blocked() == (0, 0));
        for args in [&["FLUSHALL"][..], &["SCRIPT", "FLUSH"]] {
            run.control.redis.call(args);
            run.control.engine.call(args);
        }
        run
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Run { client, args } => self.run(*client, args)?,
            Step::Wait { client, args } => return self.wait(*client, args),
            Step::Listen { client, args } => self.listen(*client, args)?,
            Step::Scan { args, options, .. } => self.scan(args, options)?,
            Step::Pop { key, count } => self.pop(key, count.as_deref())?,
            Step::Expire { key } => self.expire(key),
        }
        self.check_served()
    }

    fn run(&mut self, client: usize, args: &Args) -> Result<(), String> {
        let pair = &mut self.clients[client];
        // A known difference: HELLO in a transaction decides the protocol of all its replies.
        let is_known = pair.queued.is_some() && args[0].eq_ignore_ascii_case(b"hello");
        if is_known || (pair.queued.is_none() && may_wait(args)) {
            return Ok(());
        }
        let (redis, engine) = (pair.redis.call(args), pair.engine.call(args));
        let mode = compare::mode(args);
        let name = args[0].to_ascii_uppercase();
        let is_queued = redis == Frame::Status("QUEUED".into());
        match (&name[..], pair.queued.take()) {
            (b"EXEC", Some(modes)) => compare::transaction(&modes, &redis, &engine),
            (b"DISCARD" | b"RESET", _) => compare::replies(mode, &redis, &engine),
            (b"MULTI", queued) => {
                pair.queued = Some(queued.unwrap_or_default());
                compare::replies(mode, &redis, &engine)
            }
            (_, Some(mut modes)) => {
                if is_queued {
                    modes.push(mode);
                }
                pair.queued = Some(modes);
                compare::replies(if is_queued { Mode::Exact } else { mode }, &redis, &engine)
            }
            (_, None) => compare::replies(mode, &redis, &engine),
        }
    }

    /// Sends a command that may wait, and notes whether it does.
    fn wait(&mut self, client: usize, args: &Args) -> Result<(), String> {
        if self.clients[client].blocked {
            return Ok(());
        }
        let n_before = self.clients.iter().filter(|pair| pair.blocked).count();
        self.clients[client].redis.send(args);
        self.clients[client].engine.send(args);
        if args.last().is_some_and(|timeout| timeout != b"0") {
            return self.clients[client].compare_next();
        }
        let shown: Vec<_> = args.iter().map(|word| word.escape_ascii().to_string()).collect();
        let what = format!("an answer to {} or a wait", shown.join(" "));
        keyrack_testkit::wait_until(&what, || {
            let (redis, engine) = self.n_blocked();
            let pair = &mut self.clients[client];
            (redis > n_before || pair.redis.is_ready())
                && (engine > n_before || pair.engine.is_ready())
        });
        let pair = &mut self.clients[client];
        match (pair.redis.is_ready(), pair.engine.is_ready()) {
            (true, true) => pair.compare_next()?,
            (false, false) => pair.blocked = true,
            (true, false) => {
                return Err(format!("redis answers {}, the engine waits", pair.next(Side::Redis)));
            }
            (false, true) => {
                return Err(format!("the engine answers {}, redis waits", pair.next(Side::Engine)));
            }
        }
        // A move may have served somebody else.
        self.check_served()
    }

    /// Compares the answers of clients that waited until just now.
    fn check_served(&mut self) -> Result<(), String> {
        let waiting: Vec<usize> =
            (0..N_CLIENTS).filter(|client| self.clients[*client].blocked).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let (n_redis, _) = self.n_blocked();
        for client in waiting {
            let pair = &mut self.clients[client];
            if pair.redis.is_ready() {
                pair.blocked = false;
                pair.compare_next().map_err(|what| format!("waiting client {client}: {what}"))?;
            }
        }
        let still = self.clients.iter().filter(|pair| pair.blocked).count();
        if still != n_redis {
            return Err(format!("{still} clients should wait, but {n_redis} do on redis"));
        }
        let mut engine = 0;
        for _ in 0..200 {
            engine = self.n_blocked().1;
            if engine == still {
                return Ok(());
            }
            std::thread::yield_now();
        }
        Err(format!("{still} clients wait on redis, {engine} on the engine"))
    }

    /// How many clients wait, on redis and on the engine.
    fn n_blocked(&mut self) -> (usize, usize) {
        (n_blocked(&mut self.control.redis), n_blocked(&mut self.control.engine))
    }

    /// Runs a command of a listening client and compares all that it has been sent up to its end.
    fn listen(&mut self, client: usize, args: &Args) -> Result<(), String> {
        self.n_syncs += 1;
        let sync = format!("sync{}", self.n_syncs);
        let pair = &mut self.clients[client];
        let (redis, engine) =
            (collect(&mut pair.redis, args, &sync), collect(&mut pair.engine, args, &sync));
        compare::streams(args, redis, engine)
    }

    /// Scans to the end on both sides and compares what was found.
    fn scan(&mut self, args: &Args, options: &Args) -> Result<(), String> {
        let (redis, engine) = (
            scan(&mut self.control.redis, args, options),
            scan(&mut self.control.engine, args, options),
        );
        if redis == engine {
            return Ok(());
        }
        Err(format!("a scan finds {redis:?} on redis, {engine:?} on the engine"))
    }

    fn pop(&mut self, key: &[u8], count: Option<&[u8]>) -> Result<(), String> {
        let mut args = vec![b"SPOP".to_vec(), key.to_vec()];
        args.extend(count.map(<[u8]>::to_vec));
        let popped = self.control.engine.call(&args);
        let members: Vec<Vec<u8>> = match &popped {
            Frame::Bulk(member) => vec![member.clone()],
            Frame::Array(members) => members.iter().map(|member| member.bytes().to_vec()).collect(),
            _ => Vec::new(),
        };
        if members.is_empty() {
            let redis = self.control.redis.call(&args);
            return compare::replies(Mode::Exact, &redis, &popped);
        }
        let n = members.len() as i64;
        let mut remove = vec![b"SREM".to_vec(), key.to_vec()];
        remove.extend(members);
        match self.control.redis.call(&remove) {
            Frame::Int(removed) if removed == n => Ok(()),
            other => Err(format!("the engine popped {popped}, of which redis removed {other}")),
        }
    }

    fn expire(&mut self, key: &[u8]) {
        for wire in [&mut self.control.redis, &mut self.control.engine] {
            wire.call(&[b"PEXPIRE", key, b"1"]);
            keyrack_testkit::wait_until("the key to expire", || {
                wire.call(&[&b"EXISTS"[..], key]) == Frame::Int(0)
            });
        }
    }

    fn compare_keyspaces(&mut self) -> Result<(), String> {
        for db in 0..DATABASES {
            let select = [b"SELECT".to_vec(), db.to_string().into_bytes()];
            self.control.redis.call(&select);
            self.control.engine.call(&select);
            let keys = self.control.redis.call(&["KEYS", "*"]).unordered();
            let engine_keys = self.control.engine.call(&["KEYS", "*"]).unordered();
            if keys != engine_keys {
                return Err(format!("database {db}: redis has {keys}, the engine {engine_keys}"));
            }
            for key in keys.items() {
                self.compare_key(db, key.bytes())?;
            }
        }
        Ok(())
    }

    fn compare_key(&mut self, db: usize, key: &[u8]) -> Result<(), String> {
        let kind = self.control.redis.call(&[b"TYPE", key]);
        let dump: Args = match kind.bytes() {
            b"string" => vec![b"GET".to_vec(), key.to_vec()],
            b"hash" => vec![b"HGETALL".to_vec(), key.to_vec()],
            b"set" => vec![b"SMEMBERS".to_vec(), key.to_vec()],
            b"list" => vec![b"LRANGE".to_vec(), key.to_vec(), b"0".to_vec(), b"-1".to_vec()],
            _ => [&b"ZRANGE"[..], key, b"0", b"-1", b"WITHSCORES"].map(<[u8]>::to_vec).to_vec(),
        };
        let one = |name: &[u8]| vec![name.to_vec(), key.to_vec()];
        let encoding = vec![b"OBJECT".to_vec(), b"ENCODING".to_vec(), key.to_vec()];
        for args in [one(b"TYPE"), dump, encoding, one(b"PEXPIRETIME")] {
            let (redis, engine) = (self.control.redis.call(&args), self.control.engine.call(&args));
            compare::replies(compare::mode(&args), &redis, &engine).map_err(|what| {
                let name = args[0].escape_ascii();
                format!("database {db}, key \"{}\", {name}: {what}", key.escape_ascii())
            })?;
        }
        Ok(())
    }
}

enum Side {
    Redis,
    Engine,
}

impl Pair {
    fn next(&mut self, side: Side) -> Frame {
        match side {
            Side::Redis => self.redis.read(),
            Side::Engine => self.engine.read(),
        }
        .expect("an answer")
    }

    fn compare_next(&mut self) -> Result<(), String> {
        let redis = self.next(Side::Redis);
        self.engine.patience(PATIENCE);
        match self.engine.read() {
            Ok(engine) => compare::replies(Mode::Exact, &redis, &engine),
            Err(_) => {
                Err(format!("redis answers {redis}, the engine does not within {PATIENCE:?}"))
            }
        }
    }
}

/// Whether a command would wait outside of MULTI, which only the clients made for it may do.
fn may_wait(args: &Args) -> bool {
    let blocking = [&b"BL"[..], b"BR", b"BZ"].iter().any(|start| args[0].starts_with(start));
    let timeout =
        args.last().and_then(|timeout| std::str::from_utf8(timeout).ok()?.parse::<f64>().ok());
    blocking && timeout.is_some_and(|timeout| timeout >= 0.0)
}

fn n_blocked(wire: &mut Wire) -> usize {
    let Frame::Bulk(info) = wire.call(&["INFO", "clients"]) else { panic!("INFO has an answer") };
    let text = String::from_utf8_lossy(&info).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("blocked_clients:"));
    line.expect("INFO tells who waits").trim().parse().expect("a number")
}

/// Sends a command and a PING, and returns everything up to the PING's answer.
fn collect(wire: &mut Wire, args: &Args, sync: &str) -> Vec<Frame> {
    wire.send(args);
    wire.send(&["PING", sync]);
    let mut frames = Vec::new();
    loop {
        let frame = wire.read().expect("an answer");
        let is_sync = match &frame {
            Frame::Bulk(bytes) => bytes == sync.as_bytes(),
            Frame::Array(parts) | Frame::Push(parts) => {
                parts.len() == 2
                    && parts[0].bytes() == b"pong"
                    && parts[1].bytes() == sync.as_bytes()
            }
            _ => false,
        };
        if is_sync {
            return frames;
        }
        frames.push(frame);
    }
}

/// Everything a scan finds, or the error that ends it.
fn scan(wire: &mut Wire, args: &Args, options: &Args) -> Result<BTreeSet<Vec<Frame>>, String> {
    let width = if args[0] == b"HSCAN" || args[0] == b"ZSCAN" { 2 } else { 1 };
    let mut found = BTreeSet::new();
    let mut cursor = b"0".to_vec();
    loop {
        let call: Args =
            args.iter().cloned().chain([cursor]).chain(options.iter().cloned()).collect();
        let reply = wire.call(&call);
        if let Frame::Error(error) = reply {
            return Err(error);
        }
        let mut parts = reply.items().into_iter();
        let (next, items) = (parts.next().expect("a cursor"), parts.next().expect("items").items());
        found.extend(items.chunks(width).map(<[Frame]>::to_vec));
        cursor = next.bytes().to_vec();
        if cursor == b"0" {
            return Ok(found);
        }
    }
}

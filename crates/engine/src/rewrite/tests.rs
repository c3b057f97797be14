//! What the log has is what the engine has: random commands, then a second engine on the same folder, with and without
//! a rewrite that goes on meanwhile.

use std::collections::BTreeMap;

use super::Progress;
use crate::{
    Engine, Fsync, SimulatedHost, aof,
    host::SplitMix,
    session::{ClientIndex, ClientInfo, Inbox},
    state::State,
    table::{self, Flags},
    types::Value,
};

/// Every command that writes, in words: `K` stands for a key, `V` for a value, `N` for a small number, `F` for a float,
/// `D` for a database, `T` for a duration in ms, `A` and `S` for a moment in ms and in seconds. Where a kind of command
/// has more lines, it is run more often.
const WRITES: &str = "
append K V|decr K|decrby K N|getset K V|incr K|incrby K N|incrbyfloat K F|incrbyfloat K F|mset K V K V K V|msetnx K V K V
psetex K T V|set K V|set K V px T|set K V keepttl|set K V nx get|set K V xx pxat A|set K N|setex K 1 V|setnx K V
setrange K N V|getdel K|getex K px T|getex K persist|getex K pxat A|getex K
hset K V V V V|hset K V N|hmset K V V|hsetnx K V V|hincrby K V N|hincrbyfloat K V F|hdel K V V
lpush K V V|rpush K V V V|lpushx K V|rpushx K V|lpop K|rpop K N|lmpop 2 K K left count 2|lset K N V|linsert K before V V
lrem K N V|ltrim K N N|lmove K K left right|rpoplpush K K|blpop K K 0|brpop K 1|blmove K K right left 0|brpoplpush K K 1
blmpop 1 2 K K right count 3
sadd K V V V|sadd K N N|srem K V N|spop K|spop K N|smove K K V|sinterstore K K K|sunionstore K K K|sdiffstore K K K
zadd K F V F V|zadd K xx gt ch F V|zadd K incr F V|zincrby K F V|zrem K V|zremrangebyrank K N N|zremrangebyscore K F +inf
zremrangebylex K [V +|zpopmin K|zpopmax K N|bzpopmin K K 0|bzpopmax K 1|zmpop 2 K K min count 2|bzmpop 1 1 K max count 2
zunionstore K 2 K K weights F F|zinterstore K 2 K K aggregate max|zdiffstore K 2 K K|zrangestore K K 0 N
copy K K replace|copy K K db D|del K K|unlink K|expire K 1 nx|expire K -1|expireat K S|move K D|persist K|pexpire K T
pexpire K T gt|pexpireat K A|rename K K|rename K K|renamenx K K
swapdb D D|flushdb|flushall
";

/// What else happens to a log: several commands as one unit, other databases, keys that are looked at when they are due.
const OTHERS: &str = "
select D|select D|multi|multi|exec|exec|exec|discard|get K|exists K K|type K|lrange K 0 -1|watch K|scan 0
";

/// Scripts have spaces, so they are not among the words above.
const SCRIPTS: [&str; 3] = [
    "redis.call('set', KEYS[1], ARGV[1]) redis.call('pexpire', KEYS[1], 40) return redis.call('incr', KEYS[2])",
    "redis.call('select', 1) redis.call('sadd', KEYS[1], ARGV[1], 'x', 'y') redis.call('spop', KEYS[1]) return 1",
    "for i = 1, 60 do redis.call('hset', KEYS[1], ARGV[1] .. i, i) end redis.call('del', KEYS[2]) return redis.call('lpush', KEYS[1], 'x')",
];

/// How often commands that end everything at once are left out.
const FLUSH_ODDS: u64 = 20;
const DATABASES: u64 = 3;

struct World {
    random: SplitMix,
    folder: tempfile::TempDir,
    clock: SimulatedHost,
    engine: Engine,
    clients: Vec<(ClientIndex, Inbox)>,
    forms: Vec<Vec<&'static str>>,
    /// Keys come from this many names; a large number makes tables grow.
    n_keys: u64,
    /// The new base file, and whether all keys are in it.
    base: Option<(aof::Rewrite, bool)>,
    n_rewrites: usize,
    /// The last commands, shown where something is wrong.
    history: Vec<String>,
}

impl World {
    fn new(seed: u64) -> World {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let clock = SimulatedHost::new(1_700_000_000_000, seed);
        let engine = open(&folder, &clock);
        let clients =
            (0..3).map(|_| engine.shared().connect(0, true, ClientInfo::default())).collect();
        let forms = [WRITES, OTHERS].iter().flat_map(|text| text.split(['\n', '|']));
        let forms = forms.filter(|form| !form.is_empty()).map(|form| form.split(' ').collect());
        let mut random = SplitMix(seed);
        let n_keys = if random.next().is_multiple_of(3) { 300 } else { 8 };
        World {
            random,
            folder,
            clock,
            engine,
            clients,
            forms: forms.collect(),
            n_keys,
            base: None,
            n_rewrites: 0,
            history: Vec::new(),
        }
    }

    fn run(&self, client: usize, command: &str) {
        let args: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        self.engine.shared().lock_blocking().execute(self.clients[client].0, &args);
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.next() % n
    }

    fn command(&mut self) -> Vec<String> {
        if self.below(20) == 0 {
            let script = SCRIPTS[self.below(3) as usize].to_owned();
            return vec![
                "eval".into(),
                script,
                "2".into(),
                self.word("K"),
                self.word("K"),
                self.word("V"),
            ];
        }
        if self.n_keys > 8 && self.below(10) == 0 {
            // Tables grow and shrink in waves.
            let name = if self.below(2) == 0 { "mset" } else { "del" };
            let words = (0..100).map(|_| self.word("K")).collect::<Vec<_>>();
            return std::iter::once(name.to_owned()).chain(words).collect();
        }
        loop {
            let nth = self.below(self.forms.len() as u64) as usize;
            let form = self.forms[nth].clone();
            if !form[0].starts_with("flush") || self.below(FLUSH_ODDS) == 0 {
                return form.into_iter().map(|word| self.word(word)).collect();
            }
        }
    }

    fn word(&mut self, form: &str) -> String {
        let now_ms = self.clock.now_ms();
        match form {
            "K" => format!("k{}", self.below(self.n_keys)),
            "V" | "[V" => {
                let text = match self.below(8) {
                    0 => "long".repeat(20),
                    1 => String::new(),
                    2 => format!("{}", self.below(4)),
                    n => format!("v{}", self.below(1 << n)),
                };
                form.replace('V', &text)
            }
            "N" => (self.below(7) as i64 - 2).to_string(),
            "F" => {
                ["0.1", "-3", "1e300", "-0", "inf", "2.5", "1e-7"][self.below(7) as usize].into()
            }
            "D" => self.below(DATABASES).to_string(),
            "T" => (1 + self.below(60)).to_string(),
            "A" => (now_ms + self.below(60) - 20).to_string(),
            "S" => (now_ms / 1000 + self.below(3) - 1).to_string(),
            _ => form.to_owned(),
        }
    }

    /// Runs a random command for a random client that is not waiting, and lets time pass now and then.
    fn step(&mut self) {
        if self.below(6) == 0 {
            let ms = self.below(20);
            self.clock.advance_ms(ms);
            if self.below(4) == 0 {
                self.history.push(format!("(tick after {ms} ms)"));
                self.expire();
            }
        }
        let words = self.command();
        let client = self.below(self.clients.len() as u64) as usize;
        let index = self.clients[client].0;
        let mut state = self.engine.shared().lock_blocking();
        if state.clients.get(index).is_some_and(|session| session.wait.is_some()) {
            return;
        }
        self.history.push(format!("{client}: {}", words.join(" ")));
        let args: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let dirty = state.dirty;
        let executed = state.execute(index, &args);
        assert!(
            state.dirty == dirty || executed.position > 0,
            "{words:?} has changed something without logging it"
        );
    }

    /// What the housekeeper does, without its rewrite.
    fn expire(&mut self) {
        let mut state = self.engine.shared().lock_blocking();
        state.freeze_time();
        state.end_overdue_waits();
        for db in 0..DATABASES as usize {
            while !state.expire_some(db, 8) {}
        }
        state.finish_unit();
    }

    /// Begins a rewrite, walks on with it, or ends it.
    fn rewrite_step(&mut self) {
        // Slow enough for most keys to change before the walk comes to them.
        let (choice, n_buckets) = (self.below(8), 1 + self.below(2) as usize);
        let mut state = self.engine.shared().lock_blocking();
        self.base = match self.base.take() {
            None if choice == 0 => state.begin_rewrite().map(|base| (base, false)),
            Some((mut base, false)) if choice < 3 => match state.rewrite_some(n_buckets) {
                Progress::GivenUp => None,
                Progress::More(commands) => {
                    base.write(&commands).expect("the disk takes it");
                    Some((base, false))
                }
                Progress::Last(commands) => {
                    base.write(&commands).expect("the disk takes it");
                    Some((base, true))
                }
            },
            Some((base, true)) if choice == 0 => {
                drop(state);
                base.finish().expect("the disk takes it");
                self.n_rewrites += 1;
                self.engine.shared().lock_blocking().end_rewrite(Ok(()));
                None
            }
            same => same,
        };
    }

    /// Compares with what a second engine finds in the folder.
    fn check(self, seed: u64) {
        let before = keyspace(&self.engine.shared().lock_blocking());
        drop((self.base, self.clients, self.engine));
        let reopened = open(&self.folder, &self.clock);
        let after = keyspace(&reopened.shared().lock_blocking());
        for key in before.keys().chain(after.keys()) {
            let history = &self.history;
            let name = String::from_utf8_lossy(&key.1).into_owned();
            let concerned = history.iter().filter(|line| {
                let is_global = ["exec", "multi", "select", "swapdb", "flush", "move"];
                line.split(' ').any(|word| word == name)
                    || is_global.iter().any(|word| line.contains(word))
            });
            assert_eq!(
                before.get(key),
                after.get(key),
                "seed {seed}: {key:?} before and after a restart, after {:#?}",
                concerned.collect::<Vec<_>>()
            );
        }
    }
}

fn open(folder: &tempfile::TempDir, clock: &SimulatedHost) -> Engine {
    let builder = Engine::builder().databases(DATABASES as usize).fsync(Fsync::No);
    let engine = builder.host(Box::new(clock.clone())).open(folder.path());
    engine.unwrap_or_else(|error| panic!("{error}: {}", error.reason()))
}

type Keyspace = BTreeMap<(usize, Vec<u8>), (Vec<String>, Option<u64>)>;

/// All keys with what they hold, in an order that does not depend on tables, and their expiry.
fn keyspace(state: &State) -> Keyspace {
    let mut all = Keyspace::new();
    for (db, keys) in state.dbs.iter().enumerate() {
        for key in keys.keys() {
            let value = keys.get(key).expect("the key was just listed");
            all.insert((db, key.to_vec()), (contents(value), keys.expires_at(key)));
        }
    }
    all
}

fn contents(value: &Value) -> Vec<String> {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let mut items: Vec<String> = match value {
        Value::Str(string) => vec!["string".into(), text(&string.as_bytes())],
        Value::List(list) => {
            return std::iter::once("list".into())
                .chain(list.iter().map(|item| text(item)))
                .collect();
        }
        Value::Hash(hash) => {
            hash.iter().map(|(field, value)| format!("{}: {}", text(field), text(value))).collect()
        }
        Value::Set(set) => set.iter().map(|member| text(&member)).collect(),
        // In their order, with every bit of their scores.
        Value::ZSet(zset) => {
            return zset
                .iter()
                .map(|(member, score)| format!("{score:?} {}", text(member)))
                .collect();
        }
    };
    items.sort();
    items
}

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("REPLAY_SEEDS").ok().and_then(|n| n.parse().ok()) {
        Some(n) => 0..n,
        None => 0..60,
    }
}

#[test]
fn the_random_commands_include_every_one_that_writes() {
    let words: Vec<&str> = WRITES.split(['\n', '|', ' ']).collect();
    let writes = table::all().filter(|command| command.has(Flags::WRITE));
    let missing: Vec<_> =
        writes.map(|command| command.name).filter(|name| !words.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn a_restart_finds_every_key_as_it_was() {
    for seed in seeds() {
        let mut world = World::new(seed);
        (0..300).for_each(|_| world.step());
        world.check(seed);
    }
}

#[test]
fn a_rewrite_among_commands_keeps_every_key_as_it_is() {
    let mut n_rewrites = 0;
    for seed in seeds() {
        let mut world = World::new(seed);
        for _ in 0..250 {
            world.step();
            world.rewrite_step();
        }
        n_rewrites += world.n_rewrites;
        world.check(seed);
    }
    assert!(n_rewrites > 20, "only {n_rewrites} rewrites came to their end");
}

#[test]
fn a_key_that_expires_while_somebody_is_served_is_logged_in_that_unit() {
    let mut world = World::new(0);
    for (client, command) in [
        (0, "set k precious"),
        (0, "select 1"),
        (0, "rpush k x"),
        (0, "pexpire k 10"),
        (0, "select 2"),
        (1, "select 2"),
        (1, "blpop k 0"),
    ] {
        world.run(client, command);
    }
    world.clock.advance_ms(20);
    world.run(0, "swapdb 1 2");
    // A removal that were still to be logged would now stand at the start of a file, where database 0 is selected.
    let base = world.engine.shared().lock_blocking().begin_rewrite();
    world.base = base.map(|base| (base, false));
    world.run(2, "set other 1");
    world.check(0);
}

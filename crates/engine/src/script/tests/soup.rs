//! Random scripts from fragments that touch every corner: whatever they do, they end with a reply.

use super::{Toy, run};
use crate::script::{Limits, Scripts};

const FRAGMENTS: &[&str] = &[
    "redis.call('echo', X)",
    "redis.pcall('get', X)",
    "redis.pcall('nosuch', X)",
    "redis.error_reply('A b')",
    "redis.status_reply('x')",
    "redis.setresp(3)",
    "redis.sha1hex(X)",
    "redis.log(1, X)",
    "pcall(redis.call, 'lpop', X, X)",
    "pcall(error, X)",
    "error(X, 2)",
    "pcall(cjson.encode, X)",
    "pcall(cjson.decode, X)",
    "pcall(cmsgpack.pack, X, X)",
    "pcall(cmsgpack.unpack, X)",
    "cjson.new()",
    "pcall(cmsgpack.unpack_limit, X, X, X)",
    "pcall(struct.pack, X, X, X)",
    "pcall(struct.unpack, X, X, X)",
    "pcall(struct.size, X)",
    "pcall(bit.tohex, X, X)",
    "pcall(bit.band, X, X)",
    "pcall(string.rep, X, X)",
    "pcall(string.find, X, X)",
    "pcall(string.format, X, X)",
    "pcall(string.gsub, X, X, X)",
    "pcall(string.byte, X, X, X)",
    "pcall(table.concat, X, X)",
    "pcall(table.insert, X, X, X)",
    "pcall(table.sort, X)",
    "pcall(unpack, X, X, X)",
    "pcall(setmetatable, X, X)",
    "pcall(getmetatable, X)",
    "pcall(rawset, X, X, X)",
    "pcall(rawget, X, X)",
    "pcall(next, X, X)",
    "pcall(pairs, X)",
    "pcall(load, X)",
    "pcall(loadstring, X)",
    "xpcall(X, X)",
    "pcall(X, X)",
    "pcall(coroutine.wrap, X)",
    "pcall(coroutine.resume, X, X)",
    "coroutine.create(function() coroutine.yield(X) end)",
    "pcall(math.random, X, X)",
    "pcall(math.randomseed, X)",
    "pcall(tostring, X)",
    "pcall(tonumber, X, X)",
    "pcall(collectgarbage, X)",
    "pcall(__redis__err__handler, X)",
    "pcall(table.foreach, X, X)",
    "pcall(cjson.encode_sparse_array, X, X)",
    "pcall(string.dump, X)",
    "pcall(redis.acl_check_cmd, X)",
    "pcall(redis.set_repl, X)",
    "table.remove({X, X})",
    "({X, ok = X, err = X})",
    "{map = {[X] = X}}",
];

const VALUES: &[&str] = &[
    "nil",
    "true",
    "1",
    "-1",
    "0/0",
    "1/0",
    "2^53",
    "1e308",
    "''",
    "'a'",
    "('%'):rep(9)",
    "'(()'",
    "'[[['",
    "'\\27Lua'",
    "'%d%s%c'",
    "{}",
    "{1,2,{3}}",
    "{a={b={}}}",
    "{[1]=1,[9]=9}",
    "KEYS",
    "ARGV",
    "_G",
    "redis",
    "string",
    "cjson",
    "cjson.null",
    "math.huge",
    "error",
    "pcall",
    "next",
    "function(...) return ... end",
    "function() error({err='x'}) end",
    "function() return redis.call('x') end",
    "coroutine.create(pcall)",
    "'\\221\\255\\255\\255\\255'",
    "'[1,{\"a\":'",
    "'>i16c0s!'",
    "{err='E x'}",
    "{double=1}",
    "{set={1}}",
    "{verbatim_string={}}",
    "loadstring('return X')",
    "setmetatable({}, {__index=error, __newindex=error, __call=error, __tostring=error, __len=error, __lt=error})",
];

/// A generator of scripts, the same in every run.
struct Source(u64);

impl Source {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn filled(&mut self, fragment: &str) -> String {
        let mut parts = fragment.split('X');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let choice = self.below(VALUES.len() + 2);
            text.push_str(match choice.checked_sub(VALUES.len()) {
                None => VALUES[choice],
                Some(0) => "x",
                Some(_) => "y",
            });
            text.push_str(part);
        }
        text
    }

    fn script(&mut self) -> String {
        let mut script = "local x, y, _ = 1, {} ".to_owned();
        for _ in 0..self.below(6) + 1 {
            let fragment = FRAGMENTS[self.below(FRAGMENTS.len())];
            let target = ["x", "y", "_", "_, x", "_, y"][self.below(5)];
            script.push_str(&format!("{target} = {} ", self.filled(fragment)));
        }
        script.push_str("return {x, y}");
        script
    }
}

#[test]
fn random_scripts_end_with_a_reply() {
    let limits = Limits { memory: 8 << 20, instructions: 1000 };
    let mut scripts = Scripts::new(limits);
    let mut source = Source(7);
    for round in 0..20_000 {
        let script = source.script();
        run(&mut scripts, &script, &mut Toy::impatient(100));
        if round % 1000 == 0 {
            scripts.flush();
        }
    }
    assert_eq!(run(&mut scripts, "return 1", &mut Toy::default()), crate::reply::Reply::Int(1));
}

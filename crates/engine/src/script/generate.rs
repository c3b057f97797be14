//! Random Lua programs, for tests and for the fuzzer: each follows from the bytes it is made of.
//!
//! Programs call every library with extreme numbers, long strings, shared and self-referencing tables, callbacks that
//! call back, coroutines, and `load` with readers that misbehave. Names of variables are few, so that values meet.

/// Makes programs out of bytes.
pub(crate) struct Generator<'a> {
    bytes: &'a [u8],
    text: String,
    depth: u32,
}

/// Nesting of expressions and blocks.
const DEPTH_MAX: u32 = 6;
/// A program does not get longer than this.
const LENGTH_MAX: usize = 8 << 10;

const NUMBERS: &[&str] = &[
    "0", "1", "-1", "2", "3", "7", "16", "-0", "0.5", "1e15", "2^31", "2^31-1", "-2^31", "2^31-3",
    "-2^31-1", "2^32", "2^53", "-2^53", "2^63", "-2^63", "1e308", "1/0", "-1/0", "0/0", "7999",
    "8000", "255", "256", "65536", "1e6",
];

const STRINGS: &[&str] = &[
    "''",
    "'a'",
    "'abc'",
    "'\\0'",
    "'%'",
    "'%d'",
    "'%s%q%c'",
    "'(a*(.)%w(%s*))'",
    "'%b()'",
    "'%f[%w]'",
    "'[^%a-z]'",
    "'^a'",
    "'.-b'",
    "'(.*)(.*)(.*)x'",
    "'%1'",
    "('a'):rep(300)",
    "('ab\\0'):rep(100)",
    "('('):rep(40)",
    "('[],'):rep(50)",
    "('a?'):rep(30)..('a'):rep(30)",
    "'[1,[2,{\"a\":null}],1e400]'",
    "'\\221\\255\\255\\255\\255'",
    "'\\147\\1\\2\\163abc'",
    "'>i4i16c0s!8d'",
    "'i32'",
    "'!16xBbhlLTf'",
    "'\\27Lua'",
    "'return 1'",
    "'error(1)'",
    "'x = = 1'",
    "'get'",
    "'set'",
    "'string'",
    "'list'",
    "'zset'",
    "'10'",
    "'-1'",
    "'1e3'",
    "'count'",
    "'collect'",
    "'step'",
    "'n'",
    "'k'",
    "'__index'",
    "'err'",
    "'ok'",
    "'map'",
    "'set'",
    "'double'",
    "'verbatim_string'",
];

/// Calls with holes for values.
const CALLS: &[&str] = &[
    "unpack(T,N,N)",
    "unpack(T)",
    "select(N,V,V)",
    "select('#',V)",
    "next(T,V)",
    "rawget(T,V)",
    "rawset(T,V,V)",
    "rawequal(V,V)",
    "setmetatable(T,M)",
    "getmetatable(V)",
    "tostring(V)",
    "tonumber(V,N)",
    "tonumber(S)",
    "type(V)",
    "pairs(T)",
    "ipairs(T)",
    "loadstring(S,S)",
    "load(R,S)",
    "load(R)",
    "collectgarbage(S,N)",
    "collectgarbage()",
    "gcinfo()",
    "error(V,N)",
    "assert(V,V)",
    "pcall(F,V,V)",
    "xpcall(F,F)",
    "string.byte(S,N,N)",
    "string.char(N,N)",
    "string.dump(F)",
    "string.find(S,S,N)",
    "string.find(S,S,N,true)",
    "string.format(S,V,V)",
    "string.gfind(S,S)()",
    "string.format('%99.99f',N)",
    "string.format('%d %x %g',N,N,N)",
    "string.gmatch(S,S)()",
    "string.gsub(S,S,S)",
    "string.gsub(S,S,F)",
    "string.gsub(S,S,T,N)",
    "string.len(S)",
    "string.lower(S)",
    "string.match(S,S,N)",
    "string.rep(S,N%9999)",
    "string.reverse(S)",
    "string.sub(S,N,N)",
    "table.concat(T,S,N,N)",
    "table.concat(T)",
    "table.foreach(T,F)",
    "table.foreachi(T,F)",
    "table.getn(T)",
    "table.insert(T,N,V)",
    "table.insert(T,V)",
    "table.maxn(T)",
    "table.remove(T,N)",
    "table.remove(T)",
    "table.sort(T)",
    "table.sort(T,F)",
    "math.floor(N)",
    "math.fmod(N,N)",
    "math.random(N,N)",
    "math.randomseed(N)",
    "math.ldexp(N,N)",
    "math.max(N,N)",
    "coroutine.create(F)",
    "coroutine.resume(C,V,V)",
    "coroutine.wrap(F)(V)",
    "coroutine.yield(V)",
    "coroutine.status(C)",
    "coroutine.running()",
    "cjson.encode(V)",
    "cjson.decode(S)",
    "cjson.new()",
    "cjson.encode_max_depth(N)",
    "cjson.decode_max_depth(N)",
    "cjson.encode_sparse_array(true,N,N)",
    "cjson.encode_number_precision(N)",
    "cjson.encode_invalid_numbers(S)",
    "cjson.encode_keep_buffer(V)",
    "cmsgpack.pack(V,V)",
    "cmsgpack.unpack(S)",
    "cmsgpack.unpack(cmsgpack.pack(V))",
    "cmsgpack.unpack_one(S,N)",
    "cmsgpack.unpack_limit(S,N,N)",
    "struct.pack(S,V,V,V)",
    "struct.unpack(S,S,N)",
    "struct.size(S)",
    "bit.tohex(N,N)",
    "bit.band(N,N)",
    "bit.lshift(N,N)",
    "bit.rol(N,N)",
    "bit.bswap(N)",
    "redis.call(S,S,V)",
    "redis.pcall(S,S,V)",
    "redis.call('rpush','list',unpack(T))",
    "redis.call('zadd','zset',N,V)",
    "redis.call('hset','hash',V,V)",
    "redis.call('lrange','list',N,N)",
    "redis.pcall('mget','string','string',V)",
    "redis.error_reply(V)",
    "redis.status_reply(V)",
    "redis.sha1hex(V)",
    "redis.log(N,V,V)",
    "redis.setresp(N)",
    "redis.set_repl(N)",
    "redis.acl_check_cmd(S,V)",
    "redis.breakpoint()",
    "redis.debug(V)",
    "__redis__err__handler(V)",
];

const METATABLES: &[&str] = &[
    "{__index=F}",
    "{__index=t}",
    "{__newindex=F}",
    "{__call=F}",
    "{__tostring=F}",
    "{__concat=F,__eq=F,__lt=F,__le=F,__len=F}",
    "{__mode='kv'}",
    "{__metatable=V}",
    "{__gc=F}",
    "nil",
    "m",
];

impl<'a> Generator<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Generator<'a> {
        Generator { bytes, text: String::new(), depth: 0 }
    }

    /// The program.
    pub(crate) fn program(mut self) -> String {
        self.text.push_str("local t,m,s,n,x,y={},{},'',1,nil,{} local f=function(...) return ... end local c=coroutine.create(f)\n");
        while !self.bytes.is_empty() && self.text.len() < LENGTH_MAX {
            self.statement();
            self.text.push('\n');
        }
        self.text.push_str("return {x,y,t}");
        self.text
    }

    /// The next choice among `count`; 0 when the bytes are used up.
    fn pick(&mut self, count: usize) -> usize {
        let Some((&byte, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        usize::from(byte) % count
    }

    fn choose(&mut self, words: &[&'static str]) -> &'static str {
        words[self.pick(words.len())]
    }

    fn statement(&mut self) {
        let full = self.depth >= DEPTH_MAX || self.text.len() > LENGTH_MAX;
        self.depth += 1;
        match if full { 0 } else { self.pick(14) } {
            0..=3 => {
                let target = self.choose(&[
                    "x",
                    "y",
                    "n",
                    "s",
                    "c",
                    "f",
                    "t[1]",
                    "t[#t+1]",
                    "t.k",
                    "t[n]",
                    "t[x]",
                    "y[1]",
                    "m.__index",
                ]);
                self.protected(target);
            }
            4 => {
                self.text.push_str("do local _ = ");
                self.call();
                self.text.push_str(" end");
            }
            5 => self.block("for i=1,", true, " do ", " end"),
            6 => self.block("if ", false, " then ", " end"),
            7 => self.block("for k,v in pairs(", false, " or {}) do ", " break end"),
            8 => self.text.push_str("t[#t+1]=t y.t=t"),
            9 => self.text.push_str("for i=1,7000 do t[i]=i end"),
            10 => self.text.push_str("s=s..tostring(x) s=(s..s):sub(1,5000)"),
            11 => {
                self.text.push_str("f=");
                self.function();
            }
            12 => {
                self.text.push_str("c=coroutine.create(");
                self.function();
                self.text.push(')');
            }
            _ => self.block("repeat n=(tonumber(n) or 0)+1 ", false, " until n>20 or ", ""),
        }
        self.depth -= 1;
    }

    /// A statement that keeps what the call gives, or its error.
    fn protected(&mut self, target: &str) {
        self.text.push_str("do local ok,v=pcall(function() return ");
        self.call();
        self.text.push_str(&format!(" end) if v~=nil then {target}=v end end"));
    }

    fn block(&mut self, head: &str, counted: bool, middle: &str, tail: &str) {
        if head.starts_with("repeat") {
            self.text.push_str(head);
            self.statement();
            self.text.push_str(middle);
            self.value();
        } else {
            self.text.push_str(head);
            if counted {
                self.text.push('9')
            } else {
                self.value()
            }
            self.text.push_str(middle);
            self.statement();
        }
        self.text.push_str(tail);
    }

    fn call(&mut self) {
        let template = self.choose(CALLS);
        self.fill(template);
    }

    /// Writes `template` with its holes filled: V any value, N number, S string, T table, F function, C coroutine,
    /// R reader for `load`, M metatable.
    fn fill(&mut self, template: &str) {
        let letters = template.as_bytes();
        for (at, &letter) in letters.iter().enumerate() {
            let alone = |at: Option<usize>| {
                at.and_then(|at| letters.get(at))
                    .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
            };
            if !(alone(at.checked_sub(1)) && alone(Some(at + 1))) {
                self.text.push(char::from(letter));
                continue;
            }
            match letter {
                b'V' => self.value(),
                b'N' => self.number(),
                b'S' => self.string(),
                b'T' => self.table(),
                b'F' => self.function(),
                b'C' => self.text.push('c'),
                b'R' => self.reader(),
                b'M' => {
                    let metatable = self.choose(METATABLES);
                    self.nested(metatable);
                }
                _ => self.text.push(char::from(letter)),
            }
        }
    }

    fn nested(&mut self, template: &str) {
        if self.depth >= DEPTH_MAX {
            return self.text.push_str("nil");
        }
        self.depth += 1;
        self.fill(template);
        self.depth -= 1;
    }

    fn value(&mut self) {
        match self.pick(12) {
            0 => self.text.push_str("nil"),
            1 => self.text.push_str("true"),
            2..=3 => self.number(),
            4..=5 => self.string(),
            6 => self.table(),
            7 => self.function(),
            8 if self.depth < DEPTH_MAX => {
                self.depth += 1;
                self.call();
                self.depth -= 1;
            }
            _ => {
                let name = self.choose(&[
                    "x",
                    "y",
                    "t",
                    "c",
                    "f",
                    "_G",
                    "redis",
                    "string",
                    "KEYS",
                    "ARGV[1]",
                    "cjson.null",
                    "math.huge",
                ]);
                self.text.push_str(name);
            }
        }
    }

    fn number(&mut self) {
        let number = if self.pick(5) == 0 { "(tonumber(n) or 0)" } else { self.choose(NUMBERS) };
        self.text.push_str(number);
    }

    fn string(&mut self) {
        let string = if self.pick(5) == 0 { "tostring(s)" } else { self.choose(STRINGS) };
        self.text.push_str(string);
    }

    fn table(&mut self) {
        match self.choose(&[
            "t",
            "y",
            "{}",
            "{V,V,V}",
            "{k=V,[N]=V}",
            "{t,t,t}",
            "{[2147483646]=1}",
            "{err=V}",
            "{ok=S}",
            "{map=T}",
            "setmetatable({V},M)",
            "(function(t) for k=1,26 do t[5*2^k]=V end t[5]=1 return t end)({1,2,3,4})",
        ]) {
            plain @ ("t" | "y" | "{}") => {
                self.text.push_str(&format!("(type({plain})=='table' and {plain} or {{}})"))
            }
            template => self.nested_table(template),
        }
    }

    fn nested_table(&mut self, template: &str) {
        if self.depth >= DEPTH_MAX {
            self.text.push_str("{}")
        } else {
            self.nested(&template.replace("[N]", "[N or 1]"))
        }
    }

    fn function(&mut self) {
        match self.pick(6) {
            0 => self.text.push('f'),
            1 => {
                let name = self.choose(&[
                    "error",
                    "pcall",
                    "tostring",
                    "redis.call",
                    "cjson.encode",
                    "coroutine.yield",
                    "unpack",
                    "string.rep",
                    "next",
                    "collectgarbage",
                    "rawequal",
                    "redis.debug",
                    "table.foreach",
                ]);
                self.text.push_str(name);
            }
            _ if self.depth >= DEPTH_MAX => self.text.push_str("function(...) return ... end"),
            _ => {
                self.text.push_str("function(a,b,...) x=a or x ");
                self.statement();
                self.text.push_str(" return ");
                self.value();
                self.text.push_str(" end");
            }
        }
    }

    /// A reader that gives parts of a program, collects garbage in between, and sometimes gives something else.
    fn reader(&mut self) {
        self.text
            .push_str("(function() local i=0 return function() i=i+1 if i>4 then return nil end ");
        let disturbance = self.choose(&[
            "",
            "collectgarbage()",
            "collectgarbage() for j=1,200 do y[j]=('%06d'):format(j) end",
            "error(i)",
            "load(function() return nil end)",
            "redis.call('ping')",
        ]);
        self.text.push_str(disturbance);
        self.text.push_str(" return ");
        let part = self.choose(&[
            "'return 1 '",
            "'x = '",
            "''",
            "'local a = function() '",
            "('a'):rep(i)",
            "'\\27Lua'",
            "i",
            "{}",
            "'error(1) '",
            "'--[==['",
        ]);
        self.text.push_str(part);
        self.text.push_str(" end end)()");
    }
}

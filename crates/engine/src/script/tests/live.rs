//! Comparison with a redis-server of our own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use keyrack_testkit::RedisServer;

use super::corpus::cases;
use super::toy::without_name;
use super::{ToyEngine, render};
use crate::script::{Limits, Scripts};

/// Compares the recorded answers with those of a server, and writes the corpus with the server's answers to the file
/// named by `CORPUS_OUT` if that is set.
#[test]
fn a_live_server_still_gives_the_recorded_answers() {
    let mut server = Server::start();
    let mut recorded = String::new();
    let mut wrong = Vec::new();
    for case in cases() {
        server.ask(&[b"FLUSHALL"]);
        server.ask(&[b"SCRIPT", b"FLUSH"]);
        let answer =
            server.ask(&[b"EVAL", case.script.as_bytes(), b"2", b"k1", b"k2", b"a1", b"a2", b"a3"]);
        let code = case.script.replace('\n', "\n> ");
        recorded.push_str(&format!("> {code}\n= {answer}\n"));
        if answer != case.answer {
            wrong.push(format!("{}\n  recorded {}\n  live     {answer}", case.script, case.answer));
        }
    }
    if let Ok(path) = std::env::var("CORPUS_OUT") {
        std::fs::write(path, recorded).expect("the corpus can be written");
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// How many random arguments each script below gets; `LIVE_ROUNDS` overrides it.
const ROUNDS: usize = 2000;

/// Scripts that do one thing to their first arguments, and what those are made of.
const RANDOM: [(&str, Mix); 9] = [
    ("local ok, v = pcall(cjson.decode, ARGV[1]) if not ok then return v end return {pcall(cjson.encode, v)}", Mix::Json),
    ("return cjson.encode({ARGV[1], [ARGV[2]] = ARGV[3]})", Mix::Bytes),
    ("local n = tonumber(ARGV[1]) return {pcall(cjson.encode, {n}), redis.call('echo', n), tostring(n), n}", Mix::Number),
    ("local n = tonumber(ARGV[1]) local t = {n} t[ARGV[2]] = n return {cmsgpack.pack(n), cmsgpack.pack(t)}", Mix::Number),
    ("local r = {pcall(cmsgpack.unpack, ARGV[1])} for i = 1, 20 do
        r[i] = type(r[i]) == 'table' and select(2, pcall(cjson.encode, r[i])) or tostring(r[i]) end return r", Mix::Packed),
    ("return {pcall(struct.unpack, ARGV[1], ARGV[2])}", Mix::Format),
    ("return {pcall(struct.pack, ARGV[1], tonumber(ARGV[3]), ARGV[2], tonumber(ARGV[3]), ARGV[2])}", Mix::Format),
    ("return {pcall(struct.size, ARGV[1])}", Mix::Format),
    ("local a, b = tonumber(ARGV[1]), tonumber(ARGV[2]) return {bit.tobit(a), bit.band(a, b), bit.bxor(a, b), bit.lshift(a, b),
        bit.rshift(a, b), bit.arshift(a, b), bit.rol(a, b), bit.ror(a, b), bit.tohex(a, b), bit.bswap(a)}", Mix::Number),
];

/// What random arguments are made of.
#[derive(Clone, Copy)]
enum Mix {
    Json,
    Bytes,
    Number,
    Packed,
    Format,
}

/// A generator of arguments, the same in every run.
struct Source(u64);

impl Source {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn argument(&mut self, mix: Mix, position: usize) -> Vec<u8> {
        const JSON: [&str; 34] = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"b\"",
            "\"",
            "1",
            "-",
            "0",
            ".5",
            "e",
            "E+1",
            "true",
            "false",
            "null",
            " ",
            "\n",
            "nan",
            "inf",
            "x",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\ud800",
            "\\n",
            "\\/",
            "\u{0}",
            "[1,",
            "{\"k\":",
            "0x1F",
            "1e5",
            "é",
        ];
        const FORMAT: [&str; 22] = [
            "b", "B", "h", "H", "l", "L", "T", "i", "I", "i3", "I7", "i16", "f", "d", "s", "c2",
            "c0", "x", "!", "!4", ">", "<",
        ];
        match (mix, position) {
            (Mix::Json, _) => self.words(&JSON, 12),
            (Mix::Format, 0) => self.words(&FORMAT, 6),
            (Mix::Format, 2) | (Mix::Number, _) => self.number(),
            (Mix::Packed, _) => {
                let length = self.below(12);
                (0..length).map(|_| if self.below(2) == 0 { self.below(256) } else { 0x80 + self.below(96) } as u8).collect()
            }
            (Mix::Bytes | Mix::Format, _) => {
                (0..self.below(24)).map(|_| self.below(256) as u8).collect()
            }
        }
    }

    fn words(&mut self, words: &[&str], most: usize) -> Vec<u8> {
        (0..self.below(most) + 1).map(|_| *self.pick(words)).collect::<String>().into_bytes()
    }

    fn number(&mut self) -> Vec<u8> {
        let digits = self.below(1 << 30) as f64;
        let value = match self.below(6) {
            0 => digits,
            1 => -digits,
            2 => digits / 1024.0,
            3 => digits * 10f64.powi(self.below(40) as i32 - 30),
            4 => (digits * 1e9).floor(),
            _ => (self.below(512) as f64) - 256.0,
        };
        format!("{value:e}").into_bytes()
    }
}

#[test]
fn random_library_calls_agree_with_a_live_server() {
    let rounds =
        std::env::var("LIVE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let mut server = Server::start();
    let mut scripts = Scripts::new(Limits::default());
    let mut source = Source(1);
    let mut wrong = Vec::new();
    for (script, mix) in RANDOM {
        let sha = scripts.load(script.as_bytes()).expect("the script compiles");
        for _ in 0..rounds {
            let args: Vec<Vec<u8>> =
                (0..3).map(|position| source.argument(mix, position)).collect();
            let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            let ours = render(&scripts.run(
                scripts.find(&sha).expect("it is loaded"),
                &sha,
                &[],
                &args,
                &mut ToyEngine::default(),
            ));
            let theirs = server.ask(&[b"EVAL", script.as_bytes(), b"0", args[0], args[1], args[2]]);
            if ours != theirs {
                let shown: Vec<String> =
                    args.iter().map(|arg| arg.escape_ascii().to_string()).collect();
                wrong.push(format!("{script}\n  with {shown:?}\n  live {theirs}\n  ours {ours}"));
            }
        }
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} answers differ:\n{shown}", wrong.len());
}

/// A server, with a connection that speaks just enough RESP2.
struct Server {
    connection: BufReader<TcpStream>,
    // Runs for as long as somebody may ask it.
    _process: RedisServer,
}

impl Server {
    fn start() -> Server {
        let process = RedisServer::start();
        let stream = TcpStream::connect(process.addr()).expect("the server accepts connections");
        Server { connection: BufReader::new(stream), _process: process }
    }

    fn ask(&mut self, words: &[&[u8]]) -> String {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.connection.get_mut().write_all(&request).expect("the server reads");
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = Vec::new();
        self.connection.read_until(b'\n', &mut line).expect("the server answers");
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        let Some((kind, rest)) = line.split_at_checked(1) else {
            panic!("the server closed the connection")
        };
        match (kind, rest) {
            ("$" | "*", "-1") => "nil".to_owned(),
            ("$", length) => {
                let length: usize = length.parse().expect("a length");
                let mut bytes = vec![0; length + 2];
                self.connection.read_exact(&mut bytes).expect("a whole string");
                format!("\"{}\"", bytes[..length].escape_ascii())
            }
            ("*", count) => {
                let count: usize = count.parse().expect("a count");
                let items: Vec<String> = (0..count).map(|_| self.answer()).collect();
                format!("[{}]", items.join(" "))
            }
            ("-", text) => format!("-{}", without_name(text)),
            _ => line,
        }
    }
}

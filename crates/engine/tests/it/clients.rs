//! Real clients against the engine: the tools of Redis, and the libraries that programs use.

use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use keyrack_testkit::clients::{node, python};

use crate::server::Server;

/// Runs a program to its end and returns what it printed; fails the test with all of it if the program fails.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program is installed");
    succeeded(command, output)
}

#[track_caller]
fn succeeded(command: &Command, output: Output) -> String {
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// Runs a script of `tests/clients` against a fresh engine, with the port and `args`.
#[track_caller]
fn run_script(mut interpreter: Command, script: &str, args: &[&str]) {
    let server = Server::in_memory();
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "clients", script].iter().collect();
    run(interpreter.arg(path).arg(server.address().port().to_string()).args(args));
}

#[test]
fn redis_py_works_with_both_protocols() {
    run_script(python(), "redis_py.py", &["2"]);
    run_script(python(), "redis_py.py", &["3"]);
}

#[test]
fn redis_py_works_with_asyncio() {
    run_script(python(), "redis_py_asyncio.py", &["2"]);
    run_script(python(), "redis_py_asyncio.py", &["3"]);
}

#[test]
fn ioredis_works() {
    run_script(node(), "ioredis.mjs", &[]);
}

#[test]
fn node_redis_works_with_both_protocols() {
    run_script(node(), "node_redis.mjs", &["2"]);
    run_script(node(), "node_redis.mjs", &["3"]);
}

fn cli(server: &Server, args: &[&str]) -> Command {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &server.address().port().to_string()]).args(args);
    command
}

#[test]
fn redis_cli_runs_commands_in_both_protocols() {
    let server = Server::in_memory();
    assert_eq!(run(&mut cli(&server, &["SET", "key", "value"])), "OK\n");
    assert_eq!(run(&mut cli(&server, &["GET", "key"])), "value\n");
    run(&mut cli(&server, &["HSET", "hash", "field", "1"]));
    assert_eq!(
        run(&mut cli(&server, &["--no-raw", "HGETALL", "hash"])),
        "1) \"field\"\n2) \"1\"\n"
    );
    let answer = run(&mut cli(&server, &["-3", "--no-raw", "HGETALL", "hash"]));
    assert_eq!(answer, "1# \"field\" => \"1\"\n");
    let answer = run(&mut cli(&server, &["-n", "3", "--no-raw", "GET", "key"]));
    assert_eq!(answer, "(nil)\n");
    assert_eq!(run(&mut cli(&server, &["--eval", "/dev/null"])), "\n");
}

#[test]
fn redis_cli_looks_at_the_keyspace() {
    let server = Server::in_memory();
    for n in 0..25 {
        run(&mut cli(&server, &["SET", &format!("key{n:02}"), "value"]));
    }
    run(&mut cli(&server, &["RPUSH", "list", "a", "b", "c"]));
    let found = run(&mut cli(&server, &["--scan", "--pattern", "key*"]));
    let mut keys: Vec<&str> = found.lines().collect();
    keys.sort_unstable();
    assert_eq!((keys.len(), keys[0], keys[24]), (25, "key00", "key24"));
    let biggest = run(&mut cli(&server, &["--bigkeys"]));
    assert!(biggest.contains("Biggest   list found '\"list\"' has 3 items"), "{biggest}");
    assert!(biggest.contains("25 strings with 125 bytes"), "{biggest}");
    let biggest = run(&mut cli(&server, &["--memkeys"]));
    assert!(biggest.contains("26 keys in the keyspace"), "{biggest}");
}

#[test]
fn redis_cli_answers_what_is_typed() {
    let server = Server::in_memory();
    let typed = "SET key value\nGET key\nSUBSCRIBE\nHELLO 3\nCOMMAND DOCS get\nSELECT 5\nDBSIZE\n";
    let answers = pipe_into(&mut cli(&server, &[]), typed.as_bytes());
    assert!(answers.starts_with("OK\nvalue\nERR wrong number of arguments"), "{answers}");
    assert!(answers.contains("summary") && answers.ends_with("OK\n0\n"), "{answers}");
}

#[test]
fn redis_cli_helps_at_its_prompt_with_what_the_engine_says() {
    let server = Server::in_memory();
    let mut command = Command::new("script");
    // Only at a terminal does it ask for the documentation of all commands.
    let line = format!("redis-cli -p {}", server.address().port());
    command.env("TERM", "dumb").args(["-qec", &line, "/dev/null"]);
    // `quit` ends it; the end of its input would end it before it has answered.
    let shown = tell(&mut command, b"SET key value\nhelp lpush\nquit\n");
    for part in ["OK", "LPUSH", "since:", "1.0.0"] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
}

#[test]
fn redis_cli_loads_a_hundred_thousand_commands_through_a_pipe() {
    const N: usize = 100_000;
    let server = Server::in_memory();
    let commands: String = (0..N)
        .map(|n| {
            let key = format!("key{n}");
            format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$1\r\nv\r\n", key.len())
        })
        .collect();
    let said = pipe_into(&mut cli(&server, &["--pipe"]), commands.as_bytes());
    assert!(said.contains(&format!("errors: 0, replies: {N}")), "{said}");
    assert_eq!(run(&mut cli(&server, &["DBSIZE"])), format!("{N}\n"));
}

/// What a program says to `input`, the end of which it sees.
#[track_caller]
fn pipe_into(command: &mut Command, input: &[u8]) -> String {
    let (child, stdin) = feed(command, input);
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    succeeded(command, output)
}

/// What a program says to `input`, which does not end before the program does.
#[track_caller]
fn tell(command: &mut Command, input: &[u8]) -> String {
    let (child, _stdin) = feed(command, input);
    let output = child.wait_with_output().expect("the program ends");
    succeeded(command, output)
}

fn feed(command: &mut Command, input: &[u8]) -> (std::process::Child, std::process::ChildStdin) {
    use std::io::Write;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is installed");
    let mut stdin = child.stdin.take().expect("a pipe was asked for");
    stdin.write_all(input).expect("the program reads");
    (child, stdin)
}

#[test]
fn redis_benchmark_runs_its_tests_without_an_error() {
    /// All of its default tests.
    const TESTS: &str = "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,\
        lrange_100,lrange_300,lrange_500,lrange_600,mset";
    let server = Server::in_memory();
    let port = server.address().port().to_string();
    for extra in [&["-P", "1"][..], &["-P", "16", "-r", "100", "-3"]] {
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", &port, "-n", "2000", "-c", "20", "--csv", "-t", TESTS]).args(extra);
        let table = run(&mut command);
        // A heading and a line for each test; LPUSH runs once more, to have something to range over.
        let n_lines = TESTS.split(',').count() + 2;
        assert_eq!(table.lines().count(), n_lines, "{table}");
        assert!(!table.to_lowercase().contains("error"), "{table}");
    }
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &port, "-n", "2000", "-q", "EVAL", "return redis.call('INCR', 'n')", "0"]);
    assert!(run(&mut command).contains("requests per second"));
}

//! The server: starting, stopping, and what survives.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    time::Duration,
};

use keyrack_testkit::{RedisServer, wait_until};
use tempfile::TempDir;

use crate::program::{Run, Serve, keyrack};

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

#[test]
fn starts_answers_and_stops_on_sigterm() {
    let dir = folder();
    let mut serve = Serve::start(dir.path());
    assert!(serve.words().contains("store  embedded:./keyrack-data (nothing in it yet)"));
    let (head, body) = serve.get("/readyz");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body, "ok\n");
    let pong: String = redis::cmd("PING").query(&mut serve.redis()).expect("an answer");
    assert_eq!(pong, "PONG");

    assert_eq!(serve.process.terminate().code(), Some(0));
    let words = serve.words();
    assert!(words.ends_with("SIGTERM: stopping\nstopped\n"), "{words}");
    let restarted = Serve::start(dir.path());
    assert!(restarted.get("/livez").0.starts_with("HTTP/1.1 200 "));
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    let dir = folder();
    // A worker of the hot queue would write too.
    let mut serve = Serve::start_with(dir.path(), "--hot off", &[]);
    let mut redis = serve.redis();
    for i in 0..200 {
        redis::cmd("SET").arg(format!("k{i}")).arg(i).exec(&mut redis).expect("acknowledged");
    }
    serve.process.kill();

    let serve = Serve::start(dir.path());
    // Each SET, and what the first start itself has written.
    let words = serve.words();
    let replayed = words.split("(replayed ").nth(1).and_then(|rest| rest.split(' ').next());
    let replayed: u64 = replayed.expect("a count").parse().expect("a number");
    assert!((200..250).contains(&replayed), "{words}");
    let mut redis = serve.redis();
    for i in 0..200 {
        let value: i32 = redis::cmd("GET").arg(format!("k{i}")).query(&mut redis).expect("kept");
        assert_eq!(value, i);
    }
}

#[test]
fn torn_write_is_cut_and_told() {
    let dir = folder();
    let mut serve = Serve::start(dir.path());
    redis::cmd("SET").arg("k").arg(1).exec(&mut serve.redis()).expect("acknowledged");
    serve.process.kill();
    let log = dir.path().join("keyrack-data/appendonlydir/appendonly.aof.1.incr.aof");
    let mut file = fs::File::options().append(true).open(log).expect("the log");
    file.write_all(b"*3\r\n$3\r\nSET\r\n$1").expect("half a command");

    let serve = Serve::start(dir.path());
    assert!(
        serve.words().contains("removed an incomplete write of 15 bytes from "),
        "{}",
        serve.words()
    );
    let value: i32 = redis::cmd("GET").arg("k").query(&mut serve.redis()).expect("kept");
    assert_eq!(value, 1);
}

#[test]
fn request_under_way_is_answered_before_the_end() {
    let dir = folder();
    let mut serve = Serve::start(dir.path());
    let mut stream = TcpStream::connect(serve.http()).expect("the HTTP port answers");
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n").expect("half a request");
    // A request of another connection comes after: the server has certainly accepted ours.
    serve.get("/livez");
    let pid = serve.process.id().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.expect("kill runs").success());
    wait_until("the server to stop", || serve.words().contains("SIGTERM: stopping"));
    stream.write_all(b"\r\n").expect("the other half");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    wait_until("the server to end", || serve.process.exit_status().is_some());
    assert_eq!(serve.process.exit_status().and_then(|status| status.code()), Some(0));
}

#[test]
fn second_signal_ends_it_at_once() {
    let dir = folder();
    let mut serve = Serve::start(dir.path());
    let mut stream = TcpStream::connect(serve.http()).expect("the HTTP port answers");
    stream.write_all(b"GET /livez HTTP/1.1\r\n").expect("a request that never ends");
    serve.get("/livez");
    interrupt_twice(&mut serve);
}

#[test]
fn second_signal_ends_it_though_a_script_never_does() {
    let dir = folder();
    let mut serve = Serve::start(dir.path());
    let mut ping = serve.redis();
    let mut script = TcpStream::connect(serve.resp()).expect("the RESP port answers");
    script.write_all(b"EVAL \"while true do end\" 0\r\n").expect("a script that never ends");
    ping.set_read_timeout(Some(Duration::from_millis(100))).expect("a time limit");
    wait_until("the script to hold up others", || redis::cmd("PING").exec(&mut ping).is_err());
    interrupt_twice(&mut serve);
}

/// Sends two signals, the second when the first was heard, and expects an end at once.
#[track_caller]
fn interrupt_twice(serve: &mut Serve) {
    let pid = serve.process.id().to_string();
    let signal = || {
        let sent = std::process::Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.expect("kill runs").success());
    };
    signal();
    wait_until("the server to stop", || serve.words().contains("SIGINT: stopping"));
    signal();
    wait_until("the server to end", || serve.process.exit_status().is_some());
    let status = serve.process.exit_status().expect("it has ended");
    assert_eq!((status.code(), status.signal()), (Some(130), None));
}

#[test]
fn client_can_send_shutdown() {
    let dir = folder();
    let mut serve = Serve::start(dir.path());
    // It hangs up without an answer.
    let _ = redis::cmd("SHUTDOWN").exec(&mut serve.redis());
    wait_until("the server to end", || serve.process.exit_status().is_some());
    assert_eq!(serve.process.exit_status().and_then(|status| status.code()), Some(0));
    assert!(serve.words().contains("SHUTDOWN from a client: stopping"));
}

#[test]
fn without_a_command_it_serves() {
    let dir = folder();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let mut command = keyrack(dir.path());
    let run = Run::of({
        command.env("KEYRACK_HTTP", &address);
        command
    });
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(dir.path().join("keyrack-data").is_dir());
}

#[test]
fn port_in_use_is_named_with_how_to_choose_another() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    let ports = [("http", "resp"), ("resp", "http")];
    for (port, other) in ports {
        let run = Run::line(&format!("serve --{port} {address} --{other} 127.0.0.1:0"));
        assert_eq!(run.code, Some(1), "{run:?}");
        let (error, hint) = run.failure();
        let expected = format!("port {} is in use by another program", address.port());
        assert!(error.contains(&expected), "{error}");
        let variable = format!("KEYRACK_{}", port.to_uppercase());
        let hint = hint.expect("a hint");
        assert!(hint.contains(&format!("--{port} ")) && hint.contains(&variable), "{hint}");
    }
}

#[test]
fn other_machines_are_kept_out_without_a_password() {
    let run = Run::line("serve --http 0.0.0.0:0");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.failure().0.contains("refusing to open the http port on \"0.0.0.0:0\""));
    assert!(run.failure().1.is_some_and(|hint| hint.contains("KEYRACK_AUTH")), "{run:?}");
    let run = Run::line("serve --http 127.0.0.1:0 --resp 0.0.0.0:0");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.failure().1.is_some_and(|hint| hint.contains("KEYRACK_RESP_PASSWORD")), "{run:?}");
}

#[test]
fn address_that_is_none_is_refused() {
    for address in ["nonsense", "127.0.0.1", "127.0.0.1:99999"] {
        let run = Run::line(&format!("serve --http {address}"));
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.failure().0.contains(&format!("\"{address}\" is no address")), "{run:?}");
    }
}

#[test]
fn redis_clients_need_the_password_that_was_set() {
    let dir = folder();
    let env = [("KEYRACK_RESP_PASSWORD", "hush")];
    let serve = Serve::start_with(dir.path(), "--resp 0.0.0.0:0", &env);
    let port = serve.resp().port();
    let connect = |login: &str| {
        let client = redis::Client::open(format!("redis://{login}127.0.0.1:{port}"));
        client.and_then(|client| redis::cmd("PING").exec(&mut client.get_connection()?))
    };
    assert!(connect("").is_err());
    assert!(connect(":wrong@").is_err());
    connect(":hush@").expect("the right password");
    assert!(serve.get("/readyz").0.starts_with("HTTP/1.1 200 "), "keyrack itself needs none");
    assert!(!serve.words().contains("hush"));
}

#[test]
fn resp_port_can_be_off() {
    let dir = folder();
    let run = Serve::start_with(dir.path(), "--data x --resp off", &[]);
    assert!(!run.words().contains("resp "), "{}", run.words());
}

#[test]
fn server_store_is_served_and_its_outage_told() {
    let dir = folder();
    let mut server = RedisServer::start();
    let serve = Serve::start_with(dir.path(), &format!("--store {}", server.url()), &[]);
    assert!(serve.words().contains("resp   not opened"), "{}", serve.words());
    assert!(serve.get("/readyz").0.starts_with("HTTP/1.1 200 "));

    server.kill();
    let mut last = (String::new(), String::new());
    wait_until("the outage to be noticed", || {
        last = serve.get("/readyz");
        last.0.starts_with("HTTP/1.1 503 ")
    });
    assert!(last.0.to_lowercase().contains("content-type: application/problem+json"), "{last:?}");
    assert!(last.0.to_lowercase().contains("retry-after: "), "{last:?}");
    assert!(last.1.contains("\"type\":\"store_unavailable\""), "{last:?}");
    assert!(serve.get("/livez").0.starts_with("HTTP/1.1 200 "));
    assert!(serve.get("/").1.contains("not ready"));
    assert!(serve.get("/metrics").1.contains("keyrack_store_up 0\n"));

    server.restart();
    wait_until("the return to be noticed", || serve.get("/readyz").0.starts_with("HTTP/1.1 200 "));
}

#[test]
fn jobs_of_a_worker_that_fell_silent_go_back_without_any_worker_of_ours() {
    let dir = folder();
    let serve = Serve::start(dir.path());
    let body = |path: &str, body: &str| serve.post(path, body).1;
    body("/api/1/queues/q/jobs", r#"{"jid": "silent"}"#);
    body("/api/1/queues/q/jobs", r#"{"jid": "late", "delay": 1}"#);
    let claimed = body("/api/1/queues/q/claim", r#"{"worker": "w", "max": 1, "lock_s": 1}"#);
    assert!(claimed.contains("\"silent\""), "{claimed}");
    let status = |jid: &str| {
        let job: serde_json::Value =
            serde_json::from_str(&serve.get(&format!("/api/1/jobs/{jid}")).1).expect("JSON");
        job["status"].as_str().expect("a status").to_owned()
    };
    wait_until("the job to go back", || status("silent") == "queued");
    wait_until("the delayed job to come in", || status("late") == "queued");
}

#[test]
fn timings_that_are_none_are_refused() {
    let run = Run::line("serve --timings slow");
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.failure().0.contains("there are no timings \"slow\""), "{run:?}");
}

/// Lets this process open as many files as the system allows, for the clients of a test.
fn open_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("files for the clients");
}

#[test]
fn half_sent_requests_stop_neither_health_checks_nor_redis_clients() {
    open_many_files();
    let dir = folder();
    let serve = Serve::start_with_files(dir.path(), 1024);
    let mut half_sent = Vec::new();
    for _ in 0..1_015 {
        let mut stream = TcpStream::connect(serve.http()).expect("the HTTP port answers");
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n").expect("sent");
        half_sent.push(stream);
    }
    for path in ["/livez", "/readyz", "/api/1/queues"] {
        assert!(serve.get(path).0.starts_with("HTTP/1.1 200 "), "{path}");
    }
    let mut redis = serve.redis();
    redis::cmd("SET").arg("k").arg(1).exec(&mut redis).expect("acknowledged");
    redis::cmd("BGREWRITEAOF").exec(&mut redis).expect("files for the log");
    drop(half_sent);
    assert!(serve.get("/livez").0.starts_with("HTTP/1.1 200 "));
}

#[test]
fn idle_redis_clients_leave_files_for_health_checks_and_the_log() {
    open_many_files();
    let dir = folder();
    let serve = Serve::start_with_files(dir.path(), 1024);
    let mut redis = serve.redis();
    let mut idle = Vec::new();
    for _ in 0..1_015 {
        let mut stream = TcpStream::connect(serve.resp()).expect("the RESP port answers");
        // A client that was refused may be gone already.
        let _ = stream.write_all(b"*2\r\n$4\r\nECHO\r\n");
        idle.push(stream);
    }
    let mut refusal = String::new();
    let _ = idle.last_mut().expect("a client").read_to_string(&mut refusal);
    assert_eq!(refusal, "-ERR max number of clients reached\r\n");
    for path in ["/livez", "/readyz", "/api/1/queues"] {
        assert!(serve.get(path).0.starts_with("HTTP/1.1 200 "), "{path}");
    }
    redis::cmd("SET").arg("k").arg(1).exec(&mut redis).expect("acknowledged");
    redis::cmd("BGREWRITEAOF").exec(&mut redis).expect("files for the log");
    drop(idle);
    wait_until("a new client to be let in", || {
        let mut stream = TcpStream::connect(serve.resp()).expect("the RESP port answers");
        let _ = stream.write_all(b"PING\r\n");
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).is_ok() && &answer == b"+PONG\r\n"
    });
}

/// Makes a certificate that nobody vouches for, and its key.
fn make_certificate(dir: &Path) {
    let subject = "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1";
    // rustls takes no certificate of an authority for that of a server.
    let line = format!(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem {subject} \
         -addext basicConstraints=critical,CA:FALSE"
    );
    let mut openssl = Command::new("openssl");
    let made = openssl.args(line.split(' ')).current_dir(dir).output().expect("openssl runs");
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn https_is_served_to_curl_with_a_certificate() {
    let dir = folder();
    make_certificate(dir.path());
    let serve = Serve::start_with(dir.path(), "--tls-cert cert.pem --tls-key key.pem", &[]);
    let address = serve.words().lines().find_map(|line| {
        line.trim()
            .strip_prefix("http   ")
            .and_then(|rest| rest.split(' ').next())
            .map(str::to_owned)
    });
    let address = address.expect("an address");
    assert!(address.starts_with("https://127.0.0.1:"), "{address}");
    let curl = |more: &[&str], path: &str| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "20"]).args(more);
        curl.arg(format!("{address}{path}")).current_dir(dir.path());
        curl.output().expect("curl runs")
    };
    let trusting = curl(&["--cacert", "cert.pem"], "/readyz");
    assert_eq!(String::from_utf8_lossy(&trusting.stdout), "ok\n", "{trusting:?}");
    assert!(!curl(&[], "/readyz").status.success(), "nobody vouches for the certificate");
    // Who speaks plainly gets nothing, and holds nobody up.
    let port = address.rsplit(':').next().expect("a port");
    let plain = Command::new("curl")
        .args(["--silent", "--max-time", "20", &format!("http://127.0.0.1:{port}/readyz")])
        .output()
        .expect("curl runs");
    assert!(!plain.status.success() && plain.stdout.is_empty(), "{plain:?}");
}

#[test]
fn redis_clients_speak_tls_with_the_same_certificate() {
    let dir = folder();
    make_certificate(dir.path());
    let serve = Serve::start_with(dir.path(), "--tls-cert cert.pem --tls-key key.pem", &[]);
    let port = resp_port(&serve, "--tls ");
    let cli = |more: &[&str]| {
        let mut cli = Command::new("redis-cli");
        cli.args(["-h", "localhost", "-p", &port]).args(more);
        cli.current_dir(dir.path()).output().expect("redis-cli runs")
    };
    let large = "x".repeat(100_000);
    let trusting = ["--tls", "--cacert", "cert.pem"];
    let set = cli(&[&trusting[..], &["SET", "k", &large]].concat());
    assert_eq!(String::from_utf8_lossy(&set.stdout), "OK\n", "{set:?}");
    let got = cli(&[&trusting[..], &["GET", "k"]].concat());
    assert_eq!(String::from_utf8_lossy(&got.stdout).trim_end(), large);
    let stranger = cli(&["--tls", "PING"]);
    assert!(!String::from_utf8_lossy(&stranger.stdout).contains("PONG"), "{stranger:?}");

    let root_cert = std::fs::read(dir.path().join("cert.pem")).expect("a certificate");
    let certificates = redis::TlsCertificates { client_tls: None, root_cert: Some(root_cert) };
    let url = format!("rediss://localhost:{port}");
    let client = redis::Client::build_with_tls(url, certificates).expect("a client");
    let mut connection = client.get_connection().expect("a connection");
    let mut pipeline = redis::pipe();
    for n in 0..1_000 {
        pipeline.cmd("ECHO").arg(&large[..1_000 + n]);
    }
    let echoed: Vec<String> = pipeline.query(&mut connection).expect("answers");
    assert!(echoed.iter().enumerate().all(|(n, text)| text.len() == 1_000 + n));
    let mut waiting = client.get_connection().expect("another connection");
    let waiter = std::thread::spawn(move || {
        redis::cmd("BLPOP").arg("list").arg(0).query::<(String, String)>(&mut waiting)
    });
    redis::cmd("RPUSH").arg("list").arg("one").exec(&mut connection).expect("pushed");
    let popped = waiter.join().expect("no panic").expect("popped");
    assert_eq!(popped, ("list".into(), "one".into()));

    // Who speaks plainly is told so, and gets nothing else.
    let mut plain = TcpStream::connect(format!("127.0.0.1:{port}")).expect("a connection");
    plain.write_all(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n").expect("sent");
    let mut answer = String::new();
    plain.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "-ERR this port takes TLS only, as with redis-cli --tls\r\n");
    let plain = redis::Client::open(format!("redis://localhost:{port}")).expect("a client");
    assert!(plain.get_connection().is_err());
    redis::cmd("PING").exec(&mut connection).expect("others are not held up");
}

#[test]
fn redis_clients_can_be_left_without_tls() {
    let dir = folder();
    make_certificate(dir.path());
    let flags = "--tls-cert cert.pem --tls-key key.pem --resp-tls off";
    let serve = Serve::start_with(dir.path(), flags, &[]);
    let port = resp_port(&serve, "");
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a client");
    let mut connection = client.get_connection().expect("a connection");
    redis::cmd("PING").exec(&mut connection).expect("an answer");
    let run = Run::line("serve --resp-tls on");
    assert_eq!(run.code, Some(2));
    let message = "error: \"resp-tls\": it takes a certificate: tls-cert and tls-key";
    assert_eq!(run.failure().0, message);
}

/// The RESP port of a server, which tells how redis-cli reaches it.
fn resp_port(serve: &Serve, flag: &str) -> String {
    let words = serve.words();
    let line = words.lines().find(|line| line.trim_start().starts_with("resp "));
    let line = line.expect("a line about the port");
    let port = line.rsplit(' ').next().expect("a port").trim_end_matches(')');
    assert!(line.ends_with(&format!("(redis-cli {flag}-p {port})")), "{line}");
    port.to_owned()
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    let run = Run::line("serve --tls-cert nothing.pem");
    assert_eq!(run.code, Some(2));
    assert_eq!(run.failure().0, "error: \"tls-key\" is missing: TLS takes both");
    let run = Run::line("serve --tls-cert nothing.pem --tls-key nothing.pem");
    assert!(
        run.failure().0.starts_with("error: \"nothing.pem\" cannot be used for TLS: "),
        "{run:?}"
    );
}

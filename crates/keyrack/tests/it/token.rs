//! `keyrack token`, and the settings for signing in.

use tempfile::TempDir;

use crate::{
    program::{Run, Serve},
    world::World,
};

/// The status with which a request of that token is answered.
fn status(serve: &Serve, token: &str) -> String {
    let (head, _) = serve.send_as(Some(token), "GET", "/api/1/user_usages/get_current", "");
    head.split(' ').nth(1).expect("a status").to_owned()
}

#[test]
fn a_token_is_good_from_its_making_until_it_is_taken_back() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let store = format!("--store redis://{}", serve.resp());
    let line = |line: &str| Run::line_in(dir.path(), &format!("{line} {store}"));
    let made = line("token create alice --name laptop --role viewer --expires-in 7d");
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.stderr.starts_with("created ep_ut_uid_"), "{made:?}");
    let token = made.stdout.trim();
    assert_eq!(status(&serve, token), "200");

    let listed = line("token list alice --json");
    let tokens: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let uid = tokens[0]["uid"].as_str().expect("a uid");
    assert_eq!((&tokens[0]["user_sub"], &tokens[0]["role"]), (&"alice".into(), &"viewer".into()));
    assert!(!listed.stdout.contains(token) && !line("token list").stdout.contains(token));
    assert!(line("token list alice").stdout.contains(uid));
    assert_eq!(line("token list bob").stdout, "");

    let revoked = line(&format!("token revoke {uid}"));
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    assert_eq!(status(&serve, token), "403");
    let again = line(&format!("token revoke {uid}"));
    assert_eq!(again.code, Some(3), "{again:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::new();
    for line in [
        "token create",
        "token create alice --role king",
        "token create alice --expires-in never",
        &format!("token create alice --name {}", "x".repeat(256)),
        &format!("token create {}", "x".repeat(300)),
    ] {
        let run = world.run(line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    }
    assert_eq!(world.json("token list"), serde_json::json!([]));
}

#[test]
fn sign_in_that_is_set_up_by_halves_stops_the_start() {
    let secret = ("KEYRACK_AUTH_DEV_SECRET", "a secret that is long enough for this");
    let issuer = ("KEYRACK_AUTH_ISSUER", "https://id.example.com");
    let client = ("KEYRACK_AUTH_CLIENT_ID", "keyrack");
    let keys = ("KEYRACK_AUTH_JWKS_URL", "https://id.example.com/keys");
    let short = ("KEYRACK_AUTH_DEV_SECRET", "hush");
    for (env, told) in [
        (vec![issuer], "no keys to check tokens with"),
        (vec![secret], "\"auth-issuer\""),
        (vec![secret, issuer], "\"auth-client-id\""),
        (vec![secret, keys, issuer, client], "both set"),
        (vec![short, issuer, client], "at least 32 bytes"),
    ] {
        let dir = TempDir::new().expect("a folder");
        let mut command = crate::program::keyrack(dir.path());
        command.args(["serve", "--http", "127.0.0.1:0", "--resp", "off"]).envs(env);
        let run = Run::of(command);
        assert_eq!(run.code, Some(2), "{run:?}");
        let (error, _) = run.failure();
        assert!(error.contains(told) && !run.stderr.contains("hush"), "{run:?}");
    }
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start_with(dir.path(), "", &[secret, issuer, client]);
    assert!(serve.words().contains("signed with the secret of development"));
    assert!(!serve.words().contains("long enough"));
}

/// The admin token that a server has printed, if it has.
fn admin_token(serve: &Serve) -> Option<String> {
    let words = serve.words();
    let line = words.lines().find_map(|line| line.trim().strip_prefix("admin  "))?;
    Some(line.split(' ').next().expect("a token").to_owned())
}

#[test]
fn first_start_prints_an_admin_token_and_no_other_start_does() {
    let dir = TempDir::new().expect("a folder");
    let mut first = Serve::start_with(dir.path(), "--auth required", &[]);
    let token = admin_token(&first).expect("a token");
    let audit = |token: Option<&str>| first.send_as(token, "GET", "/api/1/audit", "").0;
    assert!(audit(Some(&token)).starts_with("HTTP/1.1 200 "), "{}", audit(Some(&token)));
    assert!(audit(None).starts_with("HTTP/1.1 401 "), "{}", audit(None));
    first.process.terminate();

    let second = Serve::start_with(dir.path(), "--auth required", &[]);
    assert_eq!(admin_token(&second), None, "{}", second.words());
    let (head, _) = second.send_as(Some(&token), "GET", "/api/1/audit", "");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let stored = std::process::Command::new("grep").args(["-r", &token]).arg(dir.path()).output();
    assert!(!stored.expect("grep runs").status.success(), "the token is stored nowhere");
}

#[test]
fn of_starts_at_once_on_a_shared_store_one_prints_the_token() {
    let world = World::new();
    let dir = TempDir::new().expect("a folder");
    let store = format!("--store {}", world.server.url());
    let starts: Vec<_> = std::thread::scope(|scope| {
        let start = || Serve::start_with(dir.path(), &store, &[]);
        let starts: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().expect("a server")).collect()
    });
    assert_eq!(starts.iter().filter_map(admin_token).count(), 1);
}

#[test]
fn other_machines_are_let_in_where_a_token_is_required() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start_with(dir.path(), "--http 0.0.0.0:0 --auth required", &[]);
    let token = admin_token(&serve).expect("a token");
    let status = |token: Option<&str>, path: &str| {
        let (head, _) = serve.send_as(token, "GET", path, "");
        head.split(' ').nth(1).expect("a status").to_owned()
    };
    assert_eq!(status(None, "/api/1/queues"), "401");
    assert_eq!(status(None, "/metrics"), "401");
    assert_eq!(status(None, "/readyz"), "200");
    assert_eq!(status(Some(&token), "/api/1/queues"), "200");
}

#[test]
fn read_only_server_changes_nothing_and_says_so() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start_with(dir.path(), "--read-only", &[]);
    let (head, body) = serve.post("/api/1/queues/q/jobs", "{}");
    assert!(head.starts_with("HTTP/1.1 403 ") && body.contains("\"read_only\""), "{head}\n{body}");
    assert!(serve.get("/api/1/queues").1.contains("\"queues\":[]"));
    for wrong in ["--read-only maybe", "--auth perhaps"] {
        let run = Run::line(&format!("serve {wrong}"));
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.failure().0.contains("cannot be"), "{run:?}");
    }
}

#[test]
fn audit_lists_what_was_done_and_by_whom() {
    let world = World::new();
    assert_eq!(world.json("audit"), serde_json::json!([]));
    let made = world.run("token create alice --role viewer");
    assert_eq!(made.code, Some(0), "{made:?}");
    let changes = world.json("audit");
    let told: Vec<_> = changes.as_array().expect("a list").iter().map(|c| &c["action"]).collect();
    assert_eq!(told, ["token_created", "user_created"]);
    assert_eq!(
        (&changes[0]["actor"], &changes[0]["user_sub"]),
        (&"console".into(), &"alice".into())
    );
    let shown = world.printed("audit --limit 1 --actor console");
    assert!(shown.contains("token_created") && !shown.contains("user_created"), "{shown}");
    assert_eq!(world.json("audit --actor nobody"), serde_json::json!([]));
    assert!(!shown.contains(made.stdout.trim()), "the token itself is not there");
}

#[test]
fn token_for_ones_own_things_opens_nothing_else() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let store = format!("--store redis://{}", serve.resp());
    let made = |options: &str| {
        let line = format!("token create alice {options} --quiet {store}");
        Run::line_in(dir.path(), &line).stdout.trim().to_owned()
    };
    let queues = |token: &str| serve.send_as(Some(token), "GET", "/api/1/queues", "").0;
    let own = made("--own");
    assert_eq!(status(&serve, &own), "200");
    assert!(queues(&own).starts_with("HTTP/1.1 403 "));
    assert!(queues(&made("--role viewer")).starts_with("HTTP/1.1 200 "));
    let refused = Run::line_in(dir.path(), &format!("token create bob --own --role admin {store}"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

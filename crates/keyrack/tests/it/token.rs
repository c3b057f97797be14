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

    let listed = line("token list --json");
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

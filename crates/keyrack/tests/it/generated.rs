//! What others make of the description of the API: requests that schemathesis thinks up, and generated clients.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::program::{Run, Serve};

/// Checks of schemathesis. Statuses of 500 are described nowhere, so the first finds those too.
const CHECKS: &str = "status_code_conformance,content_type_conformance,response_schema_conformance";
/// How many requests it thinks up for each route and caller: 111 routes and six callers take half a minute so.
const REQUESTS_EACH: &str = "3";
/// Streams do not end, so there is no response to look at.
const STREAMS: &str = "(/events|/live)$";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn description() -> PathBuf {
    workspace().join("docs/openapi.json")
}

/// A program of the tests' own environment.
fn tool(path: &str) -> Command {
    let path = workspace().join("target/clients").join(path);
    assert!(path.exists(), "\"{}\" is missing; run `cargo xtask setup`", path.display());
    Command::new(path)
}

/// A server where users sign in with a secret of development, and a token of one of them.
fn serve(dir: &Path, more: &str) -> (Serve, String) {
    let env = [("KEYRACK_AUTH_DEV_SECRET", "a secret that is long enough for this")];
    let issuer = "--auth-issuer https://id.example.com --auth-client-id keyrack";
    let serve = Serve::start_with(dir, &format!("{issuer} {more}"), &env);
    let (head, body) = serve.post("/api/1/test/dev_login?sub=alice", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let jwt = body["id"].as_str().expect("a token").to_owned();
    (serve, jwt)
}

fn token(dir: &Path, serve: &Serve, options: &str) -> String {
    let store = format!("--store redis://{}", serve.resp());
    let run = Run::line_in(dir, &format!("token create somebody --quiet {options} {store}"));
    assert_eq!(run.code, Some(0), "{run:?}");
    run.stdout.trim().to_owned()
}

/// Sends requests that schemathesis thinks up, and looks at the responses.
fn send_generated(dir: &Path, serve: &Serve, caller: &str, token: Option<&str>) {
    let seed = std::env::var("KEYRACK_SEED").unwrap_or_else(|_| "20".into());
    let mut command = tool("api/bin/st");
    command.current_dir(dir).arg("run").arg(description());
    command.args(["--url", &format!("http://{}", serve.http()), "--checks", CHECKS]);
    command.args(["--max-examples", REQUESTS_EACH, "--seed", &seed, "--workers", "2"]);
    command.args(["--exclude-path-regex", STREAMS, "--suppress-health-check", "all"]);
    command.args(["--phases", "fuzzing", "--warnings", "off", "--no-color"]);
    if let Some(token) = token {
        command.args(["--header", &format!("Authorization: Bearer {token}")]);
    }
    let run = Run::of(command);
    let told = format!("{caller}, KEYRACK_SEED={seed}:\n{}\n{}", run.stdout, run.stderr);
    assert_eq!(run.code, Some(0), "{told}");
    assert!(serve.get("/livez").0.starts_with("HTTP/1.1 200"));
}

#[test]
fn requests_that_nobody_thought_of_get_answers_that_are_described() {
    let dir = TempDir::new().expect("a folder");
    let (serve, jwt) = serve(dir.path(), "--auth required");
    let token = |options: &str| Some(token(dir.path(), &serve, options));
    let callers = [
        ("nobody", None),
        ("own", token("--own")),
        ("signed in", Some(jwt)),
        ("viewer", token("--role viewer")),
        ("operator", token("--role operator")),
        ("admin", token("--role admin")),
    ];
    for (caller, token) in callers {
        send_generated(dir.path(), &serve, caller, token.as_deref());
    }
}

#[test]
fn generated_requests_to_a_read_only_server_get_answers_that_are_described() {
    let dir = TempDir::new().expect("a folder");
    let admin = {
        let (writable, _) = serve(dir.path(), "--auth required");
        token(dir.path(), &writable, "--role admin")
    };
    let serve = Serve::start_with(dir.path(), "--auth required --read-only", &[]);
    let keys = |serve: &Serve| -> Vec<String> {
        let mut keys: Vec<String> =
            redis::cmd("KEYS").arg("*").query(&mut serve.redis()).expect("an answer");
        keys.sort();
        keys
    };
    let before = keys(&serve);
    send_generated(dir.path(), &serve, "read-only", Some(&admin));
    let after = keys(&serve);
    let new: Vec<&String> = after.iter().filter(|key| !before.contains(key)).collect();
    assert!(new.is_empty(), "a read-only server wrote {new:?}");
}

#[test]
fn a_generated_python_client_can_use_the_api() {
    let dir = TempDir::new().expect("a folder");
    let (serve, jwt) = serve(dir.path(), "");
    let mut generate = tool("api/bin/openapi-python-client");
    generate.args(["generate", "--meta", "none", "--output-path", "generated", "--path"]);
    let run = Run::of({
        generate.arg(description()).current_dir(dir.path());
        generate
    });
    assert_eq!(run.code, Some(0), "{run:?}");
    fs::write(dir.path().join("client.py"), include_str!("generated/client.py")).expect("written");
    let mut python = tool("api/bin/python");
    python.current_dir(dir.path()).arg("client.py");
    python.args([format!("http://{}", serve.http()), jwt]);
    let run = Run::of(python);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"), "{run:?}");
}

#[test]
fn a_generated_typescript_client_can_use_the_api() {
    let dir = TempDir::new().expect("a folder");
    let (serve, jwt) = serve(dir.path(), "");
    let modules = workspace().join("target/clients/typescript/node_modules");
    assert!(modules.exists(), "\"{}\" is missing; run `cargo xtask setup`", modules.display());
    std::os::unix::fs::symlink(&modules, dir.path().join("node_modules")).expect("linked");
    let node = |arguments: &[&str]| {
        let mut node = Command::new("node");
        node.current_dir(dir.path()).args(arguments);
        let run = Run::of(node);
        assert_eq!(run.code, Some(0), "{arguments:?}: {run:?}");
        run.stdout
    };
    let description = description();
    let description = description.to_str().expect("a path");
    node(&["node_modules/openapi-typescript/bin/cli.js", description, "--output", "api.d.ts"]);
    fs::write(dir.path().join("client.ts"), include_str!("generated/client.ts")).expect("written");
    fs::write(dir.path().join("package.json"), r#"{"type": "module"}"#).expect("written");
    let options = "--strict --skipLibCheck --target es2022 --module nodenext --lib es2022,dom";
    let mut compile = vec!["node_modules/typescript/bin/tsc"];
    compile.extend(options.split(' '));
    compile.push("client.ts");
    node(&compile);
    let url = format!("http://{}", serve.http());
    assert_eq!(node(&["client.js", &url, &jwt]), "done\n");
}

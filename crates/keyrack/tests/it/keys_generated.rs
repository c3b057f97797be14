//! Code from `keyrack keys generate`: what one language writes another reads, and the lint finds nothing wrong with it.
//!
//! The Rust code is in the repository and compiled with these tests; that of other languages is made here. The drivers
//! write and read one key of each kind, with names and values that go wrong where somebody forgot to escape.

mod driver;
#[rustfmt::skip]
mod shop;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use keyrack_testkit::RedisServer;
use keyrack_testkit::clients::{go, node, python};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::Run;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The file with every kind of key, part and value.
fn declared() -> PathBuf {
    workspace().join("crates/keys/tests/shop.keys.toml")
}

fn generate(language: &str, folder: &Path) {
    let line = format!(
        "keys generate --quiet --lang {language} --keys {} --out {}",
        declared().display(),
        folder.display()
    );
    let run = Run::line_in(folder, &line);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[track_caller]
fn succeeds(mut command: Command) -> String {
    let run = Run::from(command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")));
    assert_eq!(run.code, Some(0), "{command:?}\n{}\n{}", run.stdout, run.stderr);
    run.stdout
}

/// Values for the drivers. Text that is not escaped cannot hold a colon, which ends it.
fn world() -> Value {
    json!({
        "user": ":{}%*?[]\\^ ü🐝\n\"'",
        "tenant": "{}%*?[]\\^ ü🐝\n\"'",
        "path": "a/:{}%*?[]\\^ ü🐝\n\"'",
        "page": "a/:{}%*?[]\\^ ü🐝\n\"'",
        "note": "ü🐝 \"\\ <&> \u{2028}\n",
    })
}

/// Runs a driver: its mode, and the port of the server. A reader prints.
type Driver = dyn Fn(&str, u16) -> Option<String>;

/// One language: how its driver is started.
struct Language {
    name: &'static str,
    run: Box<Driver>,
}

impl Language {
    fn of(name: &'static str, command: impl Fn() -> Command + 'static) -> Self {
        let run = move |mode: &str, port: u16| {
            let mut command = command();
            command.args([mode, &port.to_string(), &world().to_string()]);
            Some(succeeds(command))
        };
        Self { name, run: Box::new(run) }
    }

    fn read(&self, port: u16) -> Value {
        let text = (self.run)("read", port).expect("a reader prints what it read");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}: {text}", self.name))
    }
}

fn rust() -> Language {
    let run = |mode: &str, port: u16| {
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("an address");
        let mut connection = client.get_connection().expect("a connection");
        if mode == "write" {
            driver::write(&mut connection, &world());
            return None;
        }
        Some(driver::read(&mut connection).to_string())
    };
    Language { name: "Rust", run: Box::new(run) }
}

fn in_python(folder: PathBuf) -> Language {
    generate("python", &folder);
    fs::write(folder.join("driver.py"), include_str!("keys_generated/driver.py")).expect("written");
    let start = move |arguments: &[&str]| {
        let mut command = python();
        command.current_dir(&folder).env("PYTHONDONTWRITEBYTECODE", "1").args(arguments);
        command
    };
    succeeds(start(&["-m", "unittest", "-q", "test_shop"]));
    Language::of("Python", move || start(&["driver.py"]))
}

fn in_typescript(folder: PathBuf) -> Language {
    generate("typescript", &folder);
    fs::write(folder.join("driver.ts"), include_str!("keys_generated/driver.ts")).expect("written");
    fs::write(folder.join("package.json"), r#"{"type": "module"}"#).expect("written");
    let modules = workspace().join("target/clients/npm/node_modules");
    assert!(modules.exists(), "\"{}\" is missing; run `cargo xtask setup`", modules.display());
    std::os::unix::fs::symlink(&modules, folder.join("node_modules")).expect("linked");
    let clients = workspace().join("target/clients/node/");
    let start = move |arguments: &[&str]| {
        let mut command = node();
        command.current_dir(&folder).env("NODE_CLIENTS", &clients).args(arguments);
        command
    };
    let strict = "--strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --skipLibCheck";
    let options = "--target es2022 --module nodenext --lib es2022 --types node";
    let mut compile = vec!["node_modules/typescript/bin/tsc"];
    compile.extend(strict.split(' ').chain(options.split(' ')));
    compile.extend(["driver.ts", "shop.test.ts"]);
    succeeds(start(&compile));
    succeeds(start(&["--test", "shop.test.js"]));
    Language::of("TypeScript", move || start(&["driver.js"]))
}

fn in_go(folder: PathBuf) -> Language {
    let (shop, driver) = (folder.join("src/shop"), folder.join("src/driver"));
    fs::create_dir_all(&shop).and_then(|()| fs::create_dir_all(&driver)).expect("made");
    generate("go", &shop);
    fs::write(driver.join("driver.go"), include_str!("keys_generated/driver.go")).expect("written");
    let start = |arguments: &[&str]| {
        let mut command = go(&folder);
        command.current_dir(&folder).args(arguments);
        command
    };
    succeeds(start(&["vet", "shop"]));
    succeeds(start(&["test", "shop"]));
    succeeds(start(&["build", "-o", "run", "driver"]));
    Language::of("Go", move || Command::new(folder.join("run")))
}

#[test]
fn what_one_language_writes_another_reads() {
    let dir = TempDir::new().expect("a folder");
    let folder = |name: &str| {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).expect("made");
        folder
    };
    let (python, typescript, go) = (folder("python"), folder("typescript"), folder("go"));
    let languages = [rust(), in_python(python), in_typescript(typescript), in_go(go)];
    let server = RedisServer::start();
    let expected = driver::expected(&world());
    for writer in &languages {
        redis::cmd("FLUSHALL").exec(&mut server.connection()).expect("emptied");
        (writer.run)("write", server.port());
        for reader in &languages {
            let found = reader.read(server.port());
            assert_eq!(found, expected, "{} wrote, {} read", writer.name, reader.name);
        }
        let line = format!("keys lint --keys {} --store {}", declared().display(), server.url());
        let lint = Run::line(&line);
        assert_eq!(lint.code, Some(0), "{} wrote: {lint:?}", writer.name);
    }
}

#[test]
fn the_rust_code_is_what_the_program_writes() {
    let dir = TempDir::new().expect("a folder");
    generate("rust", dir.path());
    let now = fs::read_to_string(dir.path().join("shop.rs")).expect("written");
    let again = "cargo run -p keyrack-cli -- keys generate --lang rust --keys crates/keys/tests/shop.keys.toml \
                 --out crates/keyrack/tests/it/keys_generated/shop.rs";
    assert!(now == include_str!("keys_generated/shop.rs"), "shop.rs is out of date; run {again}");
}

#[test]
fn code_that_is_out_of_date_is_found() {
    let dir = TempDir::new().expect("a folder");
    let run = |more: &str| {
        let keys = declared();
        let line = format!("keys generate --lang go --keys {} {more}", keys.display());
        Run::line_in(dir.path(), &line)
    };
    assert_eq!(run("--out shop.go --check").code, Some(10));
    assert_eq!(run("--out shop.go").code, Some(0));
    assert_eq!(run("--out shop.go --check").code, Some(0));
    let printed = run("").stdout;
    assert_eq!(fs::read_to_string(dir.path().join("shop.go")).expect("written"), printed);
    fs::write(dir.path().join("shop_test.go"), "").expect("written");
    let check = run("--out shop.go --check");
    assert_eq!((check.code, check.stderr.as_str()), (Some(10), "shop_test.go is out of date\n"));
    let (error, hint) = (run("--out shop.py"), "hint: give a folder, or a name that ends with .go");
    assert_eq!((error.code, error.failure().1), (Some(2), Some(hint)));
}

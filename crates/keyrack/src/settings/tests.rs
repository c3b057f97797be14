use std::path::Path;

use super::*;

const NO_ENV: fn(&str) -> Option<OsString> = |_| None;

#[track_caller]
fn file(text: &str) -> Result<File, Failure> {
    File::parse(Path::new("keyrack.toml"), text)
}

#[track_caller]
fn resolved(flags: &[(&'static str, &str)], env: &[(&str, &str)], text: &str) -> Settings {
    let file = file(text).expect("a good file");
    let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
    Settings::resolve(&Flags::of(flags), env, Some(&file)).expect("good settings")
}

#[test]
fn flag_wins_over_environment_over_file_over_default() {
    let http =
        |settings: &Settings| (settings.value(&HTTP).to_owned(), settings.get(&HTTP).whence());
    let (flag, env, text) = ([("http", "h:1")], [("KEYRACK_HTTP", "h:2")], "http = 'h:3'");
    let told = |value: &str, whence: &str| (value.to_owned(), whence.to_owned());
    assert_eq!(http(&resolved(&flag, &env, text)), told("h:1", "on the command line"));
    let from_env = told("h:2", "in the environment, KEYRACK_HTTP");
    assert_eq!(http(&resolved(&[], &env, text)), from_env);
    assert_eq!(http(&resolved(&[], &[], text)), told("h:3", "in keyrack.toml"));
    assert_eq!(http(&resolved(&[], &[], "")), told("127.0.0.1:7700", "by default"));
}

#[test]
fn empty_variable_counts_as_unset() {
    let settings = resolved(&[], &[("KEYRACK_HTTP", "")], "");
    assert_eq!(settings.get(&HTTP).origin, Origin::Default);
}

#[test]
fn stronger_of_store_and_data_names_the_store() {
    let url = |settings: Settings| settings.store_url().map_err(|failure| failure.to_string());
    assert_eq!(url(resolved(&[], &[], "")), Ok("embedded:./keyrack-data".into()));
    assert_eq!(url(resolved(&[], &[], "data = 'x'")), Ok("embedded:./x".into()));
    assert_eq!(url(resolved(&[("data", "memory")], &[], "")), Ok("embedded:./memory".into()));
    let env = [("KEYRACK_STORE", "redis://h")];
    assert_eq!(url(resolved(&[], &env, "data = 'x'")), Ok("redis://h".into()));
    assert_eq!(url(resolved(&[("data", "/x")], &env, "")), Ok("embedded:/x".into()));
    let both = url(resolved(&[], &[], "data = 'x'\nstore = 'redis://h'")).expect_err("a conflict");
    assert_eq!(both, "\"store\" and \"data\" are both set in keyrack.toml");
    assert!(url(resolved(&[("data", "a?b")], &[], "")).is_err());
}

#[test]
fn unknown_key_is_refused_with_the_nearest_known_one() {
    let failure = file("htpp = '127.0.0.1:1'").expect_err("no such setting");
    assert_eq!(failure.to_string(), "in \"keyrack.toml\": there is no setting \"htpp\"");
    assert_eq!(failure.hint_text(), Some("did you mean \"http\"?"));
    let failure = file("zzz = 1").expect_err("no such setting");
    let hint = failure.hint_text().expect("a hint");
    assert!(
        hint.starts_with("there are store, ") && hint.ends_with(" and [[recurring]]"),
        "{hint}"
    );
    for setting in SETTINGS {
        assert!(hint.contains(setting.key), "{} is not in {hint}", setting.key);
    }
}

#[test]
fn wrong_type_and_wrong_syntax_are_refused_with_their_place() {
    let failure = file("http = 7700").expect_err("not text");
    assert_eq!(failure.to_string(), "in \"keyrack.toml\": \"http\" is to be text, not integer");
    let failure = file("http = 'a'\nresp = = 'b'").expect_err("no TOML");
    assert!(failure.to_string().starts_with("in \"keyrack.toml\": line 2: "), "{failure}");
}

#[test]
fn variable_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let env = |name: &str| (name == "KEYRACK_HTTP").then(|| OsString::from_vec(b"\xff:1".to_vec()));
    let failure = Settings::resolve(&Flags::default(), env, None).err().expect("not UTF-8");
    assert_eq!(failure.to_string(), "KEYRACK_HTTP is not valid UTF-8");
}

#[test]
fn secrets_are_not_shown() {
    let text = "resp-password = 'hush'\nstore = 'redis://u:hush@h'";
    for resolved in resolved(&[], &[], text).all() {
        assert!(!resolved.shown().is_some_and(|shown| shown.contains("hush")));
    }
    let broken = resolved(&[("store", "redis//u:hush@h")], &[], "");
    assert_eq!(broken.get(&STORE).shown().as_deref(), Some("***"));
}

#[test]
fn no_two_settings_share_a_key() {
    let settings = Settings::resolve(&Flags::default(), NO_ENV, None).expect("defaults");
    let keys: std::collections::HashSet<_> =
        settings.all().iter().map(|resolved| resolved.setting.key).collect();
    assert_eq!(keys.len(), settings.all().len());
}

#[test]
fn recurring_jobs_are_read_with_their_arguments_in_order() {
    let text = "log = 'info'\n[[recurring]]\nname = 'ping'\nzone = 'UTC'\nseconds = [0]\n\
                kwargs = { zoo = 1, ant = 'x' }\n";
    let settings = resolved(&[], &[], text);
    let job = &settings.recurring()[0];
    assert_eq!(job.name(), "ping");
    let kwargs = serde_json::to_string(job.kwargs()).expect("JSON");
    assert_eq!(kwargs, r#"{"zoo":1,"ant":"x"}"#);
    let again = resolved(&[], &[], settings.recurring_text());
    assert_eq!(again.recurring_text(), settings.recurring_text());
    assert_eq!(serde_json::to_string(again.recurring()[0].kwargs()).expect("JSON"), kwargs);
}

#[test]
fn wrong_recurring_job_is_refused_with_its_place_and_name() {
    let failure =
        file("log = 'info'\n\n[[recurring]]\nname = 'ping'\nzone = 'Mars'\nseconds = [0]\n");
    let failure = failure.expect_err("no such zone").to_string();
    assert!(
        failure
            .starts_with("in \"keyrack.toml\": line 3: the recurring job \"ping\" is not valid: "),
        "{failure}"
    );
    assert!(file("recurring = 'daily'").is_err());
}

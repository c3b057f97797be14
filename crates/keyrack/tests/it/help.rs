//! What the program says about itself.

use insta::assert_snapshot;

use crate::program::Run;

#[track_caller]
fn printed(arguments: &str) -> String {
    let run = Run::line(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run.stdout
}

#[test]
fn help_lists_commands_settings_and_exit_codes() {
    assert_snapshot!(printed("-h"));
}

#[test]
fn help_of_serve_tells_defaults_and_variables() {
    assert_snapshot!(printed("serve -h"));
}

#[test]
fn help_of_store_lists_its_commands() {
    assert_snapshot!(printed("store -h"));
}

#[test]
fn help_of_work_tells_what_a_command_is_given_and_what_its_end_means() {
    assert_snapshot!(printed("work --help"));
}

#[test]
fn help_of_jobs_lists_its_commands() {
    assert_snapshot!(printed("jobs -h"));
}

#[test]
fn help_of_submit_has_examples() {
    assert_snapshot!(printed("jobs submit -h"));
}

#[test]
fn help_of_stats_explains_its_columns() {
    assert_snapshot!(printed("jobs stats -h"));
}

#[test]
fn help_of_recurring_tells_how_jobs_are_defined() {
    assert_snapshot!(printed("recurring -h"));
}

#[test]
fn help_of_progress_lists_its_commands() {
    assert_snapshot!(printed("progress -h"));
}

#[test]
fn help_of_progress_run_tells_what_a_command_can_say() {
    assert_snapshot!(printed("progress run --help"));
}

#[test]
fn version_is_one_line() {
    assert_eq!(printed("--version"), format!("keyrack {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&format!("completions {shell}"));
        for command in ["serve", "work", "jobs", "recurring", "progress", "keys", "store", "config"]
        {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
}

#[test]
fn unknown_argument_is_a_usage_error_with_a_tip() {
    let run = Run::line("serv");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("similar subcommand exists: 'serve'"), "{run:?}");
}

#[test]
fn every_command_has_a_man_page() {
    let dir = tempfile::TempDir::new().expect("a folder");
    let run = Run::line_in(dir.path(), "manual .");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
    let page = |name: &str| {
        let path = dir.path().join(format!("{name}.1"));
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(page("keyrack").contains("keyrack\\-jobs(1)"), "{}", page("keyrack"));
    assert!(page("keyrack-jobs-submit").contains("\\-\\-debounce"));
    let missing = Run::line_in(dir.path(), "manual nowhere");
    assert_eq!(missing.code, Some(1), "{missing:?}");
}

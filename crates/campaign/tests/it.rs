//! The command line; what a campaign finds is for `cargo xtask campaign` to tell.

use std::process::{Command, Output};

fn campaign(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_keyrack-campaign");
    Command::new(program).args(arguments).output().expect("the program runs")
}

#[test]
fn an_unknown_fault_is_refused_with_the_faults_there_are() {
    let output = campaign(&["meteorite"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(told.contains("reshard") && told.contains("kill-server"), "{told}");
}

#[test]
fn the_list_names_every_store() {
    let output = campaign(&["--list"]);
    let told = String::from_utf8_lossy(&output.stdout);
    for store in ["standalone", "embedded", "sentinel", "cluster"] {
        assert!(told.contains(store), "{told}");
    }
}

//! Progress bars in the terminal.

mod client;
mod inspect;
mod run;
mod signals;
mod stores;
pub(crate) mod terminal;
mod watch;

use serde_json::Value as Json;

use crate::{program::Run, world::World};

impl World {
    /// Runs a line of the shell with a bar.
    pub(crate) fn with_bar(&self, options: &str, line: &str) -> Run {
        let mut command = self.keyrack(&format!("progress run {options}"));
        command.args(["--", "sh", "-c", line]);
        Run::of(command)
    }

    /// Runs a line that has to go well and print nothing on stderr.
    #[track_caller]
    pub(crate) fn goes_well(&self, options: &str, line: &str) -> String {
        let run = self.with_bar(options, line);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        run.stdout
    }

    /// The past runs of a bar: for each, the name and iterations of its steps.
    #[track_caller]
    pub(crate) fn past_runs(&self, bar: &str) -> Vec<Vec<(String, Option<u64>)>> {
        let stats = self.json(&format!("progress stats {bar}"));
        let names: Vec<String> = list(&stats["steps"], |step| text(&step["step"]));
        list(&stats["runs"], |run| {
            let iterations = list(&run["steps"], |step| step["iterations"].as_u64());
            names.iter().cloned().zip(iterations).collect()
        })
    }
}

fn list<T>(json: &Json, of: impl Fn(&Json) -> T) -> Vec<T> {
    json.as_array().expect("a list").iter().map(of).collect()
}

fn text(json: &Json) -> String {
    json.as_str().expect("a text").to_owned()
}

fn step(name: &str, iterations: Option<u64>) -> (String, Option<u64>) {
    (name.to_owned(), iterations)
}

//! tqdm on recorded runs: the package itself, with a clock that is told what time it is.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::recorded::Recorded;
use crate::setup;

/// For each line with the moments of units and of looks: what a bar says at each look.
const DRIVER: &str = r#"
import io, sys
from tqdm import std

now = 0.0
std.time = lambda: now
std.tqdm.monitor_interval = 0
for line in sys.stdin:
    units, looks = ([float(word) for word in part.split()] for part in line.split(";"))
    now, done, said = 0.0, 0, []
    bar = std.tqdm(total=len(units), file=io.StringIO())
    for look in looks:
        while done < len(units) and units[done] <= look:
            now = units[done]
            bar.update(1)
            done += 1
        now = look
        facts = bar.format_dict
        rate = facts["rate"] or (done / look if look > 0 else None)
        said.append(str((len(units) - done) / rate) if rate else "nan")
    print(" ".join(said))
"#;

/// What tqdm says at some moments of each run; nothing before its first unit.
pub(super) fn ask(runs: &[(&Recorded, &[f64])]) -> Result<Vec<Vec<Option<f64>>>> {
    let python = setup::tqdm()?;
    let mut command = Command::new(python);
    command.args(["-c", DRIVER]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("could not run Python with tqdm")?;
    let mut text = String::new();
    for (run, looks) in runs {
        let words = |times: &mut dyn Iterator<Item = f64>| {
            times.map(|time| format!("{time:.6}")).collect::<Vec<_>>().join(" ")
        };
        text += &words(&mut run.units());
        text += ";";
        text += &words(&mut looks.iter().copied());
        text += "\n";
    }
    let mut stdin = child.stdin.take().context("Python takes no input")?;
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().context("Python ended badly")?;
    writer.join().map_err(|_| anyhow::anyhow!("the thread that writes to Python died"))??;
    ensure!(output.status.success(), "tqdm ended with {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let number = |word: &str| word.parse().ok().filter(|said: &f64| said.is_finite());
    let said: Vec<Vec<Option<f64>>> =
        text.lines().map(|line| line.split(' ').map(number).collect()).collect();
    ensure!(said.len() == runs.len(), "tqdm answered for {} of {} runs", said.len(), runs.len());
    Ok(said)
}

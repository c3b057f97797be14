//! Work that is really done, and recorded while it is: processors, disks and waits of this machine, with whatever else runs on it.

use std::{
    fs,
    hint::black_box,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;

use super::{
    dice::Dice,
    recorded::{Recorded, RecordedStep},
};

/// Recorded times are taken for so many times as long: a run of a tenth of a second stands for one of ten seconds.
const STRETCHED: f64 = 100.0;
/// The work of a run is this share of the milliseconds that are named below: about a thirtieth of a second.
const SHORTER: f64 = 0.3;
/// After so many runs, work that grows from run to run begins anew as another bar.
pub(super) const GROWS_FOR: usize = 25;
/// By how much it grows from run to run.
const GROWTH: f64 = 1.04;

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    Compress,
    Build,
    Network,
    WarmUp,
    SlowDown,
    Constant,
    HeavyItems,
    TwoModes,
    Growing,
}

impl Work {
    pub(super) const ALL: [Work; 9] = [
        Work::Compress,
        Work::Build,
        Work::Network,
        Work::WarmUp,
        Work::SlowDown,
        Work::Constant,
        Work::HeavyItems,
        Work::TwoModes,
        Work::Growing,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Work::Compress => "compressing files",
            Work::Build => "a build of five steps",
            Work::Network => "waits with stalls",
            Work::WarmUp => "a loop that warms up",
            Work::SlowDown => "a loop that slows down",
            Work::Constant => "a loop of constant pace",
            Work::HeavyItems => "heavy-tailed items",
            Work::TwoModes => "two modes",
            Work::Growing => "a trend over past runs",
        }
    }

    /// Does it so many times, one after the other.
    pub(super) fn record(self, runs: usize) -> Result<Vec<Recorded>> {
        let processor = Processor::measure();
        let folder = tempfile::tempdir().context("could not make a folder")?;
        let mut dice = Dice::new(self as u64 + 1);
        let text = words(&mut dice);
        let run = |at| self.run(at, &mut dice, &processor, (&text, folder.path()));
        (0..runs).map(run).collect()
    }

    fn run(
        self,
        at: usize,
        dice: &mut Dice,
        processor: &Processor,
        (text, folder): (&str, &Path),
    ) -> Result<Recorded> {
        let work = |milliseconds: f64| processor.work(milliseconds);
        Ok(match self {
            Work::Compress => return compress(dice, text, folder),
            Work::Build => build(dice, processor),
            Work::Network => looped(60, |_| {
                let stall = if dice.chance(0.04) { dice.between(10.0, 40.0) } else { 0.0 };
                sleep(Duration::from_secs_f64((dice.between(0.3, 1.5) + stall) / 1e3));
            }),
            Work::WarmUp => looped(80, |share| work(if share < 0.15 { 4.0 } else { 0.8 })),
            Work::SlowDown => looped(80, |share| work(0.5 + 1.5 * share)),
            Work::Constant => looped(100, |_| work(1.0)),
            Work::HeavyItems => looped(80, |_| work(0.4 * dice.pareto(1.5).min(60.0))),
            Work::TwoModes => {
                let slower = if dice.chance(0.4) { 2.5 } else { 1.0 };
                looped(60, |_| work(0.8 * slower * dice.noise(0.3)))
            }
            Work::Growing => {
                let longer = GROWTH.powi((at % GROWS_FOR) as i32);
                looped(60, |_| work(longer * dice.noise(0.3)))
            }
        })
    }
}

/// How much work this machine does in a millisecond.
struct Processor {
    rounds: f64,
}

impl Processor {
    fn measure() -> Processor {
        let took = |rounds: u64| {
            let start = Instant::now();
            work_rounds(rounds);
            start.elapsed().as_secs_f64()
        };
        // The fastest of some: whatever else runs only ever makes it slower.
        let fastest = (0..20).map(|_| took(20_000)).fold(f64::INFINITY, f64::min);
        Processor { rounds: 20_000.0 / (fastest * 1e3) }
    }

    /// Works for about so many milliseconds if nothing else runs.
    fn work(&self, milliseconds: f64) {
        work_rounds((self.rounds * milliseconds * SHORTER) as u64);
    }
}

fn work_rounds(rounds: u64) {
    let mut dice = Dice::new(rounds);
    for _ in 0..rounds {
        black_box(dice.share());
    }
}

/// A run that is being recorded, with indicatif beside it.
struct Recorder {
    start: Instant,
    run: Recorded,
    bar: ProgressBar,
}

impl Recorder {
    /// A run of so many units in all; a one-off step is one.
    fn start(units: usize) -> Recorder {
        let (bar, run) = (ProgressBar::hidden(), Recorded::default());
        bar.set_length(units as u64);
        Recorder { start: Instant::now(), run, bar }
    }

    fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * STRETCHED
    }

    /// A unit is done: it is told to indicatif, which is asked what it thinks.
    fn unit(&mut self) -> f64 {
        let now = self.now();
        self.bar.inc(1);
        let said = self.bar.eta().as_secs_f64() * STRETCHED;
        self.run.indicatif.push((now, said));
        now
    }

    fn one_off(&mut self, work: impl FnOnce()) {
        let start = self.run.seconds();
        work();
        let end = self.unit();
        self.run.steps.push(RecordedStep { start, end, ticks: None });
    }

    fn iterated(&mut self, n: usize, mut work: impl FnMut(usize)) {
        let start = self.run.seconds();
        let tick = |at| {
            work(at);
            self.unit()
        };
        let ticks: Vec<f64> = (0..n).map(tick).collect();
        let end = self.now();
        self.run.steps.push(RecordedStep { start, end, ticks: Some(ticks) });
    }
}

/// A single step, which is told the share that is done before each iteration.
fn looped(n: usize, mut work: impl FnMut(f64)) -> Recorded {
    let mut recorder = Recorder::start(n);
    recorder.iterated(n, |at| work(at as f64 / n as f64));
    recorder.run
}

/// Steps like those of a build: some without iterations, some with units of many sizes.
fn build(dice: &mut Dice, processor: &Processor) -> Recorded {
    let (units, tests) = (dice.whole(28, 36) as usize, dice.whole(36, 44) as usize);
    let mut recorder = Recorder::start(units + tests + 3);
    recorder.one_off(|| processor.work(12.0 * dice.noise(0.2)));
    recorder.iterated(units, |_| processor.work(1.5 * dice.noise(0.8)));
    recorder.one_off(|| processor.work(20.0 * dice.noise(0.15)));
    recorder.iterated(tests, |_| processor.work(0.5 * dice.noise(1.0)));
    recorder.one_off(|| processor.work(8.0 * dice.noise(0.3)));
    recorder.run
}

/// Compresses the files of a made-up tree, each with a program of its own.
fn compress(dice: &mut Dice, text: &str, folder: &Path) -> Result<Recorded> {
    let count = dice.whole(18, 26) as usize;
    let mut files = Vec::new();
    for at in 0..count {
        let bytes = ((dice.normal(1.3) + 9.0).exp() as usize).min(text.len());
        let from = dice.whole(0, (text.len() - bytes) as u64) as usize;
        let path = folder.join(format!("{at}.txt"));
        fs::write(&path, &text[from..from + bytes]).context("could not write a file")?;
        files.push(path);
    }
    let mut recorder = Recorder::start(count);
    let mut all_went_well = true;
    recorder.iterated(count, |at| {
        let mut gzip = Command::new("gzip");
        gzip.args(["-c", "-6"]).arg(&files[at]).stdout(Stdio::null());
        all_went_well &= gzip.status().is_ok_and(|status| status.success());
    });
    ensure!(all_went_well, "gzip failed");
    Ok(recorder.run)
}

/// Words of which files are made.
fn words(dice: &mut Dice) -> String {
    (0..60_000).map(|_| format!("w{:04} ", dice.whole(0, 3_000))).collect()
}

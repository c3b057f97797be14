//! Workers: processes of their own, so that they can be killed, stopped and given a wrong time.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use keyrack_jobs::bee::{
    Hive,
    keys::QueueName,
    worker::{Settings, Worker},
};
use keyrack_testkit::{Process, wait_until};
use tokio::signal::unix::{SignalKind, signal};

use crate::{store, time::monotonic_ms};

/// How soon a worker tries again to open a store that is down.
const OPEN_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    store: String,
    #[arg(long, value_delimiter = ',')]
    queues: Vec<String>,
    /// The file to append starts and ends of jobs to
    #[arg(long)]
    runs: PathBuf,
    #[arg(long, default_value_t = 0)]
    replicas_acknowledge: u32,
}

/// Runs jobs until SIGTERM.
pub(crate) fn run(args: Args) -> Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(serve_queues(args))
}

async fn serve_queues(args: Args) -> Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let hive = loop {
        match open(&args).await {
            Ok(hive) => break hive,
            Err(error) => eprintln!("{error:#}"),
        }
        tokio::time::sleep(OPEN_PAUSE).await;
    };
    let runs = Arc::new(File::options().create(true).append(true).open(&args.runs)?);
    let mut worker = Worker::new(&hive);
    for queue in &args.queues {
        let runs = Arc::clone(&runs);
        worker = worker.on(QueueName::new(queue)?, Settings::default(), move |context| {
            let runs = Arc::clone(&runs);
            async move {
                let job = context.job();
                write_line(&runs, "start", job.jid());
                let work_ms = job.args().first().and_then(serde_json::Value::as_u64);
                tokio::time::sleep(Duration::from_millis(work_ms.unwrap_or(0))).await;
                write_line(&runs, "end", job.jid());
                Ok(())
            }
        });
    }
    eprintln!("ready");
    let shutdown = async {
        terminated.recv().await;
    };
    Ok(worker.run(shutdown).await?)
}

async fn open(args: &Args) -> Result<Hive> {
    Ok(Hive::open(store::open(&args.store, args.replicas_acknowledge).await?).await?)
}

/// One write for each line: lines of several processes do not mix.
fn write_line(mut runs: &File, event: &str, jid: &str) {
    let line = format!("{event} {jid} {}\n", monotonic_ms());
    runs.write_all(line.as_bytes()).expect("the journal can be written");
}

/// A worker that the campaign has started.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    process: Process,
}

/// How to start workers of one deployment.
#[derive(Debug)]
pub(crate) struct WorkerSettings {
    pub(crate) store: String,
    pub(crate) queues: Vec<QueueName>,
    pub(crate) runs: PathBuf,
    pub(crate) replicas_acknowledge: u32,
    pub(crate) logs: PathBuf,
}

impl WorkerProcess {
    /// Starts a worker and waits until it serves its queues. With a file it has the time that the file says.
    pub(crate) fn start(settings: &WorkerSettings, fake_time: Option<&Path>) -> WorkerProcess {
        let program = std::env::current_exe().expect("this program has a path");
        let queues: Vec<&str> = settings.queues.iter().map(QueueName::as_str).collect();
        let n = fs::read_dir(&settings.logs).expect("the folder of logs").count();
        let log = settings.logs.join(format!("worker-{n}.log"));
        let mut command = Process::command(program);
        command
            .args(["worker", "--store", &settings.store, "--queues", &queues.join(",")])
            .args(["--replicas-acknowledge", &settings.replicas_acknowledge.to_string()])
            .arg("--runs")
            .arg(&settings.runs)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a log"));
        if let Some(file) = fake_time {
            Process::fake_time(&mut command, file);
        }
        let process = Process::spawn("worker", command);
        wait_until("a worker to serve its queues", || {
            fs::read_to_string(&log).is_ok_and(|text| text.contains("ready\n"))
        });
        WorkerProcess { process }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    pub(crate) fn pause(&mut self) {
        self.process.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.process.resume();
    }

    /// Ends it in good order: it finishes its jobs.
    pub(crate) fn terminate(&mut self) {
        self.process.terminate();
    }
}

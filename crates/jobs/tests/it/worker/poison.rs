//! A job that kills the process of its worker, again and again, and those that happen to be there.

use keyrack_jobs::bee::{
    Hive, Status, Submission, WorkerTimeouts,
    keys::{Jid, WorkerId},
    worker::{Settings, Worker},
};
use keyrack_testkit::{Process, RedisServer, wait_until_async};

use super::bench::{hive, queue};

const N_NEIGHBOURS: usize = 500;
const POISON: &str = "poison";
/// Tells a worker process where its store is.
const STORE: &str = "KEYRACK_TEST_STORE";
/// Processes that die before the test gives up.
const DEATHS_MAX: u64 = 20;

/// The worker process: quick handlers, so it claims ahead, and one job that is its end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started as a process of its own by the test below"]
async fn a_worker_process() {
    let url = std::env::var(STORE).expect("the URL of a store");
    let settings = Settings { concurrency: 100, ..Settings::default() };
    let worker = Worker::new(&hive(&url).await).on(queue(), settings, |context| {
        if context.job().args()[0] == POISON {
            std::process::exit(70);
        }
        std::future::ready(Ok(()))
    });
    worker.run(std::future::pending()).await.expect("a worker that runs");
}

fn start_worker(url: &str) -> Process {
    let program = std::env::current_exe().expect("the path of this program");
    let mut command = Process::command(program);
    command.args(["--exact", "worker::poison::a_worker_process", "--ignored"]).env(STORE, url);
    command.stdout(std::process::Stdio::null());
    Process::spawn("a worker", command)
}

/// Lets the jobs of all workers go, which have died, without waiting until that is noticed.
async fn bury_all(hive: &Hive) {
    let workers = hive.stats(&queue()).await.expect("stats").workers;
    let gone: Vec<WorkerId> =
        workers.iter().map(|worker| worker.worker.parse().expect("an id")).collect();
    hive.sweep(&queue(), &WorkerTimeouts::default(), "", &gone).await.expect("swept");
}

async fn has_ended(hive: &Hive, jid: &Jid) -> bool {
    hive.job(jid).await.is_ok_and(|job| job.status().is_final())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_kills_its_workers_fails_and_its_neighbours_do_not() {
    let server = RedisServer::start();
    let hive = hive(&server.url()).await;
    // In the middle of a batch, so that it never runs by itself.
    let name = |n: usize| if n == N_NEIGHBOURS / 10 { POISON.to_owned() } else { n.to_string() };
    let jobs = (0..=N_NEIGHBOURS).map(|n| Submission::to(queue()).arg(name(n))).collect();
    let answers = hive.submit_many(jobs).await.expect("submitted");
    let mut jids: Vec<Jid> = answers.into_iter().map(|jid| jid.expect("an id")).collect();
    let poison = jids.remove(N_NEIGHBOURS / 10);

    let (mut worker, mut n_died) = (start_worker(&server.url()), 0);
    wait_until_async("the poison to end", async || {
        if worker.exit_status().is_some() {
            n_died += 1;
            assert!(n_died <= DEATHS_MAX, "the job is never found out");
            bury_all(&hive).await;
            worker = start_worker(&server.url());
        }
        has_ended(&hive, &poison).await
    })
    .await;
    let job = hive.job(&poison).await.expect("the job");
    let reason = job.failed_reason().expect("a reason");
    assert_eq!(job.status(), Status::Failed);
    assert!(reason.starts_with("3 workers were lost while they ran this job"), "{reason}");
    assert_eq!((job.deaths(), n_died), (3, 3), "one for each chance");

    for jid in &jids {
        wait_until_async("every neighbour to end", async || has_ended(&hive, jid).await).await;
        let job = hive.job(jid).await.expect("a neighbour");
        assert_eq!(job.status(), Status::Completed, "{:?}", job.failed_reason());
    }
    assert!(worker.exit_status().is_none(), "nothing else kills a worker");
}

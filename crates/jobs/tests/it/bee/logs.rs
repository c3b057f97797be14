//! The logs of jobs: what is kept, for how long, and what readers see.

use keyrack_jobs::bee::{
    Status, WorkerTimeouts,
    keys::{self, Jid},
    logs::{LOG_BYTES_MAX, LOG_LINE_BYTES_MAX, LOG_LINES_MAX, LogLevel, LogPage, NewLogLine},
};
use keyrack_keys::Key;

use super::fixture::{Fixture, TTL_MS, completed, everywhere, failed, jid};

fn line(fixture: &Fixture, text: impl Into<String>) -> NewLogLine {
    NewLogLine { at: fixture.now(), level: LogLevel::Info, text: text.into() }
}

fn log_of(jid: &Jid) -> Key {
    keys::logs(jid, &jid.group())
}

impl Fixture {
    async fn write_log(&self, jid: &Jid, attempt: u64, texts: &[&str]) {
        let lines: Vec<NewLogLine> = texts.iter().map(|text| line(self, *text)).collect();
        self.hive.write_log(jid, attempt, &lines).await.expect("written");
    }

    async fn log(&self, jid: &Jid, from: u64) -> LogPage {
        self.hive.log(jid, from, LOG_LINES_MAX).await.expect("a log")
    }
}

fn texts(page: &LogPage) -> Vec<(u64, u64, &str)> {
    page.lines.iter().map(|line| (line.n, line.attempt, line.text.as_str())).collect()
}

#[tokio::test]
async fn lines_are_read_from_where_a_reader_was() {
    everywhere(async |fixture| {
        let jid = fixture.put("j").await;
        assert!(!fixture.exists(&log_of(&jid)).await, "a job that logs nothing has no log");
        assert_eq!(fixture.log(&jid, 0).await.next, 0);
        fixture.claim_one().await;
        fixture.write_log(&jid, 1, &["one", "two"]).await;
        fixture.write_log(&jid, 1, &["three"]).await;
        let page = fixture.log(&jid, 0).await;
        assert_eq!(texts(&page), [(0, 1, "one"), (1, 1, "two"), (2, 1, "three")]);
        assert_eq!((page.next, page.more, page.dropped), (3, false, 0));
        assert_eq!(page.lines[0].at, fixture.now());
        let page = fixture.hive.log(&jid, 1, 1).await.expect("a log");
        assert_eq!((texts(&page), page.next, page.more), (vec![(1, 1, "two")], 2, true));
        assert_eq!(fixture.log(&jid, 3).await.lines, []);
        let page = fixture.hive.log_end(&jid, 2).await.expect("a log");
        assert_eq!((texts(&page), page.next), (vec![(1, 1, "two"), (2, 1, "three")], 3));
    })
    .await;
}

#[tokio::test]
async fn the_newest_lines_are_kept_and_the_others_counted() {
    everywhere(async |fixture| {
        let jid = fixture.put("j").await;
        fixture.claim_one().await;
        for first in (0..2500).step_by(500) {
            let lines: Vec<NewLogLine> =
                (first..first + 500).map(|n| line(&fixture, n.to_string())).collect();
            fixture.hive.write_log(&jid, 1, &lines).await.expect("written");
        }
        let page = fixture.log(&jid, 0).await;
        assert_eq!((page.lines.len(), page.dropped, page.next), (LOG_LINES_MAX, 1500, 2500));
        assert_eq!((page.lines[0].n, page.lines[0].text.as_str()), (1500, "1500"));

        // What is long counts by its bytes, and no line is longer than it may be.
        let long = "ü".repeat(LOG_LINE_BYTES_MAX);
        for _ in 0..100 {
            fixture.write_log(&jid, 1, &[long.as_str()]).await;
        }
        let page = fixture.log(&jid, 0).await;
        assert_eq!(page.next, 2600);
        assert_eq!(page.dropped + page.lines.len() as u64, 2600);
        assert!(
            page.lines.iter().all(|line| line.text.len() <= LOG_LINE_BYTES_MAX + '…'.len_utf8())
        );
        let stored: Vec<String> = fixture.ask("LRANGE", &log_of(&jid), &["1", "-1"]).await;
        let n_bytes: usize = stored.iter().map(String::len).sum();
        assert!(n_bytes <= LOG_BYTES_MAX, "{n_bytes}");
        assert!(n_bytes > LOG_BYTES_MAX - 2 * LOG_LINE_BYTES_MAX, "no more is dropped than needed");
    })
    .await;
}

#[tokio::test]
async fn lines_of_a_worker_that_comes_late_carry_its_attempt() {
    everywhere(async |fixture| {
        let jid = fixture.put("j").await;
        fixture.claim_one().await;
        fixture.sweep_with(&WorkerTimeouts::KEYRACK, std::slice::from_ref(&fixture.worker)).await;
        let other = fixture.with_worker("w2");
        assert_eq!(other.claim_one().await.attempts(), 2);
        other.write_log(&jid, 2, &["new"]).await;
        fixture.write_log(&jid, 1, &["late"]).await;
        assert_eq!(texts(&fixture.log(&jid, 0).await), [(0, 2, "new"), (1, 1, "late")]);

        let early = fixture.hive.write_log(&jid, 3, &[line(&fixture, "early")]).await;
        let refused = early.expect_err("the third attempt has not begun").to_string();
        assert!(refused.contains("attempt") && refused.contains('3'), "{refused}");
        let gone = fixture.hive.write_log(&super::fixture::jid("nobody"), 1, &[]).await;
        assert!(gone.expect_err("no such job").to_string().contains("nobody"));
        assert_eq!(fixture.log(&jid, 0).await.next, 2, "what is refused is not stored");
    })
    .await;
}

#[tokio::test]
async fn a_log_goes_with_its_job() {
    everywhere(async |fixture| {
        // When the result expires.
        let expires = fixture.put("expires").await;
        let job = fixture.claim_one().await;
        fixture.write_log(&expires, 1, &["one"]).await;
        fixture.settle(&job, completed("1")).await;
        fixture.clock.advance_ms(TTL_MS + 1);
        fixture.sweep().await;
        assert_eq!(fixture.status(&expires).await, Status::Expired);
        fixture.assert_expires_in(&log_of(&expires), TTL_MS).await;
        fixture.write_log(&expires, 1, &["late"]).await;
        fixture.assert_expires_in(&log_of(&expires), TTL_MS).await;

        // When it is canceled, and not when it is then run again.
        let canceled = fixture.put("canceled").await;
        fixture.claim_one().await;
        fixture.write_log(&canceled, 1, &["one"]).await;
        fixture.hive.cancel(&canceled).await.expect("canceled");
        fixture.assert_expires_in(&log_of(&canceled), TTL_MS).await;
        fixture.hive.retry(&canceled).await.expect("runs again");
        let left: i64 = fixture.ask("PTTL", &log_of(&canceled), &[]).await;
        assert!(left > 90 * 86_400_000, "{left} ms");
        let job = fixture.claim_one().await;

        // When the queue keeps no more of its kind.
        let limits = keyrack_jobs::bee::Limits { failed_max: Some(1), ..Default::default() };
        fixture.hive.set_limits(&fixture.queue, &limits).await.expect("set");
        fixture.settle(&job, fatal()).await;
        let other = fixture.put("other").await;
        let job = fixture.claim_one().await;
        fixture.write_log(&other, 1, &["one"]).await;
        fixture.clock.advance_ms(1);
        fixture.settle(&job, fatal()).await;
        fixture.sweep().await;
        assert!(!fixture.exists(&log_of(&canceled)).await, "its job was dropped");
        assert!(fixture.exists(&log_of(&other)).await);
    })
    .await;
}

fn fatal() -> keyrack_jobs::bee::End {
    super::fixture::failed_for_good("no")
}

#[tokio::test]
async fn a_job_that_takes_the_place_of_an_ended_one_begins_a_new_log() {
    everywhere(async |fixture| {
        let submission = || fixture.job().id(jid("j")).unique(keyrack_jobs::bee::Unique::by_id());
        let jid = fixture.submit(submission()).await;
        let job = fixture.claim_one().await;
        fixture.write_log(&jid, 1, &["old"]).await;
        fixture.settle(&job, completed("1")).await;
        fixture.submit(submission()).await;
        assert_eq!(fixture.log(&jid, 0).await.next, 0);
    })
    .await;
}

#[tokio::test]
async fn a_follower_reads_every_line_once_and_stops_with_the_job() {
    everywhere(async |fixture| {
        let jid = fixture.put("j").await;
        let job = fixture.claim_one().await;
        fixture.write_log(&jid, 1, &["one"]).await;
        let mut follower = fixture.hive.follow_log(&jid, 0).await.expect("followed");
        let next = async |follower: &mut keyrack_jobs::bee::logs::LogFollower| {
            follower.next().await.expect("read")
        };
        assert_eq!(texts(&next(&mut follower).await.expect("lines")), [(0, 1, "one")]);
        let (page, ()) =
            tokio::join!(next(&mut follower), fixture.write_log(&jid, 1, &["two", "three"]));
        assert_eq!(texts(&page.expect("lines")), [(1, 1, "two"), (2, 1, "three")]);
        fixture.settle(&job, failed("once")).await;
        fixture.hive.cancel(&jid).await.expect("canceled");
        assert_eq!(next(&mut follower).await, None);
    })
    .await;
}

//! An explanation reads well.

use crate::Registry;

mod keys {
    #![allow(
        unreachable_pub,
        missing_docs,
        dead_code,
        reason = "the macros make whole public types"
    )]

    use crate::declare::*;

    parts! {
        /// The name of a queue.
        text QueueName;
        /// A job.
        text JobId;
    }

    keys! {
        owner = "jobs.bee", origin = Document(&["003"]);

        /// One job.
        ///
        /// Written by `submit`
        /// and by workers.
        job(id: JobId) in queue: QueueName = "job:<id>"
            => hash(fields! {
                /// What to do.
                task: Text,
                /// When it ended.
                ended_at: Optional(&UnixMs),
            }),
            ttl = Ttl::Within(60), removed = "by `forget`", example = "job:1";
    }
}

#[test]
fn explanation_shows_everything_declared() {
    let registry = Registry::new(&[keys::FAMILIES]);
    assert_eq!(
        registry.explain(b"{mail}job:4%202").unwrap().to_string(),
        "\
job:4%202

One job.

Written by `submit` and by workers.

family      jobs.bee.job
template    job:<id>
type        hash
expires     always, within 60 s
removed     by `forget`
owner       jobs
from        key document 003
on cluster  {mail}job:4%202

parts
  queue  mail  The name of a queue.
  id     4 2   A job.

content
  task      text: What to do.
  ended_at  unix time in whole milliseconds (optional): When it ended.
"
    );
}

#[test]
fn unknown_shard_stays_a_placeholder() {
    let registry = Registry::new(&[keys::FAMILIES]);
    assert_eq!(registry.explain(b"job:1").unwrap().cluster, "{<queue>}job:1");
    assert!(registry.explain(b"jobs:1").is_none());
}

#[test]
fn a_family_of_a_file_shows_its_programs_and_no_empty_text() {
    let text = "[document]\nname = \"shop\"\nowner = \"checkout team\"\nwriters = [\"shop\"]\n[parts]\nuser = \"text\"\n\
                [keys.basket]\ntemplate = \"basket:<user>\"\ntype = \"set\"\nmember = \"integer\"\nttl = \"1d\"\n\
                max_items = 50\nreaders = [\"mailer\", \"shop page\"]\n";
    let documents =
        crate::file::read(&[crate::file::Source { name: "shop.keys.toml", text }]).unwrap();
    let registry = Registry::new(&[&documents[0].families]);
    let explained = registry.explain(b"basket:ann").unwrap().to_string();
    let expected = "\
holds       at most 50
owner       checkout team
written by  shop
read by     mailer, shop page
from        a keys file
on cluster  basket:ann

parts
  user  ann

content
  member  integer
";
    assert!(explained.ends_with(expected), "{explained}");
    assert!(explained.starts_with("basket:ann\n\nfamily "), "{explained}");
}

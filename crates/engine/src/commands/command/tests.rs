//! COMMAND as clients see it; expected replies are a Redis 7.0.15's.

use crate::{reply::Reply, table, test_engine::TestEngine};

#[test]
fn info_describes_named_commands_and_subcommands() {
    TestEngine::new().check(
        "command info lpush nope get|x => *3 *10 $5 lpush :-3 *3 +write +denyoom +fast :1 :1 :1 *3 +@write +@list +@fast *0 *1 *6 $5 flags *2 +RW +update $12 begin_search *4 $4 type $5 index $4 spec *2 $5 index :1 $9 find_keys *4 $4 type $5 range $4 spec *6 $7 lastkey :0 $7 keystep :1 $5 limit :0 *0 $-1 $-1
         command info config|get => *1 *10 $10 config|get :-3 *4 +admin +noscript +loading +stale :0 :0 :0 *3 +@admin +@slow +@dangerous *0 *0 *0",
    );
}

#[test]
fn getkeys_finds_the_keys() {
    TestEngine::new().check(
        "command getkeys blpop a b 0 => *2 $1 a $1 b
         command getkeys lmpop 2 a b left => *2 $1 a $1 b
         command getkeys lmpop 3 a left => -ERR Invalid arguments specified for command
         command getkeys zunionstore d -9223372036854775808 2 a b => -ERR Invalid arguments specified for command
         command getkeys lpush a => -ERR Invalid number of arguments specified for command
         command getkeys config get a => -ERR The command has no key arguments
         command getkeys nope a => -ERR Invalid command specified",
    );
}

#[test]
fn list_can_be_filtered() {
    TestEngine::new().check(
        "command list filterby aclcat transaction => *5 $5 multi $4 exec $7 discard $5 watch $7 unwatch
         command list filterby pattern rpush* => *2 $5 rpush $6 rpushx
         command list filterby module any => *0
         command list filterby colour red => -ERR syntax error",
    );
}

#[test]
fn every_command_says_what_it_does_in_one_line() {
    for command in
        table::all().flat_map(|command| std::iter::once(command).chain(command.subcommands))
    {
        assert!(!command.summary.is_empty(), "{command:?} has no summary");
        assert!(!command.summary.ends_with('.'), "{command:?} ends with a full stop");
    }
}

#[test]
fn docs_are_a_map_by_name() {
    let mut rig = TestEngine::new();
    let Reply::Map(docs) = rig.run("command docs echo nope config|get") else { panic!("no map") };
    let names: Vec<&Reply> = docs.iter().map(|(name, _)| name).collect();
    assert_eq!(names, [&Reply::bulk("echo"), &Reply::bulk("config|get")]);
}

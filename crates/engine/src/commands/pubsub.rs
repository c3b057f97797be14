//! Publishing and subscribing: to channels, to patterns of channels, to shard channels.

use super::help::help;
use crate::{
    ctx::Ctx,
    glob,
    pubsub::Kind,
    reply::{Error, Reply},
    table::{Command, Flags, Group, Keys},
};

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const PUBLISH: Flags = Flags::PUBSUB.or(ANY_TIME).or(Flags::FAST).or(Flags::MAY_REPLICATE);
const SUBSCRIBE: Flags = Flags::PUBSUB.or(Flags::NOSCRIPT).or(ANY_TIME);
const INSPECT: Flags = Flags::PUBSUB.or(ANY_TIME);

pub(super) static COMMANDS: &[Command] = &[
    Command::new("publish", 3, PUBLISH, Keys::None, publish).doc(
        Group::PubSub,
        "2.0.0",
        "Sends a message to whoever listens to a channel",
    ),
    Command::new("spublish", 3, PUBLISH, Keys::FIRST, spublish).doc(
        Group::PubSub,
        "7.0.0",
        "Sends a message to whoever listens to a shard channel",
    ),
    Command::new("subscribe", -2, SUBSCRIBE, Keys::None, subscribe).doc(
        Group::PubSub,
        "2.0.0",
        "Listens to channels",
    ),
    Command::new("psubscribe", -2, SUBSCRIBE, Keys::None, psubscribe).doc(
        Group::PubSub,
        "2.0.0",
        "Listens to all channels that match a pattern",
    ),
    Command::new("ssubscribe", -2, SUBSCRIBE, Keys::ALL, ssubscribe).doc(
        Group::PubSub,
        "7.0.0",
        "Listens to shard channels",
    ),
    Command::new("unsubscribe", -1, SUBSCRIBE, Keys::None, unsubscribe).doc(
        Group::PubSub,
        "2.0.0",
        "Stops listening to the given channels, or to all",
    ),
    Command::new("punsubscribe", -1, SUBSCRIBE, Keys::None, punsubscribe).doc(
        Group::PubSub,
        "2.0.0",
        "Stops listening to the given patterns, or to all",
    ),
    Command::new("sunsubscribe", -1, SUBSCRIBE, Keys::ALL, sunsubscribe).doc(
        Group::PubSub,
        "7.0.0",
        "Stops listening to the given shard channels, or to all",
    ),
    Command::new("pubsub", -2, Flags::NONE, Keys::None, help)
        .doc(Group::PubSub, "2.8.0", "Tells who listens to what")
        .with(SUBCOMMANDS),
];

static SUBCOMMANDS: &[Command] = &[
    Command::new("pubsub|channels", -2, INSPECT, Keys::None, channels).doc(
        Group::PubSub,
        "2.8.0",
        "Lists the channels that somebody listens to",
    ),
    Command::new("pubsub|numsub", -2, INSPECT, Keys::None, numsub).doc(
        Group::PubSub,
        "2.8.0",
        "Counts who listens to the given channels, patterns aside",
    ),
    Command::new("pubsub|numpat", 2, INSPECT, Keys::None, numpat).doc(
        Group::PubSub,
        "2.8.0",
        "Counts the patterns that somebody listens to",
    ),
    Command::new("pubsub|shardchannels", -2, INSPECT, Keys::None, shardchannels).doc(
        Group::PubSub,
        "7.0.0",
        "Lists the shard channels that somebody listens to",
    ),
    Command::new("pubsub|shardnumsub", -2, INSPECT, Keys::None, shardnumsub).doc(
        Group::PubSub,
        "7.0.0",
        "Counts who listens to the given shard channels",
    ),
    Command::new("pubsub|help", 2, ANY_TIME, Keys::None, help).doc(
        Group::PubSub,
        "6.2.0",
        "Shows this help",
    ),
];

fn publish(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let n = ctx.state.pubsub.publish(&ctx.state.clients, args[1], args[2]);
    Ok(Reply::Int(n as i64))
}

fn spublish(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    let n = ctx.state.pubsub.publish_shard(&ctx.state.clients, args[1], args[2]);
    Ok(Reply::Int(n as i64))
}

fn subscribe(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(start(ctx, Kind::Channel, "subscribe", &args[1..]))
}

fn psubscribe(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(start(ctx, Kind::Pattern, "psubscribe", &args[1..]))
}

fn ssubscribe(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(start(ctx, Kind::Shard, "ssubscribe", &args[1..]))
}

fn unsubscribe(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(stop(ctx, Kind::Channel, "unsubscribe", &args[1..]))
}

fn punsubscribe(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(stop(ctx, Kind::Pattern, "punsubscribe", &args[1..]))
}

fn sunsubscribe(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(stop(ctx, Kind::Shard, "sunsubscribe", &args[1..]))
}

fn start(ctx: &mut Ctx<'_>, kind: Kind, event: &str, names: &[&[u8]]) -> Reply {
    let confirmations = names.iter().map(|name| {
        ctx.state.pubsub.subscribe(ctx.session, kind, name);
        confirmation(ctx, kind, event, Some(name))
    });
    Reply::Several(confirmations.collect())
}

fn stop(ctx: &mut Ctx<'_>, kind: Kind, event: &str, names: &[&[u8]]) -> Reply {
    let all: Vec<Box<[u8]>>;
    let all_names: Vec<&[u8]>;
    let names = if names.is_empty() {
        all = ctx.session.subscriptions.of(kind).iter().cloned().collect();
        all_names = all.iter().map(|name| &**name).collect();
        &all_names
    } else {
        names
    };
    if names.is_empty() {
        return Reply::Several(vec![confirmation(ctx, kind, event, None)]);
    }
    let confirmations = names.iter().map(|name| {
        ctx.state.pubsub.unsubscribe(ctx.session, kind, name);
        confirmation(ctx, kind, event, Some(name))
    });
    Reply::Several(confirmations.collect())
}

/// What a client is told about each subscription, with how many it has now.
fn confirmation(ctx: &Ctx<'_>, kind: Kind, event: &str, name: Option<&[u8]>) -> Reply {
    let subscriptions = &ctx.session.subscriptions;
    let n = match kind {
        Kind::Shard => subscriptions.shard_channels.len(),
        Kind::Channel | Kind::Pattern => {
            subscriptions.channels.len() + subscriptions.patterns.len()
        }
    };
    Reply::Push(vec![Reply::bulk(event), Reply::bulk_or_nil(name), Reply::Int(n as i64)])
}

fn channels(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    active(ctx, args, Kind::Channel)
}

fn shardchannels(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    active(ctx, args, Kind::Shard)
}

fn active(ctx: &Ctx<'_>, args: &[&[u8]], kind: Kind) -> Result<Reply, Error> {
    let pattern = match args[2..] {
        [] => None,
        [pattern] => Some(pattern),
        _ => return Err(wrong_arguments(args)),
    };
    let names = ctx.state.pubsub.active(kind).map(|(name, _)| name);
    let matching = names.filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
    Ok(Reply::bulks(matching))
}

/// What Redis answers where PUBSUB has too many arguments.
fn wrong_arguments(args: &[&[u8]]) -> Error {
    let sub = Error::shown(args[1]);
    Error::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try PUBSUB HELP."
    ))
}

fn numsub(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(n_listeners(ctx, Kind::Channel, &args[2..]))
}

fn shardnumsub(ctx: &mut Ctx<'_>, args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(n_listeners(ctx, Kind::Shard, &args[2..]))
}

fn n_listeners(ctx: &Ctx<'_>, kind: Kind, names: &[&[u8]]) -> Reply {
    let pairs = names.iter().flat_map(|name| {
        let n = ctx.state.pubsub.n_listeners(kind, name);
        [Reply::bulk(name), Reply::Int(n as i64)]
    });
    Reply::Array(pairs.collect())
}

fn numpat(ctx: &mut Ctx<'_>, _args: &[&[u8]]) -> Result<Reply, Error> {
    Ok(Reply::Int(ctx.state.pubsub.active(Kind::Pattern).count() as i64))
}

#[cfg(test)]
mod tests {
    use crate::{reply::Reply, test_engine::TestEngine};

    #[test]
    fn confirmations_count_channels_and_patterns_together() {
        let mut rig = TestEngine::new();
        rig.check(
            "subscribe a b a => *3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2 *3 $9 subscribe $1 a :2
             psubscribe p* => *3 $10 psubscribe $2 p* :3
             ssubscribe s => *3 $10 ssubscribe $1 s :1
             unsubscribe b nope => *3 $11 unsubscribe $1 b :2 *3 $11 unsubscribe $4 nope :2
             unsubscribe => *3 $11 unsubscribe $1 a :1
             unsubscribe => *3 $11 unsubscribe $-1 :1
             punsubscribe => *3 $12 punsubscribe $2 p* :0
             sunsubscribe => *3 $12 sunsubscribe $1 s :0
             sunsubscribe => *3 $12 sunsubscribe $-1 :0",
        );
    }

    #[test]
    fn a_message_reaches_channel_and_pattern_subscriptions() {
        let mut rig = TestEngine::new();
        let listener = rig.connect();
        rig.run_as(listener, "subscribe news");
        rig.run_as(listener, "psubscribe n* x*");
        rig.run_as(listener, "ssubscribe news");
        rig.check(
            "publish news hi => :2
             publish other hi => :0
             spublish news there => :1
             publish xs yo => :1",
        );
        let push = |parts: &[&str]| Reply::Push(parts.iter().map(Reply::bulk).collect());
        let expected = [
            push(&["message", "news", "hi"]),
            push(&["pmessage", "n*", "news", "hi"]),
            push(&["smessage", "news", "there"]),
            push(&["pmessage", "x*", "xs", "yo"]),
        ];
        assert_eq!(rig.delivered(listener), expected);
    }

    #[test]
    fn pubsub_tells_who_listens() {
        let mut rig = TestEngine::new();
        let listener = rig.connect();
        rig.run_as(listener, "subscribe news");
        rig.run_as(listener, "psubscribe n* x*");
        rig.check(
            "pubsub channels => *1 $4 news
             pubsub channels x* => *0
             pubsub numsub news other => *4 $4 news :1 $5 other :0
             pubsub numsub => *0
             pubsub numpat => :2
             pubsub shardchannels => *0
             pubsub shardnumsub news => *2 $4 news :0
             pubsub => -ERR wrong number of arguments for 'pubsub' command
             pubsub all => -ERR unknown subcommand 'all'. Try PUBSUB HELP.",
        );
        rig.state.disconnect(1);
        rig.check("pubsub channels => *0");
    }
}

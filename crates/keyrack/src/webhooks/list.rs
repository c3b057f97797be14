//! `keyrack webhooks list`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_services::Services;
use keyrack_webhooks::Hook;

use super::moment;
use crate::{
    Exit, Globals,
    table::{Cell, Table},
    terminal::Color,
};

/// Lists the webhooks.
pub(super) async fn run(services: &Services, globals: &Globals) -> anyhow::Result<Exit> {
    let hooks = services.webhooks.list().await?;
    if globals.json {
        globals.print_json(&hooks)?;
        return Ok(Exit::Ok);
    }
    if hooks.is_empty() {
        globals.say("no webhooks; \"keyrack webhooks create\" creates one");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&[
        "ID",
        "TO",
        "FORMAT",
        "STATE",
        "WAITING",
        "FAILED",
        "LAST DELIVERED",
        "EVENTS",
        "NAME",
    ]);
    for hook in &hooks {
        let settings = &hook.settings;
        table.row(vec![
            hook.id.as_str().into(),
            settings.site.as_str().into(),
            settings.format.as_str().into(),
            state(hook),
            hook.health.waiting.to_string().into(),
            hook.health.failed.to_string().into(),
            moment(hook.health.delivered_at).into(),
            settings.events.join(",").into(),
            settings.name.as_str().into(),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    out.flush()?;
    let dropped = services.jobs().await?.hive.outbox_dropped().await?;
    if dropped > 0 {
        let ends = format::counted(dropped, "end");
        globals.say(format_args!("{ends} of jobs dropped: no server had handed on 100,000 before"));
    }
    Ok(Exit::Ok)
}

fn state(hook: &Hook) -> Cell {
    match (hook.settings.enabled, hook.health.failures) {
        (false, _) => Cell::painted("off", Some(Color::Dim)),
        (true, 0) => "ok".into(),
        (true, _) => Cell::painted("failing", Some(Color::Yellow)),
    }
}

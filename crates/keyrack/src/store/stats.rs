//! `keyrack store stats`.

use std::io::Write as _;

use keyrack_format as format;
use keyrack_store::{Info, Store};
use serde_json::{Value, json};

use crate::{Exit, Globals};

/// Tells what the store runs on and what it holds.
pub(super) async fn run(globals: &Globals) -> anyhow::Result<Exit> {
    let store = globals.open_existing_store().await?;
    let info = store.info().await?;
    if globals.json {
        globals.print_json(&as_json(&store, &info))?;
    } else {
        print(&store, &info, globals)?;
    }
    Ok(Exit::Ok)
}

fn print(store: &Store, info: &Info, globals: &Globals) -> anyhow::Result<()> {
    let mut out = globals.out();
    writeln!(out, "store     {store}")?;
    writeln!(out, "kind      {}", store.kind())?;
    writeln!(out, "runs      {}", info.version)?;
    if info.servers > 1 {
        writeln!(out, "servers   {}", info.servers)?;
    }
    writeln!(out, "up for    {}", format::duration_s(info.uptime_s))?;
    writeln!(out, "memory    {}", format::bytes(info.memory_bytes))?;
    writeln!(out, "clients   {}", format::count(info.clients))?;
    match info.log_bytes {
        Some(bytes) => writeln!(out, "log       {}", format::bytes(bytes))?,
        None => writeln!(out, "log       none")?,
    }
    writeln!(out, "keys      {}", format::count(info.keys()))?;
    for database in &info.databases {
        let keys = format::counted(database.keys, "key");
        let expires = format::count(database.expires);
        writeln!(out, "  db {:<4} {keys}, {expires} of them expiring", database.db)?;
    }
    Ok(out.flush()?)
}

fn as_json(store: &Store, info: &Info) -> Value {
    let databases = info.databases.iter().map(
        |database| json!({ "db": database.db, "keys": database.keys, "expires": database.expires }),
    );
    json!({
        "store": store.to_string(),
        "kind": store.kind().to_string(),
        "version": info.version,
        "servers": info.servers,
        "uptime_s": info.uptime_s,
        "memory_bytes": info.memory_bytes,
        "clients": info.clients,
        "log_bytes": info.log_bytes,
        "keys": info.keys(),
        "databases": databases.collect::<Vec<_>>(),
    })
}

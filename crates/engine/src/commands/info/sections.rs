//! The sections of INFO. Fields have Redis' names, as clients and tools read them.

use super::{
    Lines,
    process::{Usage, total_system_memory},
};
use crate::{
    allocator, commands::connection::REDIS_VERSION, ctx::Ctx, pubsub::Kind, session::Session,
    state::State,
};

type Write = fn(&mut Lines<'_>, &Ctx<'_>);

/// All sections, in the order they are told.
pub(super) const SECTIONS: [(&str, Write); 10] = [
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", cpu),
    ("Modules", |_, _| {}),
    ("Cluster", |lines, _| lines.add("cluster_enabled", 0)),
    ("Keyspace", keyspace),
];

fn server(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    let state = &*ctx.state;
    let uptime_s = state.now_us().saturating_sub(state.stats.started_us) / 1_000_000;
    lines.add("redis_version", REDIS_VERSION);
    lines.add("keyrack_engine_version", env!("CARGO_PKG_VERSION"));
    lines.add("redis_mode", "standalone");
    lines.add("os", format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    lines.add("arch_bits", usize::BITS);
    lines.add("process_id", std::process::id());
    lines.add("run_id", run_id(state));
    lines.add("tcp_port", port(ctx.session));
    lines.add("server_time_usec", state.now_us());
    lines.add("uptime_in_seconds", uptime_s);
    lines.add("uptime_in_days", uptime_s / 86_400);
    lines.add("hz", 10);
    lines.add("configured_hz", 10);
    lines.add("config_file", "");
}

/// Forty digits that are different for each start.
fn run_id(state: &State) -> String {
    let (seed, started) = (state.seed, state.stats.started_us);
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ started;
    format!("{mixed:016x}{:016x}{:08x}", mixed.rotate_left(29) ^ !seed, started as u32)
}

/// The port that this client came in by; in process there is none.
fn port(session: &Session) -> &str {
    session.about.local_address.rsplit_once(':').map_or("0", |(_, port)| port)
}

fn clients(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    let state = &*ctx.state;
    let n_blocked = state.clients.iter().filter(|session| session.wait.is_some()).count();
    lines.add("connected_clients", state.clients.len());
    lines.add("cluster_connections", 0);
    lines.add("maxclients", state.config.clients_max);
    lines.add("client_recent_max_input_buffer", 0);
    lines.add("client_recent_max_output_buffer", 0);
    lines.add("blocked_clients", n_blocked);
    lines.add("tracking_clients", 0);
    lines.add("clients_in_timeout_table", 0);
}

fn memory(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    let resident = Usage::now().resident_bytes;
    // A program that does not count its memory is judged by its pages.
    let (allocator, used, peak) = allocator::usage()
        .map_or(("unknown", resident, resident), |usage| (usage.name, usage.used, usage.peak));
    let dataset = used.saturating_sub(ctx.state.stats.started_memory);
    let scripts = ctx.state.scripts.as_ref();
    let (n_scripts, lua) = scripts.map_or((0, 0), |scripts| (scripts.len(), scripts.memory_used()));
    let ratio = if used == 0 { 1.0 } else { resident as f64 / used as f64 };
    lines.bytes("used_memory", used);
    lines.bytes("used_memory_rss", resident);
    lines.bytes("used_memory_peak", peak);
    lines.add("used_memory_peak_perc", percent(used, peak));
    lines.add("used_memory_overhead", used - dataset);
    lines.add("used_memory_startup", ctx.state.stats.started_memory);
    lines.add("used_memory_dataset", dataset);
    lines.add("used_memory_dataset_perc", percent(dataset, used));
    lines.add("allocator_allocated", used);
    lines.add("allocator_active", used);
    lines.add("allocator_resident", resident);
    lines.bytes("total_system_memory", total_system_memory());
    lines.bytes("used_memory_lua", lua);
    lines.add("used_memory_vm_eval", lua);
    lines.bytes("used_memory_vm_total", lua);
    lines.add("number_of_cached_scripts", n_scripts);
    lines.add("number_of_functions", 0);
    lines.add("number_of_libraries", 0);
    lines.bytes("maxmemory", 0);
    lines.add("maxmemory_policy", "noeviction");
    lines.add("mem_fragmentation_ratio", format_args!("{ratio:.2}"));
    lines.add("mem_fragmentation_bytes", resident as i64 - used as i64);
    lines.add("mem_clients_slaves", 0);
    lines.add("mem_clients_normal", 0);
    lines.add("mem_aof_buffer", 0);
    lines.add("mem_allocator", allocator);
    lines.add("active_defrag_running", 0);
    lines.add("lazyfree_pending_objects", 0);
    lines.add("lazyfreed_objects", 0);
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.2}%", if whole == 0 { 100.0 } else { part as f64 / whole as f64 * 100.0 })
}

fn persistence(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    let state = &*ctx.state;
    let status = |failed: bool| if failed { "err" } else { "ok" };
    lines.add("loading", u8::from(state.loading));
    lines.add("async_loading", 0);
    lines.add("rdb_changes_since_last_save", 0);
    lines.add("rdb_bgsave_in_progress", 0);
    lines.add("rdb_last_save_time", state.stats.started_us / 1_000_000);
    lines.add("rdb_last_bgsave_status", "ok");
    lines.add("rdb_last_bgsave_time_sec", -1);
    lines.add("rdb_current_bgsave_time_sec", -1);
    lines.add("rdb_saves", 0);
    lines.add("aof_enabled", u8::from(state.log.is_some()));
    lines.add("aof_rewrite_in_progress", u8::from(state.rewrite.is_running()));
    lines.add("aof_rewrite_scheduled", u8::from(state.rewrite.wanted));
    lines.add("aof_last_bgrewrite_status", status(state.rewrite.last_error.is_some()));
    if let Some(log) = &state.log {
        lines.add("aof_last_write_status", status(log.write_error().is_some()));
        lines.add("aof_current_size", log.size());
        lines.add("aof_base_size", log.base_size());
    } else {
        lines.add("aof_last_write_status", "ok");
    }
}

fn stats(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    let (stats, pubsub) = (&ctx.state.stats, &ctx.state.pubsub);
    lines.add("total_connections_received", stats.connections);
    lines.add("total_commands_processed", stats.commands);
    lines.add("instantaneous_ops_per_sec", 0);
    lines.add("total_net_input_bytes", stats.input_bytes);
    lines.add("total_net_output_bytes", stats.output_bytes);
    lines.add("instantaneous_input_kbps", "0.00");
    lines.add("instantaneous_output_kbps", "0.00");
    lines.add("rejected_connections", stats.rejected_connections);
    lines.add("sync_full", 0);
    lines.add("sync_partial_ok", 0);
    lines.add("sync_partial_err", 0);
    lines.add("expired_keys", stats.expired_keys);
    lines.add("evicted_keys", 0);
    lines.add("evicted_clients", 0);
    lines.add("keyspace_hits", stats.keyspace_hits);
    lines.add("keyspace_misses", stats.keyspace_misses);
    lines.add("pubsub_channels", pubsub.active(Kind::Channel).count());
    lines.add("pubsub_patterns", pubsub.active(Kind::Pattern).count());
    lines.add("pubsubshard_channels", pubsub.active(Kind::Shard).count());
    lines.add("latest_fork_usec", 0);
    lines.add("total_forks", 0);
    lines.add("migrate_cached_sockets", 0);
    lines.add("active_defrag_hits", 0);
    lines.add("active_defrag_misses", 0);
    lines.add("tracking_total_keys", 0);
    lines.add("tracking_total_items", 0);
    lines.add("tracking_total_prefixes", 0);
}

fn replication(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    lines.add("role", "master");
    lines.add("connected_slaves", 0);
    lines.add("master_failover_state", "no-failover");
    lines.add("master_replid", run_id(ctx.state));
    lines.add("master_replid2", "0000000000000000000000000000000000000000");
    lines.add("master_repl_offset", 0);
    lines.add("second_repl_offset", -1);
    lines.add("repl_backlog_active", 0);
    lines.add("repl_backlog_size", 1 << 20);
    lines.add("repl_backlog_first_byte_offset", 0);
    lines.add("repl_backlog_histlen", 0);
}

fn cpu(lines: &mut Lines<'_>, _ctx: &Ctx<'_>) {
    let usage = Usage::now();
    lines.add("used_cpu_sys", format_args!("{:.6}", usage.system_s));
    lines.add("used_cpu_user", format_args!("{:.6}", usage.user_s));
    lines.add("used_cpu_sys_children", "0.000000");
    lines.add("used_cpu_user_children", "0.000000");
}

fn keyspace(lines: &mut Lines<'_>, ctx: &Ctx<'_>) {
    for (i, db) in ctx.state.dbs.iter().enumerate().filter(|(_, db)| !db.is_empty()) {
        let (keys, expires) = (db.len(), db.n_volatile());
        lines.add(&format!("db{i}"), format_args!("keys={keys},expires={expires},avg_ttl=0"));
    }
}

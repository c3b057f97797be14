//! One redis-server with appendfsync always, behind a proxy that can break the network.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use fastrand::Rng;
use keyrack_testkit::{FaultProxy, RedisServer, wait_until};

use super::{Servers, last, longest_file, wrong_store};
use crate::{clock_step, deployment::Processes, fault::Fault, serve::limit_files};

/// The user as which everybody logs in; faults lock it out.
const USER: &str = "app";
const PASSWORD: &str = "secret";

/// How much still fits when the disk is nearly full.
const SPACE_BYTES: u64 = 20_000;

pub(crate) struct Standalone {
    server: RedisServer,
    proxy: FaultProxy,
}

impl Servers for Standalone {
    async fn start(folder: &Path) -> Standalone {
        let users = folder.join("users.acl");
        let rules =
            format!("user default on nopass ~* &* +@all\nuser {USER} on >{PASSWORD} ~* &* +@all\n");
        fs::write(&users, rules).expect("a file of users");
        let server = RedisServer::builder()
            .append_only()
            .config("aclfile", &users.display().to_string())
            .binary(program_that_survives_long_files(folder))
            .start();
        let proxy = FaultProxy::start(server.addr()).await;
        Standalone { server, proxy }
    }

    fn url(&self) -> String {
        format!("redis://{USER}:{PASSWORD}@{}", self.proxy.addr())
    }

    async fn inject(&mut self, fault: Fault, processes: &mut Processes, random: &mut Rng) {
        match fault {
            Fault::KillServer => {
                self.server.kill();
                last(random, 0..=2000).await;
                self.server.restart();
            }
            Fault::StopServer => {
                self.server.pause();
                last(random, 500..=6000).await;
                self.server.resume();
            }
            Fault::CutConnections => self.cut_connections(random).await,
            Fault::SilenceNetwork => {
                self.proxy.black_hole(true);
                last(random, 1000..=4000).await;
                self.proxy.black_hole(false);
            }
            Fault::FillDisk => self.fill_disk(random).await,
            Fault::FillDiskEverysec => self.fill_disk_everysec(random).await,
            Fault::FillMemory => {
                self.set("maxmemory", "1");
                last(random, 500..=3000).await;
                self.set("maxmemory", "0");
            }
            Fault::FlushScripts => {
                for _ in 0..random.u8(3..=8) {
                    self.run(redis::cmd("SCRIPT").arg("FLUSH"));
                    last(random, 50..=300).await;
                }
            }
            Fault::RefuseUser => {
                self.run(redis::cmd("ACL").arg("SETUSER").arg(USER).arg("off"));
                self.run(redis::cmd("CLIENT").arg("KILL").arg("USER").arg(USER));
                last(random, 500..=3000).await;
                self.run(redis::cmd("ACL").arg("SETUSER").arg(USER).arg("on"));
            }
            Fault::StepWorkerClock => clock_step::of_worker(processes, random).await,
            Fault::StepServeClock => clock_step::of_serve(processes, random).await,
            Fault::FlushData => self.run(&redis::cmd("FLUSHALL")),
            _ => wrong_store(fault),
        }
    }
}

impl Standalone {
    async fn cut_connections(&mut self, random: &mut Rng) {
        for _ in 0..random.u8(3..=8) {
            self.proxy.cut();
            last(random, 50..=300).await;
        }
        self.proxy.refuse(true).await;
        self.proxy.cut();
        last(random, 1000..=1000).await;
        self.proxy.refuse(false).await;
    }

    /// With appendfsync always a redis-server that cannot write its log ends, before it has acknowledged anything.
    async fn fill_disk(&mut self, random: &mut Rng) {
        self.limit_log();
        wait_until("the server to end because its disk is full", || !self.server.is_running());
        last(random, 500..=2000).await;
        self.server.restart();
    }

    /// With appendfsync everysec it refuses writes until the log can grow again.
    async fn fill_disk_everysec(&mut self, random: &mut Rng) {
        self.set("appendfsync", "everysec");
        self.limit_log();
        wait_until("the server to refuse writes", || {
            self.server.info("aof_last_write_status").as_deref() == Some("err")
        });
        last(random, 500..=2000).await;
        limit_files(self.server.process_id(), None);
        wait_until("the server to take writes", || {
            self.server.info("aof_last_write_status").as_deref() == Some("ok")
        });
        self.set("appendfsync", "always");
    }

    fn limit_log(&self) {
        let length = longest_file(&self.server.dir().join("appendonlydir"));
        limit_files(self.server.process_id(), Some(length + SPACE_BYTES));
    }

    fn set(&self, name: &str, value: &str) {
        self.run(redis::cmd("CONFIG").arg("SET").arg(name).arg(value));
    }

    fn run(&self, command: &redis::Cmd) {
        command
            .exec(&mut self.server.connection())
            .unwrap_or_else(|error| panic!("the server refused: {error}"));
    }
}

/// A redis-server that gets an error, and no signal, when a file must not grow.
fn program_that_survives_long_files(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("redis-server");
    fs::write(&path, "#!/bin/sh\ntrap '' XFSZ\nexec redis-server \"$@\"\n").expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

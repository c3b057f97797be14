//! What can happen, to which store.

use std::fmt::{self, Write as _};

/// The stores, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoreKind {
    Standalone,
    Embedded,
    Sentinel,
    Cluster,
}

impl StoreKind {
    pub(crate) const ALL: [StoreKind; 4] =
        [StoreKind::Standalone, StoreKind::Embedded, StoreKind::Sentinel, StoreKind::Cluster];

    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Standalone => "standalone",
            StoreKind::Embedded => "embedded",
            StoreKind::Sentinel => "sentinel",
            StoreKind::Cluster => "cluster",
        }
    }

    /// The fault that must fail a campaign, to prove that it notices; only who names it gets it.
    pub(crate) fn canary(self) -> Option<Fault> {
        (self == StoreKind::Standalone).then_some(Fault::FlushData)
    }

    /// The faults of this store, in the order in which a round injects them.
    pub(crate) fn faults(self) -> &'static [Fault] {
        match self {
            StoreKind::Standalone => &[
                Fault::KillServer,
                Fault::StopServer,
                Fault::CutConnections,
                Fault::SilenceNetwork,
                Fault::FillDisk,
                Fault::FillDiskEverysec,
                Fault::FillMemory,
                Fault::FlushScripts,
                Fault::RefuseUser,
                Fault::StepWorkerClock,
                Fault::StepServeClock,
            ],
            StoreKind::Embedded => {
                &[Fault::KillServer, Fault::FillDisk, Fault::KillWorker, Fault::StopWorker]
            }
            StoreKind::Sentinel => {
                &[Fault::PlannedFailover, Fault::KillMaster, Fault::StopMaster, Fault::KillWorker]
            }
            StoreKind::Cluster => &[
                Fault::Reshard,
                Fault::KillMaster,
                Fault::KillWorker,
                Fault::StopWorker,
                Fault::StepWorkerClock,
            ],
        }
    }
}

/// Something that goes wrong, and is made good again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    KillServer,
    StopServer,
    CutConnections,
    SilenceNetwork,
    FillDisk,
    FillDiskEverysec,
    FillMemory,
    FlushScripts,
    RefuseUser,
    KillWorker,
    StopWorker,
    StepWorkerClock,
    StepServeClock,
    PlannedFailover,
    KillMaster,
    StopMaster,
    Reshard,
    FlushData,
}

impl Fault {
    pub(crate) const ALL: [Fault; 18] = [
        Fault::KillServer,
        Fault::StopServer,
        Fault::CutConnections,
        Fault::SilenceNetwork,
        Fault::FillDisk,
        Fault::FillDiskEverysec,
        Fault::FillMemory,
        Fault::FlushScripts,
        Fault::RefuseUser,
        Fault::KillWorker,
        Fault::StopWorker,
        Fault::StepWorkerClock,
        Fault::StepServeClock,
        Fault::PlannedFailover,
        Fault::KillMaster,
        Fault::StopMaster,
        Fault::Reshard,
        Fault::FlushData,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::KillServer => "kill-server",
            Fault::StopServer => "stop-server",
            Fault::CutConnections => "cut-connections",
            Fault::SilenceNetwork => "silence-network",
            Fault::FillDisk => "fill-disk",
            Fault::FillDiskEverysec => "fill-disk-everysec",
            Fault::FillMemory => "fill-memory",
            Fault::FlushScripts => "flush-scripts",
            Fault::RefuseUser => "refuse-user",
            Fault::KillWorker => "kill-worker",
            Fault::StopWorker => "stop-worker",
            Fault::StepWorkerClock => "step-worker-clock",
            Fault::StepServeClock => "step-serve-clock",
            Fault::PlannedFailover => "planned-failover",
            Fault::KillMaster => "kill-master",
            Fault::StopMaster => "stop-master",
            Fault::Reshard => "reshard",
            Fault::FlushData => "flush-data",
        }
    }

    /// What is done.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Fault::KillServer => "kill -9 of the server, and a restart on its data",
            Fault::StopServer => "SIGSTOP of the server for 0.5 to 6 s",
            Fault::CutConnections => {
                "all connections are reset 3 to 8 times, then refused for a second"
            }
            Fault::SilenceNetwork => "every byte is lost for 1 to 4 s while connections seem open",
            Fault::FillDisk => {
                "the log cannot grow for 0.5 to 2 s; a redis-server with appendfsync always ends and is restarted"
            }
            Fault::FillDiskEverysec => {
                "the same with appendfsync everysec, where the redis-server refuses writes and goes on by itself"
            }
            Fault::FillMemory => "maxmemory is set below what is used, for 0.5 to 3 s",
            Fault::FlushScripts => "SCRIPT FLUSH, 3 to 8 times",
            Fault::RefuseUser => "ACL SETUSER off and CLIENT KILL USER; on again after 0.5 to 3 s",
            Fault::KillWorker => "kill -9 of one or two of three workers, and new ones",
            Fault::StopWorker => "SIGSTOP of a worker for 16 s, longer than its lock of 10 s",
            Fault::StepWorkerClock => {
                "the clock of a worker is set by minutes to hours, forward and back"
            }
            Fault::StepServeClock => {
                "the clock of keyrack serve is set by minutes to hours, forward and back"
            }
            Fault::PlannedFailover => "SENTINEL FAILOVER",
            Fault::KillMaster => {
                "kill -9 of a master, a replica takes over, the old master comes back"
            }
            Fault::StopMaster => {
                "SIGSTOP of the master until the replica has taken over, and 0 to 2 s more"
            }
            Fault::FlushData => "FLUSHALL: a canary that must fail, injected only by name",
            Fault::Reshard => {
                "redis-cli --cluster reshard of the slots of a queue with 2,000 waiting jobs and of a drained queue"
            }
        }
    }

    /// Why jobs may run more than once, or `None` if they must not.
    pub(crate) fn repeats_because(self) -> Option<&'static str> {
        match self {
            Fault::StepWorkerClock | Fault::StepServeClock | Fault::FlushScripts => None,
            Fault::KillWorker | Fault::StopWorker => {
                Some("a job whose worker is gone for longer than its lock runs on another worker")
            }
            Fault::PlannedFailover | Fault::KillMaster | Fault::StopMaster => {
                Some("the end of a job that no replica had is lost with the old master")
            }
            _ => Some("a worker that cannot report for longer than its lock loses its jobs"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What to run, as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    Fault(Fault),
    Store(StoreKind),
}

pub(crate) fn parse_selection(word: &str) -> Result<Selection, String> {
    let store = StoreKind::ALL.into_iter().find(|store| store.name() == word);
    let fault = Fault::ALL.into_iter().find(|fault| fault.name() == word);
    store
        .map(Selection::Store)
        .or(fault.map(Selection::Fault))
        .ok_or_else(|| format!("neither a fault nor a store; these are:\n\n{}", list()))
}

/// The faults of a store that a selection asks for; all of them if it is empty.
pub(crate) fn selected(store: StoreKind, selection: &[Selection]) -> Vec<Fault> {
    let all = selection.is_empty() || selection.contains(&Selection::Store(store));
    let named = |fault: &Fault| selection.contains(&Selection::Fault(*fault));
    let faults = store.faults().iter().copied().filter(|fault| all || named(fault));
    faults.chain(store.canary().filter(named)).collect()
}

/// All faults with the stores that have them.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for store in StoreKind::ALL {
        for fault in store.faults().iter().copied().chain(store.canary()) {
            let _ = writeln!(text, "{:<11} {:<19} {}", store.name(), fault, fault.description());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_name_of_its_own_and_a_store() {
        for fault in Fault::ALL {
            assert_eq!(parse_selection(fault.name()), Ok(Selection::Fault(fault)));
            let has = |store: &StoreKind| selected(*store, &[Selection::Fault(fault)]) == [fault];
            assert!(StoreKind::ALL.iter().any(has), "{fault}");
        }
    }

    #[test]
    fn the_canary_is_injected_only_by_name() {
        let canary = [Selection::Fault(Fault::FlushData)];
        assert_eq!(selected(StoreKind::Standalone, &canary), [Fault::FlushData]);
        for selection in [&[][..], &[Selection::Store(StoreKind::Standalone)]] {
            assert!(!selected(StoreKind::Standalone, selection).contains(&Fault::FlushData));
        }
    }

    #[test]
    fn a_selection_takes_faults_and_whole_stores() {
        let of = |store, words: &[&str]| {
            let selection: Vec<_> =
                words.iter().map(|word| parse_selection(word).expect("known")).collect();
            selected(store, &selection)
        };
        assert_eq!(of(StoreKind::Sentinel, &[]), StoreKind::Sentinel.faults());
        assert_eq!(of(StoreKind::Cluster, &["kill-master"]), [Fault::KillMaster]);
        assert_eq!(of(StoreKind::Cluster, &["kill-server", "sentinel"]), []);
        assert_eq!(of(StoreKind::Cluster, &["cluster"]), StoreKind::Cluster.faults());
        assert!(parse_selection("meteorite").is_err());
    }
}

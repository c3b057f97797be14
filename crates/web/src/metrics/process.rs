//! What the system says about this process.

use std::fs;

/// What a process uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Process {
    pub(super) cpu_s: f64,
    pub(super) resident_bytes: u64,
    pub(super) threads: u64,
    pub(super) open_files: u64,
}

/// Linux counts processor time in these, whatever the kernel's own tick is.
const TICKS_PER_S: f64 = 100.0;

impl Process {
    /// Read from `/proc`; `None` where there is none.
    pub(super) fn now() -> Option<Process> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let open_files = fs::read_dir("/proc/self/fd").ok()?.count() as u64;
        Some(Process { open_files, ..Process::parse(&stat, &status)? })
    }

    fn parse(stat: &str, status: &str) -> Option<Process> {
        // The program's name comes second and may hold anything, so fields are counted from its closing bracket.
        let (_, fields) = stat.rsplit_once(") ")?;
        let ticks = fields.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().ok());
        let ticks: f64 = ticks.sum::<Option<f64>>()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Process {
            cpu_s: ticks / TICKS_PER_S,
            resident_bytes: field("VmRSS:")? * 1024,
            threads: field("Threads:")?,
            open_files: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 150 0 0 0 250 50 0 0 20 0 1 0 9 2000 3 1844";
        let status = "Name:\ta) b\nVmRSS:\t      12 kB\nThreads:\t3\n";
        let parsed = Process::parse(stat, status).expect("both files are whole");
        let expected = Process { cpu_s: 3.0, resident_bytes: 12_288, threads: 3, open_files: 0 };
        assert_eq!(parsed, expected);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_memory_and_files() {
        let process = Process::now().expect("/proc is there");
        assert!(process.resident_bytes > 0 && process.threads > 0 && process.open_files > 0);
    }
}

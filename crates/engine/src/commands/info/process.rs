//! What the system says about this process; zeroes where it does not say.

/// Time and memory the process has used.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    pub(super) resident_bytes: usize,
}

impl Usage {
    /// Read from `/proc`, where there is one.
    pub(super) fn now() -> Usage {
        std::fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|stat| Usage::parse(&stat))
            .unwrap_or_default()
    }

    /// The program's name comes second and may hold anything, so fields are counted from its closing bracket.
    fn parse(stat: &str) -> Option<Usage> {
        const TICKS_PER_S: f64 = 100.0;
        const PAGE_BYTES: usize = 4096;
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        Some(Usage {
            user_s: fields.get(11)?.parse::<f64>().ok()? / TICKS_PER_S,
            system_s: fields.get(12)?.parse::<f64>().ok()? / TICKS_PER_S,
            resident_bytes: fields.get(21)?.parse::<usize>().ok()? * PAGE_BYTES,
        })
    }
}

/// Bytes of memory that the machine has.
pub(super) fn total_system_memory() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 150 0 0 0 250 50 0 0 20 0 1 0 9 2000 3 1844";
        let usage = Usage::parse(stat).expect("the line is whole");
        assert_eq!((usage.user_s, usage.system_s), (2.5, 0.5));
        assert_eq!(usage.resident_bytes, 3 * 4096);
    }
}

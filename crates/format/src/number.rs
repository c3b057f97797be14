//! Numbers and bytes.

/// A number with its thousands set apart: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An estimate, to three digits, and marked as one: `≈ 12,300`.
pub fn estimate(n: u64) -> String {
    let unit = 10_u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(2));
    format!("≈ {}", count(n.saturating_add(unit / 2) / unit * unit))
}

/// A number of things: `1 key`, `2 keys`.
pub fn counted(n: u64, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(n))
}

/// Bytes with a unit: `1.5 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if n < 1000 {
        return counted(n, "byte");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 would be shown as 1000.0.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let told = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(told, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "key"), counted(2_000, "key")], ["1 key", "2,000 keys"]);
    }

    #[test]
    fn estimates_have_three_digits() {
        let told = [0, 7, 999, 12_349, 12_350, 999_900, u64::MAX].map(estimate);
        let expected = [
            "≈ 0",
            "≈ 7",
            "≈ 999",
            "≈ 12,300",
            "≈ 12,400",
            "≈ 1,000,000",
            "≈ 18,400,000,000,000,000,000",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn bytes_have_the_unit_that_keeps_them_short() {
        let told = [0, 1, 999, 1_000, 1_550, 999_949, 999_950, 5_000_000_000_000_000].map(bytes);
        let expected = [
            "0 bytes",
            "1 byte",
            "999 bytes",
            "1.0 kB",
            "1.6 kB",
            "999.9 kB",
            "1.0 MB",
            "5000.0 TB",
        ];
        assert_eq!(told, expected);
    }
}

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

/// A number in a few digits: `12,346`, `0.0123`, `1.20e9`.
pub fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e7).contains(&size) {
        return format!("{number:.2e}");
    }
    if size >= 1000.0 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(size.round() as u64));
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A share as percent, without digits that mean nothing: `12 %`, `0.4 %`, `< 0.1 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".into(),
        ..0.1 => "< 0.1 %".into(),
        ..10.0 => format!("{} %", (percent * 10.0).round() / 10.0),
        _ => format!("{percent:.0} %"),
    }
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
    fn shares_have_one_or_two_digits() {
        let told = [0.0, 0.0004, 0.004, 0.0951, 0.5, 1.0].map(percent);
        assert_eq!(told, ["0 %", "< 0.1 %", "0.4 %", "9.5 %", "50 %", "100 %"]);
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

    #[test]
    fn numbers_are_told_in_a_few_digits() {
        let told = [0.0, 7.0, -2.5, 0.012_345, 999.96, 12_345.6, 1.2e9, -1e-9].map(short);
        assert_eq!(told, ["0", "7", "-2.5", "0.01235", "1000", "12,346", "1.20e9", "-1.00e-9"]);
    }
}

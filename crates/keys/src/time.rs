//! Days and moments as text.

/// Is `text` a calendar day in the form `2026-11-18`?
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let (Some(year), Some(month), Some(day)) =
        (digits(&bytes[..4]), digits(&bytes[5..7]), digits(&bytes[8..]))
    else {
        return false;
    };
    (1..=12).contains(&month) && (1..=days(year, month)).contains(&day)
}

/// Is `text` a moment in the form of RFC 3339, with `T` or a space between day and time, the zone optional?
pub(crate) fn is_moment(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else { return false };
    let Some((time, rest)) = rest.split_at_checked(8) else { return false };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let after = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if after.len() == fraction.len() {
                return false;
            }
            after
        }
        None => rest,
    };
    is_date(date) && is_time(time, true) && is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    match text.trim_start_matches(' ') {
        "" | "Z" | "z" => true,
        zone => zone.strip_prefix(['+', '-']).is_some_and(|offset| {
            is_time(offset, false)
                || (offset.len() == 4 && offset.bytes().all(|byte| byte.is_ascii_digit()))
        }),
    }
}

/// `08:44:29`, or `08:44` without seconds. A leap second counts as 60.
fn is_time(text: &str, seconds: bool) -> bool {
    let fields: Vec<&str> = text.split(':').collect();
    let limits: &[u32] = if seconds { &[23, 59, 60] } else { &[23, 59] };
    fields.len() == limits.len()
        && fields.iter().zip(limits).all(|(field, max)| {
            field.len() == 2 && digits(field.as_bytes()).is_some_and(|n| n <= *max)
        })
}

fn digits(bytes: &[u8]) -> Option<u32> {
    bytes
        .iter()
        .try_fold(0, |n, byte| byte.is_ascii_digit().then(|| n * 10 + u32::from(byte - b'0')))
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert!(["2026-11-18", "2024-02-29", "2000-02-29"].into_iter().all(is_date));
        let wrong = ["2026-02-29", "1900-02-29", "2026-13-01", "2026-1-01", "2026-00-10", ""];
        assert!(!wrong.into_iter().any(is_date));
    }

    #[test]
    fn moments_have_a_day_a_time_and_perhaps_a_zone() {
        let right = [
            "2026-11-18T08:44:29Z",
            "2026-11-18T08:44:29.123456+02:00",
            "2014-10-17 21:34:07 -0400",
            "2026-11-18T08:44:29",
        ];
        assert!(right.into_iter().all(is_moment));
        let wrong = [
            "2026-11-18",
            "2026-11-18T8:44:29Z",
            "2026-11-18T08:44:29.Z",
            "x",
            "2026-11-18T25:00:00Z",
        ];
        assert!(!wrong.into_iter().any(is_moment));
    }
}

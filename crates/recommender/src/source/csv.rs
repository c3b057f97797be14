//! Reading comma-separated values: quotes, doubled quotes, line ends inside quotes.

/// The records of a text. An unquoted empty value is a null, a quoted one an empty text.
pub(super) fn parse(text: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    while !rest.is_empty() {
        let (value, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = unquote(quoted).ok_or_else(|| {
                    format!("a quote in record {} does not end", records.len() + 1)
                })?;
                (Some(value), after)
            }
            None => {
                let end = rest.find([',', '\n']).unwrap_or(rest.len());
                let value = rest[..end].trim_end_matches('\r');
                ((!value.is_empty()).then(|| value.to_owned()), &rest[end..])
            }
        };
        record.push(value);
        let after = after.strip_prefix('\r').unwrap_or(after);
        if let Some(more) = after.strip_prefix(',') {
            rest = more;
            if rest.is_empty() {
                record.push(None);
            }
            continue;
        }
        rest = match after.strip_prefix('\n') {
            Some(more) => more,
            None if after.is_empty() => after,
            None => return Err(format!("text follows a quote in record {}", records.len() + 1)),
        };
        if record != [None] {
            records.push(std::mem::take(&mut record));
        }
        record.clear();
    }
    if !record.is_empty() {
        records.push(record);
    }
    Ok(records)
}

/// The value up to its closing quote, and what follows.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<Vec<Option<String>>> {
        parse(text).expect("good text")
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn quotes_hold_commas_line_ends_and_quotes() {
        let text = "a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n";
        assert_eq!(records(text), [some(&["a", "b"]), some(&["1", "x, \"y\"\nz"])]);
    }

    #[test]
    fn nothing_is_null_and_quoted_nothing_is_empty() {
        assert_eq!(
            records("a,,\"\"\nb,"),
            [vec![Some("a".into()), None, Some(String::new())], vec![Some("b".into()), None],]
        );
        assert_eq!(records("a\n\nb\n"), [some(&["a"]), some(&["b"])]);
    }

    #[test]
    fn broken_quotes_are_told() {
        assert!(parse("a,\"b").is_err());
        assert!(parse("\"a\"b\n").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a,\"\r\n]{0,20}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_was_written_is_read(values in proptest::collection::vec("\\PC{0,8}", 1..6)) {
            let line: Vec<String> =
                values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
            let expected: Vec<Option<String>> = values.into_iter().map(Some).collect();
            proptest::prop_assert_eq!(records(&line.join(",")), [expected]);
        }
    }
}

//! The comment a script opens with: what its keys and arguments are called.

/// A script's declared inputs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) keys: Names,
    pub(super) args: Names,
}

/// Names in order, and the name of what may follow without bound.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) names: Vec<String>,
    pub(super) rest: Option<String>,
}

impl Header {
    /// Reads the header of a script. A line that starts with a number goes on with the list above it.
    pub(super) fn parse(text: &str) -> Result<Header, String> {
        let comment = text
            .strip_prefix("--[[")
            .and_then(|rest| rest.split_once("]]"))
            .map(|(comment, _)| comment)
            .ok_or("the script does not open with a --[[ comment ]]")?;
        let mut header = Header::default();
        let mut section = None;
        for line in comment.lines() {
            let line = line.trim();
            let rest = if let Some(rest) = line.strip_prefix("KEYS ") {
                section = Some(&mut header.keys);
                rest
            } else if let Some(rest) = line.strip_prefix("ARGV ") {
                section = Some(&mut header.args);
                rest
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                line
            } else {
                section = None;
                continue;
            };
            if let Some(names) = &mut section {
                names.read(rest)?;
            }
        }
        Ok(header)
    }
}

impl Names {
    /// Reads `1 first   2 second   3 more...`.
    fn read(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        while let Some(number) = words.next() {
            let expected = self.names.len() + 1;
            if number.parse() != Ok(expected) {
                return Err(format!("\"{number}\" stands where the number {expected} should"));
            }
            if self.rest.is_some() {
                return Err("nothing can follow a name that ends in \"...\"".into());
            }
            let name = words.next().ok_or(format!("no name follows the number {expected}"))?;
            match name.strip_suffix("...") {
                Some(rest) => self.rest = Some(rest.to_owned()),
                None => self.names.push(name.to_owned()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str], rest: Option<&str>) -> Names {
        Names {
            names: names.iter().map(|name| name.to_string()).collect(),
            rest: rest.map(Into::into),
        }
    }

    #[test]
    fn names_are_read_in_order_over_several_lines() {
        let header = Header::parse(
            "--[[\n  Claims.\n\n  KEYS  1 queue   2 locks\n  ARGV  1 now_ms  2 lock_ms\n        3 jids...\n  Returns 1 or 2 things.\n]]\nreturn 1",
        );
        let expected = Header {
            keys: names(&["queue", "locks"], None),
            args: names(&["now_ms", "lock_ms"], Some("jids")),
        };
        assert_eq!(header, Ok(expected));
    }

    #[test]
    fn wrong_numbers_and_missing_names_are_errors() {
        let error = |text: &str| Header::parse(text).expect_err("a bad header");
        assert!(error("return 1").contains("does not open"));
        assert!(error("--[[\nKEYS 1 a 3 b\n]]").contains("number 2"));
        assert!(error("--[[\nKEYS 1\n]]").contains("no name"));
        assert!(error("--[[\nARGV 1 a... 1 b\n]]").contains("nothing can follow"));
    }
}

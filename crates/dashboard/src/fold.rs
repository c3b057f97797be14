//! Long JSON as a tree whose branches can be folded, with nothing but elements that every browser opens and closes by itself.

/// A text of up to so many lines is shown whole.
const WHOLE_LINES: usize = 40;
/// What is shorter than this is not worth a fold.
const FOLD_LINES: usize = 6;
/// Folds this deep and deeper are closed at first.
const CLOSED_FROM: usize = 2;

/// A part of the text, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Lines that stand as they are.
    Text(String),
    /// The line that a fold begins with, how many values it holds, and whether it is open at first.
    Open { line: String, told: String, is_open: bool },
    /// The end of the fold that was begun last.
    Close,
}

/// A bracket that is open while lines are read.
struct Branch {
    line: usize,
    values: u64,
}

/// Cuts JSON, laid out with a line for each value, where it can be folded.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= WHOLE_LINES {
        return vec![Piece::Text(text.to_owned())];
    }
    let folds = folds(&lines);
    let (mut pieces, mut ends) = (Vec::new(), Vec::new());
    let mut plain = String::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((depth, end, values)) = folds[at] {
            flush(&mut plain, &mut pieces);
            let told = keyrack_format::counted(values, "value");
            pieces.push(Piece::Open {
                line: (*line).to_owned(),
                told,
                is_open: depth < CLOSED_FROM,
            });
            ends.push(end);
            continue;
        }
        if !plain.is_empty() {
            plain.push('\n');
        }
        plain.push_str(line);
        if ends.last() == Some(&at) {
            ends.pop();
            flush(&mut plain, &mut pieces);
            pieces.push(Piece::Close);
        }
    }
    flush(&mut plain, &mut pieces);
    pieces
}

fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Text(std::mem::take(plain)));
    }
}

/// For each line the fold that begins there: how deep it is, its last line and how many values it holds. A text that was cut
/// off has brackets that never close; those are no folds.
fn folds(lines: &[&str]) -> Vec<Option<(usize, usize, u64)>> {
    let mut folds = vec![None; lines.len()];
    let mut open: Vec<Branch> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.trim_start().starts_with(['}', ']']) {
            let Some(branch) = open.pop() else { continue };
            let is_long = at - branch.line > FOLD_LINES;
            // The outermost brackets are the text itself.
            folds[branch.line] =
                (is_long && !open.is_empty()).then_some((open.len(), at, branch.values));
            continue;
        }
        if let Some(branch) = open.last_mut() {
            branch.values += 1;
        }
        if line.ends_with(['{', '[']) {
            open.push(Branch { line: at, values: 0 });
        }
    }
    folds
}

#[cfg(test)]
mod tests {
    use super::{super::job::pretty, *};

    fn long(n: usize) -> String {
        let items: Vec<usize> = (0..n).collect();
        serde_json::json!([{"to": "a", "items": items}]).to_string()
    }

    /// The text as it reads when everything is open.
    fn unfolded(pieces: &[Piece]) -> String {
        let lines = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Open { line, .. } => Some(line.as_str()),
            Piece::Close => None,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn long_lists_are_closed_and_what_stands_around_them_is_open() {
        let text = pretty(&long(50));
        let pieces = pieces(&text);
        let folds = pieces.iter().filter_map(|piece| match piece {
            Piece::Open { line, told, is_open } => Some((line.trim(), told.as_str(), *is_open)),
            _ => None,
        });
        let folds: Vec<_> = folds.collect();
        assert_eq!(folds, [("{", "2 values", true), ("\"items\": [", "50 values", false)]);
        assert_eq!(pieces.iter().filter(|piece| **piece == Piece::Close).count(), 2);
        assert_eq!(unfolded(&pieces), text, "nothing is lost");
    }

    #[test]
    fn short_texts_and_those_that_were_cut_off_are_whole() {
        let short = pretty(&long(20));
        assert_eq!(pieces(&short), [Piece::Text(short.clone())]);
        for cut in ["[\n".repeat(100), "]\n".repeat(100), pretty(&long(9_000))] {
            let pieces = pieces(&cut);
            assert!(!pieces.iter().any(|piece| matches!(piece, Piece::Open { .. })), "{pieces:?}");
            assert_eq!(unfolded(&pieces).trim_end(), cut.trim_end());
        }
    }
}

//! The terminal, if there is one: its width, its colours, and the person in front of it.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
};

use crate::{Exit, Failure, printer};

/// What a word is painted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    Green,
    Yellow,
    Blue,
    Dim,
}

/// Paints words for [`crate::printer::Printer`]; without a terminal, or with `NO_COLOR`, it leaves them as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Paint for stdout.
    pub(crate) fn for_stdout() -> Paint {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        Paint { on: io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb }
    }

    /// Whether words are painted at all.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// The words in their colour.
    pub(crate) fn apply(self, color: Option<Color>, words: &str) -> String {
        let words = keyrack_format::visible(words);
        match color {
            Some(color) if self.on && !words.is_empty() => printer::marked(color, &words),
            _ => words.into_owned(),
        }
    }
}

impl Color {
    pub(crate) fn code(self) -> u8 {
        match self {
            Color::Red => 31,
            Color::Green => 32,
            Color::Yellow => 33,
            Color::Blue => 34,
            Color::Dim => 2,
        }
    }
}

/// How many characters fit on a line of stdout, if it is a terminal.
pub(crate) fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    // A terminal that does not know says 0.
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Asks whether to go on. Where nobody could answer, `--yes` has to.
pub(crate) fn confirmed(question: &str, what: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        let failure = Failure::new(Exit::Usage, format!("{what} needs to be confirmed"));
        return Err(failure.hint("give --yes").into());
    }
    let mut stderr = io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_painted_only_where_that_shows() {
        let red = Some(Color::Red);
        assert_eq!(Paint { on: true }.apply(red, "no"), printer::marked(Color::Red, "no"));
        assert_eq!(Paint { on: true }.apply(None, "no"), "no");
        assert_eq!(Paint { on: false }.apply(red, "no"), "no");
    }
}

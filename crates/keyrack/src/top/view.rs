//! What the person in front of the terminal has chosen.

use std::cmp::Reverse;

use keyrack_jobs::bee::Stats;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

/// By what queues are sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Name,
    Queued,
    Running,
    Failed,
    Oldest,
}

impl Sort {
    const ALL: [Sort; 5] = [Sort::Name, Sort::Queued, Sort::Running, Sort::Failed, Sort::Oldest];

    pub(super) fn word(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Queued => "queued",
            Sort::Running => "running",
            Sort::Failed => "failed",
            Sort::Oldest => "oldest",
        }
    }

    fn next(self) -> Sort {
        let at = Sort::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Sort::ALL[(at + 1) % Sort::ALL.len()]
    }

    /// Queues in this order: by name, or the largest number first.
    pub(super) fn apply(self, queues: &[Stats]) -> Vec<&Stats> {
        let mut sorted: Vec<&Stats> = queues.iter().collect();
        match self {
            Sort::Name => sorted.sort_by(|a, b| a.queue.cmp(&b.queue)),
            Sort::Queued => sorted.sort_by_key(|stats| Reverse(stats.queued)),
            Sort::Running => sorted.sort_by_key(|stats| Reverse(stats.running)),
            Sort::Failed => sorted.sort_by_key(|stats| Reverse(stats.failed)),
            Sort::Oldest => sorted.sort_by_key(|stats| Reverse(stats.oldest_ms)),
        }
        sorted
    }
}

/// What the person has chosen so far.
#[derive(Debug, Default)]
pub(super) struct ScreenState {
    pub(super) sort: Sort,
    /// Whether the snapshot stands still.
    pub(super) frozen: bool,
    /// How many queues are scrolled away.
    pub(super) skipped: usize,
}

/// What a key means for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAction {
    Continue,
    Quit,
}

impl ScreenState {
    /// Does what a key stands for.
    pub(super) fn take(&mut self, event: &Event) -> KeyAction {
        let Event::Key(key) = event else { return KeyAction::Continue };
        if key.kind == KeyEventKind::Release {
            return KeyAction::Continue;
        }
        match key.code {
            // In this mode the terminal makes no signal of it.
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return KeyAction::Quit;
            }
            KeyCode::Char('q') | KeyCode::Esc => return KeyAction::Quit,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('p' | ' ') => self.frozen = !self.frozen,
            KeyCode::Down | KeyCode::Char('j') => self.skipped += 1,
            KeyCode::Up | KeyCode::Char('k') => self.skipped = self.skipped.saturating_sub(1),
            KeyCode::PageDown => self.skipped += 10,
            KeyCode::PageUp => self.skipped = self.skipped.saturating_sub(10),
            KeyCode::Home => self.skipped = 0,
            _ => {}
        }
        KeyAction::Continue
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyEvent;

    use super::*;

    fn press(view: &mut ScreenState, code: KeyCode) -> KeyAction {
        view.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    #[test]
    fn keys_sort_hold_and_end() {
        let mut view = ScreenState::default();
        assert_eq!(press(&mut view, KeyCode::Char('s')), KeyAction::Continue);
        assert_eq!(view.sort, Sort::Queued);
        (0..4).for_each(|_| assert_eq!(press(&mut view, KeyCode::Char('s')), KeyAction::Continue));
        assert_eq!(view.sort, Sort::Name);
        press(&mut view, KeyCode::Char(' '));
        assert!(view.frozen);
        press(&mut view, KeyCode::Char('p'));
        assert!(!view.frozen);
        press(&mut view, KeyCode::Up);
        assert_eq!(view.skipped, 0);
        assert_eq!(press(&mut view, KeyCode::Char('q')), KeyAction::Quit);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.take(&Event::Key(interrupt)), KeyAction::Quit);
        assert_eq!(view.take(&Event::Resize(1, 1)), KeyAction::Continue);
    }

    #[test]
    fn queues_are_sorted_by_name_or_by_what_is_most() {
        let queue = |name: &str, queued, oldest_ms| Stats {
            queue: name.into(),
            queued,
            oldest_ms,
            ..Stats::default()
        };
        let queues = [queue("b", 1, Some(9)), queue("a", 2, None), queue("c", 3, Some(5))];
        let order = |sort: Sort| -> String {
            sort.apply(&queues).iter().map(|stats| stats.queue.as_str()).collect()
        };
        assert_eq!(order(Sort::Name), "abc");
        assert_eq!(order(Sort::Queued), "cab");
        assert_eq!(order(Sort::Oldest), "bca");
    }
}

//! The values that a filter lets pass.

use crate::recurring::error::ScheduleError;

/// A set of small numbers, never empty. Bit n stands for n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Values(u64);

impl Values {
    /// Checks a list: not empty, in range, ascending, nothing twice.
    pub(super) fn new(
        unit: &'static str,
        values: &[u8],
        min: u8,
        max: u8,
    ) -> Result<Values, ScheduleError> {
        if values.is_empty() {
            return Err(ScheduleError::Empty { unit });
        }
        if let Some(value) = values.iter().find(|value| !(min..=max).contains(*value)) {
            return Err(ScheduleError::OutOfRange { unit, value: *value, min, max });
        }
        if !values.is_sorted_by(|a, b| a < b) {
            return Err(ScheduleError::NotAscending { unit });
        }
        Ok(Values(values.iter().fold(0, |bits, value| bits | 1 << value)))
    }

    pub(super) fn contains(self, value: u8) -> bool {
        self.at_least(value) == Some(value)
    }

    /// The smallest value that is not below `from`.
    pub(super) fn at_least(self, from: u8) -> Option<u8> {
        let above = self.0.checked_shr(from.into()).unwrap_or(0);
        (above != 0).then(|| from + above.trailing_zeros() as u8)
    }

    pub(super) fn first(self) -> u8 {
        self.0.trailing_zeros() as u8
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |value| self.0 >> value & 1 == 1)
    }
}

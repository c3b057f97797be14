//! The C type `long double`, which Redis counts INCRBYFLOAT and HINCRBYFLOAT in.
//!
//! On x86-64 it has 64 bits of precision, enough for 0.1 + 0.2 to print as 0.3. Rust has no such type, so a few lines of
//! C hold and add the numbers; where C's `long double` is an ordinary double, results are as Redis' would be there.

#![allow(unsafe_code, reason = "calls to the C functions that hold and add the numbers")]

use std::ffi::c_int;

/// An extended-precision number, never NaN.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct LongDouble([u8; 16]);

/// A result that is infinite or not a number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotFinite;

/// Longer than any finite number written without an exponent.
const TEXT_LEN_MAX: usize = 5 * 1024;

unsafe extern "C" {
    fn keyrack_longdouble_parse(text: *const u8, len: usize, out: *mut LongDouble) -> c_int;
    fn keyrack_longdouble_add(sum: *mut LongDouble, more: *const LongDouble) -> c_int;
    fn keyrack_longdouble_is_finite(value: *const LongDouble) -> c_int;
    fn keyrack_longdouble_format(value: *const LongDouble, out: *mut u8, room: usize) -> usize;
}

impl LongDouble {
    /// All bits zero, in every format that C compilers use for the type.
    pub(crate) const ZERO: LongDouble = LongDouble([0; 16]);

    /// The number that `text` is, by the rules of C's `strtold` as Redis applies them: the whole text, no space in
    /// front, no NaN, nothing out of range; `inf` and hexadecimal are fine.
    pub(crate) fn parse(text: &[u8]) -> Option<LongDouble> {
        let mut value = LongDouble::ZERO;
        // SAFETY: `text` is valid for reads of its length, which the callee respects; `value` is a place of the size
        // and alignment that longdouble.c asserts a `long double` to have at most.
        let is_number =
            unsafe { keyrack_longdouble_parse(text.as_ptr(), text.len(), &raw mut value) };
        (is_number != 0).then_some(value)
    }

    pub(crate) fn is_finite(&self) -> bool {
        // SAFETY: `self` holds a `long double`: zero, or what `parse` or `add` has stored.
        unsafe { keyrack_longdouble_is_finite(self) != 0 }
    }

    /// The sum, if it is a finite number.
    pub(crate) fn add(mut self, more: &LongDouble) -> Result<LongDouble, NotFinite> {
        // SAFETY: both hold a `long double`, and being different places they do not overlap.
        let is_finite = unsafe { keyrack_longdouble_add(&raw mut self, more) };
        if is_finite != 0 { Ok(self) } else { Err(NotFinite) }
    }

    /// The text of a finite number: no exponent, at most 17 decimals, no zeros at the end.
    pub(crate) fn format(&self) -> Vec<u8> {
        let mut text = [0; TEXT_LEN_MAX];
        // SAFETY: `self` holds a `long double`, and `text` is valid for writes of the length given.
        let len = unsafe { keyrack_longdouble_format(self, text.as_mut_ptr(), text.len()) };
        text[..len].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> String {
        let number = |text: &str| LongDouble::parse(text.as_bytes()).expect(text);
        let sum = number(a).add(&number(b)).expect("the sum is finite");
        String::from_utf8(sum.format()).expect("digits are ASCII")
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", unix))]
    fn sums_have_more_precision_than_a_double() {
        assert_eq!(sum("0.1", "0.2"), "0.3");
        assert_eq!(sum("9007199254740993", "0"), "9007199254740993");
        assert_eq!(sum("1e17", "0.1"), "100000000000000000.1015625");
    }

    #[test]
    fn texts_have_no_exponent_and_no_needless_zeros() {
        assert_eq!(sum("3.0e3", "200"), "3200");
        assert_eq!(sum("-0.0", "-0.0"), "0");
        assert_eq!(sum("0x10", "-.5"), "15.5");
        assert_eq!(sum("1e20", "0"), "100000000000000000000");
        assert_eq!(sum("1e-18", "0"), "0");
    }

    #[test]
    fn only_whole_numbers_in_range_are_read() {
        let long = "1".repeat(TEXT_LEN_MAX);
        for bad in ["", " 1", "1 ", "nan", "abc", "1\0", "1e9999", "1e-9999", &long] {
            assert!(LongDouble::parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }

    #[test]
    fn infinity_is_read_but_never_a_result() {
        let infinity = LongDouble::parse(b"-inf").expect("strtold reads it");
        assert!(!infinity.is_finite());
        assert_eq!(infinity.add(&LongDouble::ZERO).unwrap_err(), NotFinite);
    }
}

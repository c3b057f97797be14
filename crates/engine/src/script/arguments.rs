//! Checked arguments and raised errors, with the texts of Lua's auxiliary library.
#![allow(unsafe_code, reason = "asks Lua about the functions on the call stack")]

use std::ffi::c_int;

use mlua::ffi;

use super::failure::short_c_text;
use super::number;
use super::stack::{Kind, Raised, Stack};

impl Stack<'_> {
    /// Raises the value on top.
    pub(super) fn raise_top(&mut self) -> Raised {
        Raised(())
    }

    /// Raises `message` as it is.
    pub(super) fn error_bare(&mut self, message: impl AsRef<[u8]>) -> Raised {
        self.push_bytes(message);
        Raised(())
    }

    /// Raises `message` with the place of the calling Lua code in front.
    pub(super) fn error(&mut self, message: impl AsRef<[u8]>) -> Raised {
        let mut text = self.place(1).into_bytes();
        text.extend_from_slice(message.as_ref());
        self.error_bare(text)
    }

    /// Raises the error for lack of memory.
    pub(super) fn error_memory(&mut self) -> Raised {
        self.error_bare("not enough memory")
    }

    /// Raises the error about argument `number`.
    pub(super) fn arg_error(&mut self, number: c_int, problem: &str) -> Raised {
        let mut number = number;
        let mut name = "?".to_owned();
        if let Some(frame) = self.frame(0) {
            if let Some(known) = &frame.name {
                name.clone_from(known);
            }
            if frame.method {
                number -= 1;
                if number == 0 {
                    return self.error(format!("calling '{name}' on bad self ({problem})"));
                }
            }
        }
        self.error(format!("bad argument #{number} to '{name}' ({problem})"))
    }

    /// Raises the error that argument `number` has the wrong type.
    pub(super) fn type_error(&mut self, number: c_int, expected: &str) -> Raised {
        let got = self.kind(number).name();
        self.arg_error(number, &format!("{expected} expected, got {got}"))
    }

    /// Argument `number` as a number, or the error that it is none.
    pub(super) fn check_number(&mut self, number: c_int) -> Result<f64, Raised> {
        if !self.is_number(number) {
            return Err(self.type_error(number, "number"));
        }
        Ok(self.number(number))
    }

    /// Argument `number` as C's `int`, or the error that it is no number.
    pub(super) fn check_int(&mut self, number: c_int) -> Result<i32, Raised> {
        Ok(number::to_i64(self.check_number(number)?) as i32)
    }

    /// Argument `number` as bytes (numbers are converted), or the error that it is neither string nor number.
    pub(super) fn check_bytes(&mut self, number: c_int) -> Result<&[u8], Raised> {
        if !matches!(self.kind(number), Kind::String | Kind::Number) {
            return Err(self.type_error(number, "string"));
        }
        Ok(self.text(number))
    }

    /// `source:line: ` of the function at `level`, empty for C functions.
    fn place(&self, level: c_int) -> String {
        match self.frame(level) {
            Some(frame) if frame.line > 0 => format!("{}:{}: ", frame.short_source, frame.line),
            _ => String::new(),
        }
    }

    /// What Lua knows about the function `level` calls up; 0 is the running one.
    pub(super) fn frame(&self, level: c_int) -> Option<Frame> {
        // SAFETY: all fields of the record are integers and pointers, for which zero is valid; Lua fills in the rest, and the
        // texts it points at live as long as the frame. None of "nSl" allocates.
        unsafe {
            let mut record: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getstack(self.raw(), level, &mut record) == 0 {
                return None;
            }
            ffi::lua_getinfo(self.raw(), c"nSl".as_ptr(), &mut record);
            Some(Frame {
                name: (!record.name.is_null()).then(|| short_c_text(record.name)),
                method: short_c_text(record.namewhat) == "method",
                is_c: short_c_text(record.what) == "C",
                source: short_c_text(record.source),
                short_source: short_c_text(record.short_src.as_ptr()),
                line: record.currentline,
            })
        }
    }
}

/// One level of the call stack. A name may be as long as the script made it, so these are cut.
pub(super) struct Frame {
    name: Option<String>,
    method: bool,
    pub(super) is_c: bool,
    pub(super) source: String,
    short_source: String,
    pub(super) line: c_int,
}

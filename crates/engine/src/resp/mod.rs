//! The Redis protocol, versions 2 and 3.

mod encode;

pub(crate) use self::encode::{encode_command, encode_reply};

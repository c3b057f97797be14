//! The Redis protocol, versions 2 and 3.

mod encode;
mod inline;
mod parse;

pub(crate) use self::{
    encode::{encode_command, encode_reply},
    parse::{Limits, Parser, ProtocolError},
};

//! The parser against Redis' answers, and against itself with the input cut in every way.

use proptest::{collection::vec, prelude::*};

use super::{Limits, Parser, ProtocolError};
use crate::resp::encode_command;

const TRUSTED: Limits = Limits { bulk_len_max: 1 << 20, authenticated: true };

type Commands = Vec<Vec<Vec<u8>>>;

/// Feeds the chunks one after the other, as a connection would.
fn parse(chunks: &[&[u8]], limits: Limits) -> (Commands, Option<ProtocolError>) {
    let mut parser = Parser::default();
    let (mut buffer, mut commands) = (Vec::new(), Vec::new());
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        let len = buffer.len();
        let mut rest = &mut buffer[..];
        let mut args = Vec::new();
        loop {
            match parser.next(&mut rest, &mut args, limits) {
                Ok(true) => commands.push(args.iter().map(|arg| arg.to_vec()).collect()),
                Ok(false) => break,
                Err(error) => return (commands, Some(error)),
            }
        }
        let consumed = len - rest.len();
        buffer.drain(..consumed);
    }
    (commands, None)
}

#[track_caller]
fn check(input: &[u8], expected: &[&[&str]], error: Option<&str>) {
    check_with(TRUSTED, input, expected, error);
}

#[track_caller]
fn check_with(limits: Limits, input: &[u8], expected: &[&[&str]], error: Option<&str>) {
    let (commands, failure) = parse(&[input], limits);
    let commands: Vec<Vec<_>> = commands
        .iter()
        .map(|args| args.iter().map(|arg| String::from_utf8_lossy(arg)).collect())
        .collect();
    assert_eq!(commands, expected);
    let failure = failure.map(|failure| failure.reply().expect("an answer").text().to_owned());
    assert_eq!(failure.as_deref(), error);
}

#[test]
fn arrays_and_lines_may_be_mixed() {
    check(
        b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\nECHO \"a b\"\n*1\r\n$4\r\nPING\r\n",
        &[&["ECHO", "hi"], &["PING"], &["ECHO", "a b"], &["PING"]],
        None,
    );
}

#[test]
fn a_header_that_came_in_pieces_leaves_no_trace() {
    let (commands, error) = parse(&[b"*1", b"\r", b"\n$4\r\nPING\r\n", b"P"], TRUSTED);
    assert_eq!((commands, error), (vec![vec![b"PING".to_vec()]], None));
}

#[test]
fn empty_commands_are_skipped() {
    check(b"\r\n\n  \r\n*0\r\n*-5\r\nPING\r\n", &[&["PING"]], None);
    check(b"\rPING\r\n", &[&["PING"]], None);
}

#[test]
fn nobody_looks_at_the_bytes_after_an_argument() {
    check(b"*1\r\n$4\r\nPINGxxPING\r\n", &[&["PING"], &["PING"]], None);
}

#[test]
fn an_array_length_is_an_integer_that_fits() {
    let refused = Some("ERR Protocol error: invalid multibulk length");
    for input in ["*x\r\n", "*\r\n", "*03\r\n", "*+1\r\n", "* 1\r\n", "*2147483648\r\n"] {
        check(input.as_bytes(), &[], refused);
    }
    check(b"*2147483647\r\n", &[], None);
}

#[test]
fn a_bulk_length_is_an_integer_within_the_limit() {
    let refused = Some("ERR Protocol error: invalid bulk length");
    for input in ["$-1", "$x", "$", "$01", "$1048577", "$9223372036854775807"] {
        check(format!("*1\r\n{input}\r\n").as_bytes(), &[], refused);
    }
    check(b"*1\r\n$1048576\r\n", &[], None);
}

#[test]
fn an_argument_begins_with_a_dollar_sign() {
    let expected = |got| Some(format!("ERR Protocol error: expected '$', got '{got}'"));
    check(b"PING\r\n*1\r\nx\r\nPING\r\n", &[&["PING"]], expected("x").as_deref());
    check(b"*1\r\n@4\r\nPING\r\n", &[], expected("@").as_deref());
    check(b"*1\r\n\r\n", &[], expected(" ").as_deref());
}

#[test]
fn endless_lines_are_refused() {
    let endless = |start: &str| [start.as_bytes(), &[b'1'; 70_000]].concat();
    check(&endless(""), &[], Some("ERR Protocol error: too big inline request"));
    check(&endless("*"), &[], Some("ERR Protocol error: too big mbulk count string"));
    check(&endless("*1\r\n$"), &[], Some("ERR Protocol error: too big bulk count string"));
}

#[test]
fn open_quotes_are_refused() {
    check(b"PING \"a\r\n", &[], Some("ERR Protocol error: unbalanced quotes in request"));
}

#[test]
fn strangers_may_send_little() {
    let limits = Limits { authenticated: false, ..TRUSTED };
    let refused = Some("ERR Protocol error: unauthenticated multibulk length");
    check_with(limits, b"*11\r\n", &[], refused);
    let refused = Some("ERR Protocol error: unauthenticated bulk length");
    check_with(limits, b"*1\r\n$16385\r\n", &[], refused);
    check_with(limits, b"*10\r\n$16384\r\n", &[], None);
}

#[test]
fn a_web_browser_gets_no_answer() {
    let (commands, error) = parse(&[b"POST / HTTP/1.1\r\nSET a b\r\n"], TRUSTED);
    assert_eq!((commands, error), (vec![], Some(ProtocolError::Http)));
    assert_eq!(ProtocolError::Http.reply(), None);
}

#[test]
fn a_claimed_length_reserves_nothing() {
    let mut parser = Parser::default();
    let mut bytes = *b"*2147483647\r\n$1048576\r\n";
    assert_eq!(parser.next(&mut &mut bytes[..], &mut Vec::new(), TRUSTED), Ok(false));
    assert_eq!(parser.spans.capacity(), 0);
}

/// Cuts `input` at the given places.
fn cut<'a>(input: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
    places.sort_unstable();
    places.push(input.len());
    let mut from = 0;
    let mut chunks = Vec::new();
    for to in places {
        chunks.push(&input[from..to]);
        from = to;
    }
    chunks
}

/// Bytes that look like the protocol often enough to get deep into the parser.
fn nearly_valid() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"*1\r\n".to_vec()),
        Just(b"*2\r\n".to_vec()),
        Just(b"$4\r\n".to_vec()),
        Just(b"$10\r\n".to_vec()),
        Just(b"PING".to_vec()),
        Just(b"\"\\x4a\" '".to_vec()),
        vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn commands_come_out_as_they_went_in(
        commands in vec(vec(vec(any::<u8>(), 0..40), 1..14), 0..6),
        cuts in vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut input = Vec::new();
        for args in &commands {
            let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            encode_command(&mut input, &args);
        }
        prop_assert_eq!(parse(&cut(&input, &cuts), TRUSTED), (commands, None));
    }

    #[test]
    fn it_does_not_matter_where_the_input_is_cut(
        input in nearly_valid(),
        cuts in vec(any::<prop::sample::Index>(), 0..8),
    ) {
        prop_assert_eq!(parse(&cut(&input, &cuts), TRUSTED), parse(&[&input], TRUSTED));
    }
}

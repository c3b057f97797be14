//! The parser of what clients send.

use crate::resp::{Limits, Parser, ProtocolError, encode_command};

/// The words of each command.
type Commands = Vec<Vec<Vec<u8>>>;

/// Reads commands from bytes that arrive at once, and again from bytes that arrive in pieces: both must give the same.
///
/// The first byte says how long the pieces are, and whether the client has given the password.
///
/// # Panics
/// When the two differ, or when a command that was read cannot be written and read again.
pub fn parse_commands(input: &[u8]) {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let limits = Limits { bulk_len_max: 1 << 20, authenticated: choice & 1 == 0 };
    let at_once = parse(bytes, bytes.len(), limits);
    let in_pieces = parse(bytes, usize::from(choice >> 1) + 1, limits);
    assert_eq!(at_once, in_pieces, "what is read depends on how it arrives");
    let (commands, _) = at_once;
    let mut written = Vec::new();
    for command in &commands {
        let words: Vec<&[u8]> = command.iter().map(Vec::as_slice).collect();
        assert!(!words.is_empty(), "a command without a name");
        encode_command(&mut written, &words);
    }
    let lenient = Limits { bulk_len_max: usize::MAX, authenticated: true };
    assert_eq!(parse(&written, written.len(), lenient), (commands, None), "not read as written");
}

/// Reads as a connection does: whatever has not been understood stays in front of the next piece.
fn parse(bytes: &[u8], piece_len: usize, limits: Limits) -> (Commands, Option<ProtocolError>) {
    let mut parser = Parser::default();
    let (mut commands, mut received) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(piece_len.max(1)) {
        received.extend_from_slice(piece);
        let mut rest = &mut received[..];
        let mut words = Vec::new();
        loop {
            match parser.next(&mut rest, &mut words, limits) {
                Ok(true) => commands.push(words.iter().map(|word| word.to_vec()).collect()),
                Ok(false) => break,
                Err(error) => return (commands, Some(error)),
            }
        }
        received = rest.to_vec();
    }
    (commands, None)
}

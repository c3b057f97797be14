//! Command forms as text, and random commands made from them.
//!
//! A form is words: `$x` is a random value of a kind, `a|b` one of several, `word?` may be left out, `( … )?` may be
//! left out as a whole, `( … )+` stands one to four times.

pub(crate) use crate::random::Random;

pub(crate) type Args = Vec<Vec<u8>>;

/// How large the arguments of a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// A few short ones, of few kinds, so that commands meet what others have left.
    Usual,
    /// Up to 8,000 of them.
    Many,
    /// Up to 1 MiB each.
    Long,
}

/// Arguments of one command, its name aside; what Lua's stack holds is about as many.
const ELEMENTS_MAX: usize = 8000;
const LEN_MAX: usize = 1 << 20;

/// Makes a command from a form.
pub(crate) fn generate(form: &str, random: &mut Random) -> Args {
    generate_sized(form, Size::Usual, random)
}

pub(crate) fn generate_sized(form: &str, size: Size, random: &mut Random) -> Args {
    let words: Vec<&str> = form.split(' ').collect();
    let mut args = Vec::new();
    expand(&words, size, random, &mut args);
    args
}

fn expand(words: &[&str], size: Size, random: &mut Random, args: &mut Args) {
    let mut i = 0;
    while i < words.len() {
        if words[i] == "(" {
            let close = matching_close(words, i);
            let inner = &words[i + 1..close];
            let times = match (words[close], size) {
                (")?", _) => random.below(2),
                (_, Size::Many) => up_to(ELEMENTS_MAX / inner.len(), random),
                _ => 1 + random.below(4),
            };
            for _ in 0..times {
                expand(inner, size, random, args);
            }
            i = close + 1;
            continue;
        }
        let (word, optional) = match words[i].strip_suffix('?') {
            Some(word) => (word, true),
            None => (words[i], false),
        };
        if !optional || random.once_in(2) {
            let choices: Vec<&str> = word.split('|').collect();
            args.push(sized(random.pick(&choices), size, random));
        }
        i += 1;
    }
}

fn matching_close(words: &[&str], open: usize) -> usize {
    let mut depth = 0;
    for (i, word) in words.iter().enumerate().skip(open) {
        match *word {
            "(" => depth += 1,
            ")?" | ")+" => {
                depth -= 1;
                if depth == 0 {
                    return i;
                }
            }
            _ => {}
        }
    }
    panic!("an open bracket in {words:?}")
}

/// Numbers at the edges of what commands accept.
const EDGE_INTS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "-3",
    "100",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "2147483648",
    "-0",
    "01",
    "1.5",
    "abc",
    "",
];
/// Times to live that are refused, or over at once; none that end while a run lasts.
const EDGE_TTLS: [&str; 9] = [
    "0",
    "-1",
    "-100",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775",
    "1.5",
    "abc",
    "",
];
const EDGE_FLOATS: [&str; 20] = [
    "0",
    "1",
    "-1",
    "1.5",
    "-2.25",
    "3.0",
    "0.1",
    "1e3",
    "1e-3",
    "1e308",
    "-1e308",
    "inf",
    "-inf",
    "+inf",
    "nan",
    "0x10",
    " 1",
    "1 ",
    "abc",
    "17179869184.5",
];
const VALUES: [&[u8]; 16] = [
    b"",
    b"a",
    b"foo",
    b"0",
    b"1",
    b"-1",
    b"10",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"3.14",
    b"1e3",
    b" 1",
    b"\x00bin\xff\r\n",
    b"012",
    b"hello world",
    b"99999999999999999999",
];
const PATTERNS: [&str; 12] =
    ["*", "s*", "?1", "[sh]*", "[^s]*", "m*", "f[0-3]", "\\*", "*1*", "x", "[a-z]?", ""];

/// A number from 1 to `max`, small ones and large ones alike.
fn up_to(max: usize, random: &mut Random) -> usize {
    let scale = 1usize << random.below(max.ilog2() as usize + 1);
    (scale + random.below(scale)).min(max)
}

/// A value of a kind, where commands of this size have others than usual.
fn sized(kind: &str, size: Size, random: &mut Random) -> Vec<u8> {
    match (size, kind) {
        (Size::Many, "$m" | "$f") => {
            let kind = kind.trim_start_matches('$');
            let n = random.below(ELEMENTS_MAX);
            if random.once_in(2) { n.to_string() } else { format!("{kind}{n}") }.into_bytes()
        }
        (Size::Many, "$v") if random.once_in(2) => random.below(10_000).to_string().into_bytes(),
        (Size::Many, "$n" | "$idx") => {
            (random.below(2 * ELEMENTS_MAX) as i64 - ELEMENTS_MAX as i64).to_string().into_bytes()
        }
        (Size::Long, "$v" | "$m" | "$f") => {
            // Letters: where an error shows bytes that are no UTF-8, the sides are known to differ.
            let (len, byte) = (up_to(LEN_MAX, random), b'a' + random.below(26) as u8);
            let mut bytes = vec![byte; len];
            bytes[len / 2] ^= 0x55;
            bytes
        }
        (Size::Long, "$idx") => {
            (random.below(2 * LEN_MAX) as i64 - LEN_MAX as i64).to_string().into_bytes()
        }
        _ => value(kind, random),
    }
}

fn value(kind: &str, random: &mut Random) -> Vec<u8> {
    let Some(kind) = kind.strip_prefix('$') else { return kind.as_bytes().to_vec() };
    match kind {
        // Keys that mostly hold one type each, so that commands find what they work on.
        "s" | "h" | "l" | "t" | "z" if !random.once_in(12) => {
            format!("{kind}{}", random.below(4)).into_bytes()
        }
        "y" => format!("y{}", random.below(3)).into_bytes(),
        "s" | "h" | "l" | "t" | "z" | "k" => {
            let kind = random.pick(&["s", "h", "l", "t", "z", "q"]);
            format!("{kind}{}", random.below(4)).into_bytes()
        }
        "v" => match random.below(24) {
            0 => vec![b'x'; 45],
            1 => vec![b'y'; 70],
            2..8 => random.below(1000).to_string().into_bytes(),
            _ => random.pick(&VALUES).to_vec(),
        },
        "f" | "m" => match random.below(40) {
            0 => vec![b'z'; 65],
            1 => random.pick(&VALUES).to_vec(),
            // Integers keep sets in their compact form for a while.
            2..20 => random.below(30).to_string().into_bytes(),
            _ => format!("{kind}{}", random.below(12)).into_bytes(),
        },
        "i" => random.pick(&EDGE_INTS).into(),
        "n" => (random.below(7) as i64 - 1).to_string().into_bytes(),
        "p" => random.below(5).to_string().into_bytes(),
        "d" => random.pick(&["0", "1", "2", "3", "-1", "1024", "x"]).into(),
        "idx" => (random.below(14) as i64 - 6).to_string().into_bytes(),
        "x" => random.pick(&EDGE_FLOATS).into(),
        "score" => match random.below(6) {
            0 => random.pick(&EDGE_FLOATS).into(),
            _ => (random.below(12) as i64 - 4).to_string().into_bytes(),
        },
        "bound" => match random.below(8) {
            0 => b"-inf".to_vec(),
            1 => b"+inf".to_vec(),
            2 => random.pick(&["(", "(a", "abc", "", "(1.5"]).into(),
            3 => format!("({}", random.below(10)).into_bytes(),
            _ => (random.below(12) as i64 - 4).to_string().into_bytes(),
        },
        "lex" => match random.below(8) {
            0 => b"-".to_vec(),
            1 => b"+".to_vec(),
            2 => random.pick(&["m", "", "(", "["]).into(),
            n => {
                format!("{}m{}", if n % 2 == 0 { "(" } else { "[" }, random.below(12)).into_bytes()
            }
        },
        // Long enough that nothing expires by itself while a run lasts.
        "ttl" => match random.below(6) {
            0 => random.pick(&EDGE_TTLS).into(),
            _ => (1000 + random.below(100_000)).to_string().into_bytes(),
        },
        "pttl" => match random.below(6) {
            0 => random.pick(&EDGE_TTLS).into(),
            _ => (1_000_000 + random.below(100_000_000)).to_string().into_bytes(),
        },
        "at" => match random.below(6) {
            0 => random.pick(&EDGE_TTLS).into(),
            1 => b"1000000000".to_vec(),
            _ => (4_000_000_000 + random.below(1000) as u64).to_string().into_bytes(),
        },
        "pat" => match random.below(6) {
            0 => random.pick(&EDGE_TTLS).into(),
            1 => b"1000000000000".to_vec(),
            _ => (4_000_000_000_000 + random.below(1000) as u64).to_string().into_bytes(),
        },
        "glob" => random.pick(&PATTERNS).into(),
        "ch" => format!("ch{}", random.below(3)).into_bytes(),
        "chglob" => random.pick(&["ch*", "*", "ch[01]", "x"]).into(),
        "weight" => random.pick(&["1", "2", "-1", "0", "0.5", "inf", "x"]).into(),
        "any" => random.pick(&VALUES).to_vec(),
        other => panic!("no kind of value is called ${other}"),
    }
}

/// Spoils a command now and then: a word too many or too few, or one that does not belong.
pub(crate) fn spoil(args: &mut Args, random: &mut Random) {
    match random.below(5) {
        0 => {
            args.pop();
        }
        1 => args.push(value("$v", random)),
        2 => {
            let at = random.below(args.len());
            args[at] = value("$v", random);
        }
        3 => {
            let at = random.below(args.len() + 1);
            args.insert(at, value("$i", random));
        }
        _ => {
            let at = random.below(args.len());
            args[at].make_ascii_lowercase();
        }
    }
    if args.is_empty() || args[0].is_empty() {
        args.insert(0, b"GET".to_vec());
    }
}

/// Why something cannot be written or read. It never holds the value itself, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The part or field.
    pub place: &'static str,
    /// What it has to be.
    pub expected: String,
}

impl std::fmt::Display for KeyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\" has to be {}", self.place, self.expected)
    }
}

impl std::error::Error for KeyError {}

fn wrong<T>(expected: impl Into<String>) -> Result<T, KeyError> {
    Err(KeyError { place: "value", expected: expected.into() })
}

/// What may stand in a name.
#[derive(Debug)]
pub struct Part {
    noun: &'static str,
    expected: &'static str,
    shape: Shape,
    percent: bool,
    without: &'static str,
    bytes_max: usize,
}

#[derive(Debug)]
enum Shape {
    Text(&'static [&'static str]),
    Colons(usize),
    Number(u64, u64),
    Words(&'static [&'static str]),
    Uuid,
    Ulid,
    Date,
    Pattern(&'static [State]),
    Rest,
}

/// Whether a text may end here, and which bytes lead where.
type State = (bool, &'static [(u8, u8, usize)]);

impl Part {
    fn fits(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let length = (1..=self.bytes_max).contains(&bytes.len());
        length && !text.contains(|letter| self.without.contains(letter)) && match &self.shape {
            Shape::Text(except) => !except.contains(&text),
            Shape::Colons(fields) => text.split(':').count() >= *fields && text.split(':').all(|field| !field.is_empty()),
            Shape::Number(min, max) => {
                let plain = text == "0" || (bytes[0] != b'0' && bytes.iter().all(u8::is_ascii_digit));
                plain && text.parse().is_ok_and(|number: u64| (*min..=*max).contains(&number))
            }
            Shape::Words(words) => words.contains(&text),
            Shape::Uuid => bytes.len() == 36 && bytes.iter().enumerate().all(|(i, byte)| match i {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            }),
            Shape::Ulid => bytes.len() == 26 && bytes[0] <= b'7' && bytes.iter().all(|byte| {
                byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(byte))
            }),
            Shape::Date => is_date(text),
            Shape::Pattern(states) => accepts(states, bytes),
            Shape::Rest => true,
        }
    }

    fn stands(&self, byte: u8) -> bool {
        let colons = matches!(self.shape, Shape::Colons(_) | Shape::Rest);
        (byte.is_ascii_graphic() && !b"%:{}*?[]\\^".contains(&byte)) || (colons && byte == b':')
    }

    fn write(&self, text: &str, out: &mut String) -> Result<(), KeyError> {
        if !self.fits(text) {
            return Err(KeyError { place: self.noun, expected: self.expected.into() });
        }
        if !self.percent {
            out.push_str(text);
            return Ok(());
        }
        for byte in text.bytes() {
            if self.stands(byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        Ok(())
    }

    fn read(&self, coded: &str) -> Option<String> {
        let mut bytes = Vec::with_capacity(coded.len());
        let mut rest = coded.as_bytes();
        while let (true, [first, tail @ ..]) = (self.percent, rest) {
            rest = tail;
            if *first == b'%' {
                let [high, low, tail @ ..] = tail else { return None };
                let digits = [*high, *low];
                if digits.iter().any(u8::is_ascii_lowercase) {
                    return None;
                }
                let byte = u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?;
                if *high == b'+' || self.stands(byte) {
                    return None;
                }
                bytes.push(byte);
                rest = tail;
            } else if self.stands(*first) {
                bytes.push(*first);
            } else {
                return None;
            }
        }
        bytes.extend_from_slice(rest);
        String::from_utf8(bytes).ok().filter(|text| self.fits(text))
    }
}

fn accepts(states: &[State], text: &[u8]) -> bool {
    let mut at = vec![0];
    for byte in text {
        let edges = at.iter().flat_map(|&state: &usize| states[state].1);
        at = edges.filter(|(first, last, _)| first <= byte && byte <= last).map(|(.., next)| *next).collect();
        at.sort_unstable();
        at.dedup();
    }
    at.iter().any(|&state| states[state].0)
}

fn is_date(text: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let fields: Vec<&str> = text.split('-').collect();
    let &[year, month, day] = fields.as_slice() else { return false };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (number(year), number(month), number(day)) else { return false };
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let Some((time, rest)) = rest.split_at_checked(9) else { return false };
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    let zone = zone.trim_start_matches(' ');
    let zone_fits = matches!(zone, "" | "Z" | "z")
        || is_like(zone, &["±00:00"]) && &zone[1..3] <= "23" && &zone[4..] <= "59"
        || is_like(zone, &["±0000"]);
    let time_fits = ["T00:00:00", "t00:00:00", " 00:00:00"].iter().any(|form| is_like(time, &[form]))
        && &time[1..3] <= "23" && &time[4..6] <= "59" && &time[7..] <= "60";
    is_date(date) && time_fits && zone_fits
}

fn is_like(text: &str, forms: &[&str]) -> bool {
    forms.iter().any(|form| {
        text.chars().count() == form.chars().count()
            && text.chars().zip(form.chars()).all(|(is, wanted)| match wanted {
                '0' => is.is_ascii_digit(),
                '±' => is == '+' || is == '-',
                letter => is == letter,
            })
    })
}

fn is_decimal(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    text.split_once('.').map_or(digits(text), |(whole, fraction)| digits(whole) && digits(fraction))
}

/// A stretch of a name.
#[derive(Debug)]
enum Piece {
    Text(&'static str),
    Part(&'static Part),
}

fn build(pieces: &[Piece], parts: &[&str]) -> Result<String, KeyError> {
    let (mut name, mut parts) = (String::new(), parts.iter());
    for piece in pieces {
        match piece {
            Piece::Text(text) => name.push_str(text),
            Piece::Part(part) => part.write(parts.next().copied().unwrap_or_default(), &mut name)?,
        }
    }
    Ok(name)
}

fn parse(pieces: &[Piece], name: &str) -> Option<Vec<String>> {
    match pieces {
        [] => name.is_empty().then(Vec::new),
        [Piece::Text(text), rest @ ..] => parse(rest, name.strip_prefix(text)?),
        [Piece::Part(part), rest @ ..] => {
            let ends = name.char_indices().map(|(at, _)| at).skip(1).chain([name.len()]);
            let from = if rest.is_empty() { name.len() } else { 1 };
            ends.filter(|end| *end >= from).find_map(|end| {
                if let Some(Piece::Text(next)) = rest.first()
                    && !name[end..].starts_with(next)
                {
                    return None;
                }
                let text = part.read(&name[..end])?;
                let mut texts = parse(rest, &name[end..])?;
                texts.insert(0, text);
                Some(texts)
            })
        }
    }
}

/// How a value is written and read.
pub trait Codec {
    /// What it is in the program.
    type Value;

    /// The bytes for Redis.
    fn write(&self, value: &Self::Value) -> Result<Vec<u8>, KeyError>;

    /// The value behind bytes from Redis.
    fn read(&self, raw: &[u8]) -> Result<Self::Value, KeyError>;
}

fn text_of(raw: &[u8]) -> Result<&str, KeyError> {
    std::str::from_utf8(raw).or_else(|_| wrong("UTF-8"))
}

struct Bytes;
impl Codec for Bytes {
    type Value = Vec<u8>;
    fn write(&self, value: &Vec<u8>) -> Result<Vec<u8>, KeyError> {
        Ok(value.clone())
    }
    fn read(&self, raw: &[u8]) -> Result<Vec<u8>, KeyError> {
        Ok(raw.to_vec())
    }
}

/// Texts of some form.
struct Text(fn(&str) -> bool, &'static str);
const TEXT: Text = Text(|_| true, "text");
const DECIMAL: Text = Text(is_decimal, "a decimal number");
const ISO_TIME: Text = Text(is_time, "a time like 2026-11-18T08:44:29Z");
impl Codec for Text {
    type Value = String;
    fn write(&self, value: &String) -> Result<Vec<u8>, KeyError> {
        if (self.0)(value) { Ok(value.clone().into_bytes()) } else { wrong(self.1) }
    }
    fn read(&self, raw: &[u8]) -> Result<String, KeyError> {
        let text = text_of(raw)?;
        if (self.0)(text) { Ok(text.to_owned()) } else { wrong(self.1) }
    }
}

/// Whole numbers.
struct Int<T>(T, T);
impl<T: Copy + PartialOrd + std::fmt::Display + std::str::FromStr> Codec for Int<T> {
    type Value = T;
    fn write(&self, value: &T) -> Result<Vec<u8>, KeyError> {
        if *value < self.0 || *value > self.1 {
            return wrong(format!("a whole number from {} to {}", self.0, self.1));
        }
        Ok(value.to_string().into_bytes())
    }
    fn read(&self, raw: &[u8]) -> Result<T, KeyError> {
        match text_of(raw)?.parse::<T>() {
            Ok(value) if value.to_string().as_bytes() == raw => self.write(&value).map(|_| value),
            _ => wrong(format!("a whole number from {} to {}", self.0, self.1)),
        }
    }
}

/// Numbers with a fraction, in a range.
struct Float(f64, f64);
const FLOAT: Float = Float(f64::MIN, f64::MAX);
const SECONDS: Float = Float(0.0, 99_999_999_999.0);
impl Codec for Float {
    type Value = f64;
    fn write(&self, value: &f64) -> Result<Vec<u8>, KeyError> {
        if (self.0..=self.1).contains(value) {
            return Ok(value.to_string().into_bytes());
        }
        wrong(if self.0 < 0.0 { "a finite number" } else { "a Unix time in seconds" })
    }
    fn read(&self, raw: &[u8]) -> Result<f64, KeyError> {
        let value = text_of(raw)?.parse().unwrap_or(f64::NAN);
        self.write(&value).map(|_| value)
    }
}

/// One of two words.
struct Flag(&'static str, &'static str);
impl Codec for Flag {
    type Value = bool;
    fn write(&self, value: &bool) -> Result<Vec<u8>, KeyError> {
        Ok(if *value { self.1 } else { self.0 }.into())
    }
    fn read(&self, raw: &[u8]) -> Result<bool, KeyError> {
        match text_of(raw)? {
            text if text == self.1 => Ok(true),
            text if text == self.0 => Ok(false),
            _ => wrong(format!("\"{}\" or \"{}\"", self.0, self.1)),
        }
    }
}

/// A type whose values are words.
pub trait Word: Copy + PartialEq + 'static {
    /// All of them.
    const ALL: &'static [(Self, &'static str)];

    /// The word.
    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(word, _)| *word == self).map_or("", |(_, text)| text)
    }

    /// The value that the word stands for.
    fn from_word(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, word)| *word == text).map(|(word, _)| *word)
    }
}

struct Words<T>(std::marker::PhantomData<T>);
impl<T: Word> Codec for Words<T> {
    type Value = T;
    fn write(&self, value: &T) -> Result<Vec<u8>, KeyError> {
        Ok(value.as_str().into())
    }
    fn read(&self, raw: &[u8]) -> Result<T, KeyError> {
        let words = || T::ALL.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(", ");
        T::from_word(text_of(raw)?).map_or_else(|| wrong(format!("one of {}", words())), Ok)
    }
}

/// Texts of fixed forms.
struct Like(&'static [&'static str]);
impl Codec for Like {
    type Value = String;
    fn write(&self, value: &String) -> Result<Vec<u8>, KeyError> {
        self.read(value.as_bytes()).map(String::into_bytes)
    }
    fn read(&self, raw: &[u8]) -> Result<String, KeyError> {
        let text = text_of(raw)?;
        if is_like(text, self.0) { Ok(text.to_owned()) } else { wrong(format!("like {}", self.0.join(" or "))) }
    }
}

/// What can also be a part of a name.
struct Id(&'static Part);
impl Codec for Id {
    type Value = String;
    fn write(&self, value: &String) -> Result<Vec<u8>, KeyError> {
        self.read(value.as_bytes()).map(String::into_bytes)
    }
    fn read(&self, raw: &[u8]) -> Result<String, KeyError> {
        let text = text_of(raw)?;
        if self.0.fits(text) { Ok(text.to_owned()) } else { wrong(self.0.expected) }
    }
}

/// The same for numbers.
struct IdNumber(&'static Part);
impl Codec for IdNumber {
    type Value = u64;
    fn write(&self, value: &u64) -> Result<Vec<u8>, KeyError> {
        Id(self.0).write(&value.to_string())
    }
    fn read(&self, raw: &[u8]) -> Result<u64, KeyError> {
        Id(self.0).read(raw)?.parse().or_else(|_| wrong(self.0.expected))
    }
}

/// Several values of one kind, with commas between them.
struct ListOf<C>(C, usize);
impl<C: Codec> Codec for ListOf<C> {
    type Value = Vec<C::Value>;
    fn write(&self, values: &Self::Value) -> Result<Vec<u8>, KeyError> {
        if values.len() != self.1 {
            return wrong(format!("{} values", self.1));
        }
        let items: Result<Vec<_>, _> = values.iter().map(|value| self.0.write(value)).collect();
        Ok(items?.join(&b','))
    }
    fn read(&self, raw: &[u8]) -> Result<Self::Value, KeyError> {
        let values: Vec<_> = raw.split(|byte| *byte == b',').map(|item| self.0.read(item)).collect::<Result<_, _>>()?;
        if values.len() == self.1 { Ok(values) } else { wrong(format!("{} values", self.1)) }
    }
}

macro_rules! tuple {
    ($count:literal, $($codec:ident $index:tt),+) => {
        impl<$($codec: Codec),+> Codec for ($($codec,)+) {
            type Value = ($($codec::Value,)+);
            fn write(&self, values: &Self::Value) -> Result<Vec<u8>, KeyError> {
                Ok([$(self.$index.write(&values.$index)?),+].join(&b','))
            }
            fn read(&self, raw: &[u8]) -> Result<Self::Value, KeyError> {
                let items: Vec<&[u8]> = raw.split(|byte| *byte == b',').collect();
                if items.len() != $count {
                    return wrong(format!("{} values with commas between them", $count));
                }
                Ok(($(self.$index.read(items[$index])?,)+))
            }
        }
    };
}
tuple!(1, A 0);
tuple!(2, A 0, B 1);
tuple!(3, A 0, B 1, C 2);
tuple!(4, A 0, B 1, C 2, D 3);
tuple!(5, A 0, B 1, C 2, D 3, E 4);
tuple!(6, A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(7, A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(8, A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// A text that one of several codecs can read.
struct AnyOf(&'static [&'static dyn Check]);

trait Check: Sync {
    fn fits(&self, raw: &[u8]) -> bool;
}

impl<C: Codec + Sync> Check for C {
    fn fits(&self, raw: &[u8]) -> bool {
        self.read(raw).is_ok()
    }
}

impl Codec for AnyOf {
    type Value = String;
    fn write(&self, value: &String) -> Result<Vec<u8>, KeyError> {
        self.read(value.as_bytes()).map(String::into_bytes)
    }
    fn read(&self, raw: &[u8]) -> Result<String, KeyError> {
        let fits = self.0.iter().any(|codec| codec.fits(raw));
        if fits { Ok(text_of(raw)?.to_owned()) } else { wrong("of another form") }
    }
}

/// A value, or the empty text for none.
struct OrEmpty<C>(C);
impl<C: Codec> Codec for OrEmpty<C> {
    type Value = Option<C::Value>;
    fn write(&self, value: &Self::Value) -> Result<Vec<u8>, KeyError> {
        value.as_ref().map_or(Ok(Vec::new()), |value| self.0.write(value))
    }
    fn read(&self, raw: &[u8]) -> Result<Self::Value, KeyError> {
        if raw.is_empty() { Ok(None) } else { self.0.read(raw).map(Some) }
    }
}

/// The fields of a hash, or of an entry of a stream.
struct Fields(Vec<(Vec<u8>, Vec<u8>)>);

impl Fields {
    fn new<K: AsRef<[u8]>, V: AsRef<[u8]>>(fields: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(fields.into_iter().map(|(name, raw)| (name.as_ref().to_vec(), raw.as_ref().to_vec())).collect())
    }

    fn find<C: Codec>(&self, name: &'static str, codec: &C) -> Result<Option<C::Value>, KeyError> {
        let found = self.0.iter().find(|(known, _)| known == name.as_bytes());
        found.map(|(_, raw)| codec.read(raw)).transpose().map_err(|error| KeyError { place: name, ..error })
    }

    fn need<C: Codec>(&self, name: &'static str, codec: &C) -> Result<C::Value, KeyError> {
        self.find(name, codec)?.ok_or(KeyError { place: name, expected: "there".into() })
    }
}

fn put<C: Codec>(
    fields: &mut Vec<(&'static str, Vec<u8>)>,
    name: &'static str,
    codec: &C,
    value: Option<&C::Value>,
) -> Result<(), KeyError> {
    if let Some(value) = value {
        fields.push((name, codec.write(value).map_err(|error| KeyError { place: name, ..error })?));
    }
    Ok(())
}

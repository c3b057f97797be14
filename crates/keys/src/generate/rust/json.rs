
/// Any JSON. Numbers are kept as they are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number
    Number(String),
    /// A string
    String(String),
    /// An array
    Array(Vec<Json>),
    /// An object, its members in order
    Object(Vec<(String, Json)>),
}

/// How deep JSON may be nested, so that none can exhaust the stack.
const JSON_DEPTH_MAX: usize = 100;

impl Json {
    /// Reads JSON.
    pub fn parse(text: &str) -> Option<Json> {
        let mut reader = JsonReader { text, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        (reader.at == text.len()).then_some(value)
    }

    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(text) => f.write_str(text),
            Json::String(text) => write_json_text(f, text),
            Json::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    write_json_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_json_text(f: &mut std::fmt::Formatter<'_>, text: &str) -> std::fmt::Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(letter))?,
            _ => write!(f, "{letter}")?,
        }
    }
    f.write_str("\"")
}

struct JsonReader<'t> {
    text: &'t str,
    at: usize,
}

impl JsonReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn eat(&mut self, word: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > JSON_DEPTH_MAX {
            return None;
        }
        self.space();
        match self.rest().bytes().next()? {
            b'n' => self.eat("null").then_some(Json::Null),
            b't' => self.eat("true").then_some(Json::Bool(true)),
            b'f' => self.eat("false").then_some(Json::Bool(false)),
            b'"' => self.string().map(Json::String),
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                if self.eat("]") {
                    return Some(Json::Array(items));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if !self.eat(",") {
                        return self.eat("]").then_some(Json::Array(items));
                    }
                }
            }
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                if self.eat("}") {
                    return Some(Json::Object(members));
                }
                loop {
                    self.space();
                    let name = self.string()?;
                    if !self.eat(":") {
                        return None;
                    }
                    members.push((name, self.value(depth + 1)?));
                    if !self.eat(",") {
                        return self.eat("}").then_some(Json::Object(members));
                    }
                }
            }
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<Json> {
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && !"+-.eE".contains(letter)).unwrap_or(rest.len());
        let text = rest[..end].to_owned();
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let plain = digits.starts_with(|digit: char| digit.is_ascii_digit())
            && !(digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit());
        self.at += end;
        (plain && text.parse::<f64>().is_ok_and(f64::is_finite)).then_some(Json::Number(text))
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1 - usize::from(!self.rest().starts_with('"'));
        if !self.text[..self.at].ends_with('"') {
            return None;
        }
        let mut out = String::new();
        loop {
            let letter = self.rest().chars().next()?;
            self.at += letter.len_utf8();
            match letter {
                '"' => return Some(out),
                '\0'..='\x1f' => return None,
                '\\' => out.push(self.escaped()?),
                letter => out.push(letter),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.at += letter.len_utf8();
        Some(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first);
                }
                if !self.rest().starts_with("\\u") {
                    return None;
                }
                self.at += 2;
                let second = self.unit()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)?
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let unit = u32::from_str_radix(digits, 16).ok();
        self.at += 4;
        unit
    }
}

/// A type that is written as JSON.
pub trait JsonValue: Sized {
    /// As JSON.
    fn to_json(&self) -> Json;

    /// From JSON; `None` if it has another shape.
    fn from_json(json: &Json) -> Option<Self>;
}

impl JsonValue for Json {
    fn to_json(&self) -> Json {
        self.clone()
    }
    fn from_json(json: &Json) -> Option<Self> {
        Some(json.clone())
    }
}

impl JsonValue for bool {
    fn to_json(&self) -> Json {
        Json::Bool(*self)
    }
    fn from_json(json: &Json) -> Option<Self> {
        if let Json::Bool(value) = json { Some(*value) } else { None }
    }
}

impl JsonValue for f64 {
    fn to_json(&self) -> Json {
        if self.is_finite() { Json::Number(self.to_string()) } else { Json::Null }
    }
    fn from_json(json: &Json) -> Option<Self> {
        if let Json::Number(text) = json { text.parse().ok() } else { None }
    }
}

impl JsonValue for i64 {
    fn to_json(&self) -> Json {
        Json::Number(self.to_string())
    }
    fn from_json(json: &Json) -> Option<Self> {
        if let Json::Number(text) = json { text.parse().ok() } else { None }
    }
}

impl JsonValue for String {
    fn to_json(&self) -> Json {
        Json::String(self.clone())
    }
    fn from_json(json: &Json) -> Option<Self> {
        if let Json::String(text) = json { Some(text.clone()) } else { None }
    }
}

impl<T: JsonValue> JsonValue for Option<T> {
    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::to_json)
    }
    fn from_json(json: &Json) -> Option<Self> {
        if *json == Json::Null { Some(None) } else { T::from_json(json).map(Some) }
    }
}

impl<T: JsonValue> JsonValue for Vec<T> {
    fn to_json(&self) -> Json {
        Json::Array(self.iter().map(T::to_json).collect())
    }
    fn from_json(json: &Json) -> Option<Self> {
        match json {
            Json::Array(items) => items.iter().map(T::from_json).collect(),
            // Lua writes an empty array so.
            Json::Object(members) if members.is_empty() => Some(Vec::new()),
            _ => None,
        }
    }
}

impl<T: JsonValue> JsonValue for std::collections::BTreeMap<String, T> {
    fn to_json(&self) -> Json {
        Json::Object(self.iter().map(|(name, value)| (name.clone(), value.to_json())).collect())
    }
    fn from_json(json: &Json) -> Option<Self> {
        let Json::Object(members) = json else { return None };
        members.iter().map(|(name, value)| Some((name.clone(), T::from_json(value)?))).collect()
    }
}

struct JsonOf<T>(std::marker::PhantomData<T>, &'static str);
impl<T: JsonValue> Codec for JsonOf<T> {
    type Value = T;
    fn write(&self, value: &T) -> Result<Vec<u8>, KeyError> {
        let json = value.to_json();
        // What is written can be read: words in it are among those that are declared.
        T::from_json(&json).map_or_else(|| wrong(self.1), |_| Ok(json.to_string().into_bytes()))
    }
    fn read(&self, raw: &[u8]) -> Result<T, KeyError> {
        let json = Json::parse(text_of(raw)?);
        json.and_then(|json| T::from_json(&json)).map_or_else(|| wrong(self.1), Ok)
    }
}

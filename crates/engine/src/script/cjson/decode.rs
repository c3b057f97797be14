//! From JSON to Lua values.

use super::token::{Token, Tokens};
use super::{Config, DEPTH_CEILING, config};
use crate::script::stack::{Outcome, Raised, Stack};

/// `cjson.decode(text)`.
pub(super) fn decode(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 {
        return Err(stack.arg_error(1, "expected 1 argument"));
    }
    let length = stack.check_bytes(1)?.len();
    // A copy, and a string whose escapes are resolved.
    stack.spend(length, 2 * length)?;
    let mut text = stack.context().take_scratch();
    text.extend_from_slice(stack.bytes(1));
    if text.len() >= 2 && text[..2].contains(&0) {
        return Err(stack.error("JSON parser does not support UTF-16 or UTF-32"));
    }
    let config = config(stack);
    let tokens = Tokens::new(&text, config.decode_invalid != 0);
    Decoder { config, tokens, depth: 0 }.document(stack)?;
    stack.context().put_scratch(text);
    Ok(1)
}

struct Decoder<'a> {
    config: Config,
    tokens: Tokens<'a>,
    depth: i32,
}

/// What [`Decoder::scalar`] found to do.
enum Step {
    Pushed,
    Object,
    Array,
}

impl Decoder<'_> {
    /// Pushes the one value of the text.
    fn document(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        let step = self.scalar(stack)?;
        self.finish(stack, step)?;
        match self.tokens.next() {
            Token::End => Ok(()),
            token => {
                let found = token.name();
                Err(self.expected(stack, "the end", found))
            }
        }
    }

    /// Reads a token and pushes the value it is, unless that has parts.
    fn scalar(&mut self, stack: &mut Stack<'_>) -> Result<Step, Raised> {
        let token = self.tokens.next();
        push_scalar(stack, &token).map_err(|found| self.expected(stack, "value", found))
    }

    /// Pushes the object or array that has just begun.
    fn finish(&mut self, stack: &mut Stack<'_>, step: Step) -> Result<(), Raised> {
        match step {
            Step::Pushed => Ok(()),
            Step::Object => self.object(stack),
            Step::Array => self.array(stack),
        }
    }

    fn object(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        self.descend(stack)?;
        let mut first = true;
        loop {
            let token = self.tokens.next();
            match token {
                Token::ObjectEnd if first => break,
                Token::String(key) => stack.push_bytes(key),
                token => {
                    let found = token.name();
                    return Err(self.expected(stack, "object key string", found));
                }
            }
            first = false;
            match self.tokens.next() {
                Token::Colon => {}
                token => {
                    let found = token.name();
                    return Err(self.expected(stack, "colon", found));
                }
            }
            let step = self.scalar(stack)?;
            self.finish(stack, step)?;
            stack.raw_set(-3);
            stack.spend(VALUE_UNITS, 0)?;
            match self.tokens.next() {
                Token::ObjectEnd => break,
                Token::Comma => {}
                token => {
                    let found = token.name();
                    return Err(self.expected(stack, "comma or object end", found));
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        self.descend(stack)?;
        for position in 1.. {
            let token = self.tokens.next();
            if position == 1 && matches!(token, Token::ArrayEnd) {
                break;
            }
            let step =
                push_scalar(stack, &token).map_err(|found| self.expected(stack, "value", found))?;
            self.finish(stack, step)?;
            stack.raw_set_at(-2, position);
            stack.spend(VALUE_UNITS, 0)?;
            match self.tokens.next() {
                Token::ArrayEnd => break,
                Token::Comma => {}
                token => {
                    let found = token.name();
                    return Err(self.expected(stack, "comma or array end", found));
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Goes one level down and pushes the table for it.
    fn descend(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        self.depth += 1;
        let too_deep = self.depth > self.config.decode_depth_max.min(DEPTH_CEILING);
        if too_deep || stack.context().is_deep() || !stack.reserve(6) {
            let (depth, position) = (self.depth, self.tokens.position);
            return Err(stack.error(format!(
                "Found too many nested data structures ({depth}) at character {position}"
            )));
        }
        // Not sized beforehand: the order in which `pairs` finds fields depends on how the table grew.
        stack.push_table(0, 0);
        Ok(())
    }

    fn expected(&self, stack: &mut Stack<'_>, expected: &str, found: &str) -> Raised {
        let position = self.tokens.index + 1;
        stack.error(format!("Expected {expected} but found {found} at character {position}"))
    }
}

/// Work that a value stands for: small texts can unfold to large tables, and making a string may take long.
const VALUE_UNITS: usize = 1024;

/// Pushes the value of `token`; for one that is no value, the error is what it is.
fn push_scalar(stack: &mut Stack<'_>, token: &Token<'_>) -> Result<Step, &'static str> {
    match token {
        Token::String(text) => stack.push_bytes(text),
        Token::Number(value) => stack.push_number(*value),
        Token::Boolean(value) => stack.push_bool(*value),
        Token::Null => stack.push_null(),
        Token::ObjectBegin => return Ok(Step::Object),
        Token::ArrayBegin => return Ok(Step::Array),
        token => return Err(token.name()),
    }
    Ok(Step::Pushed)
}

//! Names in the customs of each language, made of names in keys files.

/// The words of a name, in lower case: `user-id`, `userId` and `user.id` are `user`, `id`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_word = false;
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() {
            in_word = false;
            continue;
        }
        if !in_word || (letter.is_ascii_uppercase() && after_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter.to_ascii_lowercase());
        }
        in_word = true;
        after_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    if words.is_empty() {
        words.push("unnamed".into());
    }
    if words[0].starts_with(|first: char| first.is_ascii_digit()) {
        words.insert(0, "n".into());
    }
    words
}

/// `UserId`.
pub(super) fn pascal(name: &str) -> String {
    words(name)
        .iter()
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        })
        .collect()
}

/// `user_id`.
pub(super) fn snake(name: &str) -> String {
    words(name).join("_")
}

/// `userId`.
pub(super) fn camel(name: &str) -> String {
    let pascal = pascal(name);
    let (first, rest) = pascal.split_at(1);
    first.to_ascii_lowercase() + rest
}

/// `USER_ID`.
pub(super) fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// Names that are given once.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// Names that are taken from the start.
    pub(super) fn without(taken: &[&str]) -> Self {
        Self(taken.iter().map(|&name| name.to_owned()).collect())
    }

    /// The name, with a number after it if somebody has it already.
    pub(super) fn give(&mut self, wanted: &str) -> String {
        let numbered = (2..).map(|n| format!("{wanted}{n}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        let name = names.find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.push(name.clone());
        name
    }
}

/// A name for each of these in a scope of their own; a reserved one has a line after it.
pub(super) fn scope<'n>(
    names: impl IntoIterator<Item = &'n str>,
    custom: fn(&str) -> String,
    reserved: &[&str],
) -> Vec<String> {
    let mut given = Names::default();
    let names = names.into_iter().map(|name| {
        let name = custom(name);
        given.give(&if reserved.contains(&name.as_str()) { format!("{name}_") } else { name })
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_customs() {
        for name in ["user-id", "user_id", "userId", "user.id", "UserId"] {
            assert_eq!(
                (pascal(name), snake(name), camel(name), upper(name)),
                ("UserId".into(), "user_id".into(), "userId".into(), "USER_ID".into()),
                "{name}"
            );
        }
        assert_eq!((pascal("1st"), snake("ü")), ("N1st".into(), "unnamed".into()));
    }

    #[test]
    fn names_of_a_scope_are_different_and_not_reserved() {
        let names = scope(["type", "a-b", "a_b"], snake, &["type"]);
        assert_eq!(names, ["type_", "a_b", "a_b2"]);
    }
}

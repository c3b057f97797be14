//! `docs/benchmarks.md`: a chapter for each benchmark, which that benchmark alone rewrites.

use std::fs;

use anyhow::{Context, Result};

use super::report::{Section, check};
use crate::shell;

const PAGE: &str = "docs/benchmarks.md";
const TITLE: &str = "# Benchmarks\n\n\
    Each chapter names the command that generates it. keyrack and its peers are measured in the same\n\
    run. Absolute numbers depend on the machine; ratios depend on it much less.\n";

/// Where lines of text end in the page, as in all other documents.
const LINE_MAX: usize = 100;

/// Prints what was found, puts it into the page behind some words about it if that is wanted, and fails when a limit was missed.
pub(super) fn conclude(title: &str, about: &str, sections: &[Section], write: bool) -> Result<()> {
    let sections_text: Vec<String> = sections.iter().map(ToString::to_string).collect();
    let text = sections_text.join("\n");
    println!("\n{text}");
    if write {
        write_chapter(title, &format!("{}\n\n{text}", about.trim_end()))?;
    }
    check(sections)
}

/// Puts a chapter in place of the one with its title, or at the end.
pub(super) fn write_chapter(title: &str, text: &str) -> Result<()> {
    let path = shell::workspace().join(PAGE);
    let page = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, with_chapter(&page, title, text))
        .with_context(|| format!("could not write \"{PAGE}\""))?;
    println!("wrote \"{title}\" in {PAGE}");
    Ok(())
}

fn with_chapter(page: &str, title: &str, text: &str) -> String {
    let chapter = format!("{title}\n\n{}\n", wrapped(text.trim()));
    let mut chapters: Vec<String> = page.split("\n## ").skip(1).map(str::to_owned).collect();
    match chapters.iter_mut().find(|chapter| chapter.lines().next() == Some(title)) {
        Some(old) => *old = chapter,
        None => chapters.push(chapter),
    }
    let chapters = chapters.iter().map(|chapter| format!("\n## {}\n", chapter.trim_end()));
    TITLE.to_owned() + &chapters.collect::<String>()
}

/// The text with its long lines broken between words. Tables stay as they are; items of lists go on indented.
fn wrapped(text: &str) -> String {
    text.lines().map(wrapped_line).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str) -> String {
    if line.starts_with('|') || line.starts_with('#') {
        return line.to_owned();
    }
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let (mut text, mut length) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let word_length = word.trim_end().chars().count();
        if length > indent.len() && length + word_length > LINE_MAX {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(indent);
            length = indent.len();
        }
        text.push_str(word);
        length += word.chars().count();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words_and_tables_are_not() {
        let words = ["word"; 41].join(" ");
        let (first, rest) = words.split_at(20 * 5 - 1);
        let (second, third) = rest[1..].split_at(20 * 5 - 1);
        assert_eq!(wrapped(&words), format!("{first}\n{second}\n{}", &third[1..]));
        let item = wrapped(&format!("- {words}"));
        assert!(item.lines().skip(1).all(|line| line.starts_with("  word")), "{item}");
        assert!(item.lines().all(|line| line.chars().count() <= LINE_MAX), "{item}");
        let row = format!("| {words} |");
        assert_eq!(wrapped(&row), row);
    }

    #[test]
    fn a_chapter_replaces_only_its_own_earlier_text() {
        let page = with_chapter("", "Jobs", "fast\n\n### Detail\n\n1");
        let page = with_chapter(&page, "Estimates", "close");
        assert_eq!(
            page,
            format!("{TITLE}\n## Jobs\n\nfast\n\n### Detail\n\n1\n\n## Estimates\n\nclose\n")
        );
        let page = with_chapter(&page, "Jobs", "faster");
        assert_eq!(page, format!("{TITLE}\n## Jobs\n\nfaster\n\n## Estimates\n\nclose\n"));
    }
}

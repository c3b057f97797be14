//! `docs/benchmarks.md`: a chapter for each benchmark, which that benchmark alone rewrites.

use std::fs;

use anyhow::{Context, Result};

use super::report::{Section, check};
use crate::shell;

const PAGE: &str = "docs/benchmarks.md";
const TITLE: &str = "# Benchmarks\n\n\
    Every chapter is written by the command it names, in one run with whatever it compares to. Other machines give other numbers; \
    the ratios differ much less.\n";

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
    let chapter = format!("{title}\n\n{}\n", text.trim());
    let mut chapters: Vec<String> = page.split("\n## ").skip(1).map(str::to_owned).collect();
    match chapters.iter_mut().find(|chapter| chapter.lines().next() == Some(title)) {
        Some(old) => *old = chapter,
        None => chapters.push(chapter),
    }
    let chapters = chapters.iter().map(|chapter| format!("\n## {}\n", chapter.trim_end()));
    TITLE.to_owned() + &chapters.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

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

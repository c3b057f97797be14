//! `keyrack keys generate`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use keyrack_contract::registry;
use keyrack_keys::{Family, Generated, Language, Layout, generate, module_name};

use super::{declared::Declared, fmt::write_whole};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The code needs no library: it makes names and bytes, which any Redis client takes.")]
pub(super) struct Args {
    /// Language of the code
    #[arg(long, value_enum)]
    lang: Lang,
    /// Write the code to this file, with tests from the examples beside it, or to both in this folder [default: print the code]
    #[arg(long, value_name = "FILE|DIR")]
    out: Option<PathBuf>,
    /// Names as they are on a cluster, with hash tags
    #[arg(long)]
    cluster: bool,
    /// Write nothing; end with 10 if what is in the files is out of date
    #[arg(long, requires = "out")]
    check: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lang {
    Rust,
    Typescript,
    Python,
    Go,
}

impl Lang {
    fn language(self) -> Language {
        match self {
            Self::Rust => Language::Rust,
            Self::Typescript => Language::TypeScript,
            Self::Python => Language::Python,
            Self::Go => Language::Go,
        }
    }

    /// How names of files end.
    fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::Typescript => "ts",
            Self::Python => "py",
            Self::Go => "go",
        }
    }
}

/// Prints or writes code.
pub(super) fn run(args: &Args, declared: &Declared, globals: &Globals) -> anyhow::Result<Exit> {
    let document = match declared.documents.as_slice() {
        [one] => one.name,
        _ => "keyrack",
    };
    let (folder, name) = match &args.out {
        None => (None, module_name(document)),
        Some(out) => place(out, args.lang, document)?,
    };
    let families: Vec<&'static Family> = registry().all().collect();
    let layout = if args.cluster { Layout::Cluster } else { Layout::Documented };
    let files = generate(args.lang.language(), &name, &families, layout);
    let Some(folder) = folder else {
        let mut out = globals.out();
        out.write_all(files.first().map_or("", |file| &file.text).as_bytes())?;
        out.flush()?;
        return Ok(Exit::Ok);
    };
    if args.check {
        return Ok(check(&folder, &files, globals));
    }
    for file in &files {
        let path = folder.join(&file.file);
        write_whole(&path, &file.text)?;
        globals.say(format_args!("wrote {}", path.display()));
    }
    Ok(Exit::Ok)
}

fn check(folder: &Path, files: &[Generated], globals: &Globals) -> Exit {
    let mut exit = Exit::Ok;
    for file in files {
        let path = folder.join(&file.file);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(file.text.as_str()) {
            globals.say(format_args!("{} is out of date", path.display()));
            exit = Exit::Findings;
        }
    }
    exit
}

/// The folder to write to, and the name of the module.
fn place(out: &Path, lang: Lang, document: &str) -> Result<(Option<PathBuf>, String), Failure> {
    if out.is_dir() {
        return Ok((Some(out.to_owned()), module_name(document)));
    }
    let wrong = |message: String| Failure::new(Exit::Usage, message);
    let extension = lang.extension();
    if out.extension().is_none_or(|found| found != extension) {
        let message = format!("\"{}\" is no folder, and no file for this language", out.display());
        return Err(
            wrong(message).hint(format!("give a folder, or a name that ends with .{extension}"))
        );
    }
    let name = out.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        let message = format!("\"{name}\" cannot be the name of a module");
        return Err(wrong(message).hint("use letters, digits and \"_\", and begin with a letter"));
    }
    Ok((Some(out.parent().unwrap_or(Path::new("")).to_owned()), name.to_owned()))
}

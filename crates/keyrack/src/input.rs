//! Files that commands read line by line, and the bars that they draw meanwhile.

use std::{fs::File, io, path::Path};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{Exit, Failure, Globals};

/// How much is read at once.
pub(crate) const BUFFER_BYTES: usize = 256 * 1024;

/// Whether the name of a file stands for stdin.
pub(crate) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// A file, and how many bytes it has; a pipe does not say.
pub(crate) fn open_file(file: &Path) -> Result<(File, Option<u64>), Failure> {
    let failed = |error: io::Error| {
        let exit =
            if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failed };
        Failure::new(exit, format!("could not read \"{}\": {error}", file.display()))
    };
    let opened = File::open(file).map_err(failed)?;
    let meta = opened.metadata().map_err(failed)?;
    Ok((opened, meta.is_file().then_some(meta.len())))
}

/// A bar on stderr; nothing is drawn with `--quiet` or without a terminal.
pub(crate) fn bar(globals: &Globals, length: Option<u64>) -> ProgressBar {
    let target =
        if globals.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(length, target)
}

/// A bar of the bytes of a file that are read.
pub(crate) fn file_bar(globals: &Globals, bytes: Option<u64>) -> ProgressBar {
    let bar = bar(globals, bytes);
    let template = match bytes {
        Some(_) => "{bar:32} {percent}%, {msg}, {eta} left",
        None => "{spinner} {msg}, {elapsed}",
    };
    set_style(&bar, template);
    bar
}

/// Draws a bar by a template from now on.
pub(crate) fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

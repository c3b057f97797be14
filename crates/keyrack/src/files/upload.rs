//! `keyrack files upload`.

use std::{
    ffi::OsString,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use anyhow::Context as _;
use keyrack_files::{Buckets, File, Files, SaveError};
use tokio::process::Command;

use super::buckets;
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "keyrack files upload [OPTIONS] <BUCKET> <KEY> <FILE> [-- <PROGRAM> [ARG]...]",
    after_help = AFTER_HELP
)]
pub(super) struct Args {
    /// The bucket
    bucket: String,
    /// The name of the file in the bucket; use a new one for each upload
    key: String,
    /// The file to upload, or - for stdin
    file: PathBuf,
    /// A command that records the file, such as in your database
    #[arg(last = true, value_name = "PROGRAM")]
    record: Vec<OsString>,
    /// Where the files are: file:DIR, s3: or s3:https://HOST [default: the setting "files"]
    #[arg(long, value_name = "URL")]
    at: Option<String>,
    /// A note for debugging, shown by "keyrack files list"
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
}

const AFTER_HELP: &str = "\
The file is in purgatory (listed for deletion) from before the first byte is stored until PROGRAM
exits with 0. If the upload or PROGRAM fails, or the machine crashes, the next sweep deletes the file.
Without PROGRAM the file is kept as soon as it is stored.";

/// Stores a file, has it recorded, and only then takes it out of purgatory.
pub(super) async fn run(args: Args, files: &Files, globals: &Globals) -> anyhow::Result<Exit> {
    let buckets = match &args.at {
        Some(url) => Buckets::open(url)?,
        None => buckets(&globals.settings)?,
    };
    let content = read(&args.file)?;
    let mut file = File::new(args.bucket, args.key);
    if let Some(hint) = args.hint {
        file = file.hint(hint);
    }
    let name = format!("\"{}\" in \"{}\"", file.key, file.bucket);
    let upload = files.begin_upload(file).await?;
    upload.put(&buckets, content).await?;
    upload.save(record(&args.record)).await.map_err(|error| match error {
        SaveError::Save(error) => {
            error.context(format!("{name} was not recorded; the next sweep deletes it"))
        }
        SaveError::NotHeld(error) => error.into(),
        SaveError::Unreleased(error) => {
            let still =
                format!("{name} is recorded but still in purgatory; run \"keyrack files keep\"");
            anyhow::Error::from(error).context(still)
        }
    })?;
    globals.say(format_args!("uploaded {name}"));
    Ok(Exit::Ok)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut content = Vec::new();
        std::io::stdin().read_to_end(&mut content).context("could not read stdin")?;
        return Ok(content);
    }
    fs::read(path).map_err(|error| {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failed,
        };
        Failure::new(exit, format!("could not read \"{}\": {error}", path.display())).into()
    })
}

/// Runs the command that records the file, if there is one.
async fn record(command: &[OsString]) -> anyhow::Result<()> {
    let Some((program, args)) = command.split_first() else { return Ok(()) };
    let name = program.to_string_lossy();
    let ended = Command::new(program).args(args).status().await;
    match ended.map_err(|error| format!("could not run \"{name}\": {error}")) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("\"{name}\" failed: {}", in_words(status)))),
        Err(message) => Err(failed(message)),
    }
}

fn failed(message: String) -> anyhow::Error {
    Failure::new(Exit::Failed, message).into()
}

fn in_words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

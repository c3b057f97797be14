//! The container image: the program, the libraries it links, and certificates of authorities. Nothing else.
//!
//! Written as an archive in the OCI layout, which `podman load`, `docker load` and `skopeo` read, so that neither a daemon nor a
//! registry is needed to make it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Made, built, copy, stage, tarball, version, write};
use crate::setup;
use crate::shell::{output, run, succeeds};

/// Nobody in particular: no account of a host has this number.
const USER: u32 = 65532;
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// How long the server in the image may take to be ready.
const START_SECONDS_MAX: u32 = 20;
/// Where the embedded store lies; mount a volume here.
const DATA: &str = "var/lib/keyrack";

pub(super) fn make() -> Result<Made> {
    setup::programs(&[("ldd", "libc-bin"), ("update-ca-certificates", "ca-certificates")])?;
    let stage = stage("image")?;
    let root = fill(&stage.join("root"))?;
    let layout = stage.join("layout");
    let layer = stage.join("layer.tar");
    pack(&layer, &root, &["."])?;
    let unpacked_digest = digest(&layer)?;
    run(Command::new("gzip").args(["-9", "-n"]).arg(&layer))?;
    let layer = Blob::take(&layout, &stage.join("layer.tar.gz"), "layer.v1.tar+gzip")?;
    let config = Blob::write(&layout, &config(&unpacked_digest), "config.v1+json")?;
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{}","config":{config},"layers":[{layer}]}}"#,
        media_type("manifest.v1+json"),
    );
    let manifest = Blob::write(&layout, &manifest, "manifest.v1+json")?;
    write(&layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    write(&layout.join("index.json"), index(&manifest))?;
    let name = format!("keyrack-{}-{}.oci.tar", version(), architecture());
    let file = stage.join(name);
    pack(&file, &layout, &["oci-layout", "index.json", "blobs"])?;
    try_it(&stage, &layout, &layer)?;
    Ok(file.into())
}

/// Puts together what the container sees.
fn fill(root: &Path) -> Result<PathBuf> {
    let program = built("keyrack");
    copy(&program, &root.join("usr/bin/keyrack"))?;
    let linked = output(Command::new("ldd").arg(&program))?;
    // Lines such as `libc.so.6 => /lib/…/libc.so.6 (0x…)` and `/lib64/ld-linux-x86-64.so.2 (0x…)`.
    for library in linked.split_whitespace().filter(|word| word.starts_with('/')) {
        let real = fs::canonicalize(library).with_context(|| format!("no library {library}"))?;
        copy(&real, &root.join(library.trim_start_matches('/')))?;
    }
    copy(Path::new(CERTIFICATES), &root.join(CERTIFICATES.trim_start_matches('/')))?;
    let account = |line: &str| format!("{line}\n");
    write(&root.join("etc/passwd"), account(&format!("keyrack:x:{USER}:{USER}::/{DATA}:/")))?;
    write(&root.join("etc/group"), account(&format!("keyrack:x:{USER}:")))?;
    let data = root.join(DATA);
    fs::create_dir_all(&data)?;
    std::os::unix::fs::chown(&data, Some(USER), Some(USER))
        .context("could not give the data folder to the image's user; run this as root")?;
    fs::create_dir_all(root.join("tmp"))?;
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    Ok(root.to_owned())
}

/// An archive that is the same for the same content.
fn pack(file: &Path, folder: &Path, names: &[&str]) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--numeric-owner", "-cf"]);
    run(tar.arg(file).arg("-C").arg(folder).args(names))
}

/// Something in an image that others refer to by its digest.
struct Blob {
    kind: &'static str,
    digest: String,
    bytes: u64,
}

impl Blob {
    /// Moves a file into the layout.
    fn take(layout: &Path, file: &Path, kind: &'static str) -> Result<Blob> {
        let (digest, bytes) = (digest(file)?, fs::metadata(file)?.len());
        let to = layout.join("blobs/sha256").join(&digest);
        copy(file, &to)?;
        Ok(Blob { kind, digest, bytes })
    }

    fn write(layout: &Path, text: &str, kind: &'static str) -> Result<Blob> {
        let file = layout.with_extension("blob");
        write(&file, text)?;
        Blob::take(layout, &file, kind)
    }
}

impl std::fmt::Display for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Blob { digest, bytes, kind } = self;
        let kind = media_type(kind);
        write!(f, r#"{{"mediaType":"{kind}","digest":"sha256:{digest}","size":{bytes}}}"#)
    }
}

fn media_type(kind: &str) -> String {
    format!("application/vnd.oci.image.{kind}")
}

fn digest(file: &Path) -> Result<String> {
    let printed = output(Command::new("sha256sum").arg(file))?;
    Ok(printed.split_whitespace().next().context("no digest")?.to_owned())
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// How the container runs. It is reached from outside, so tokens are required; the health check is the program's own.
fn config(layer: &str) -> String {
    let (version, architecture) = (version(), architecture());
    format!(
        r#"{{"architecture":"{architecture}","os":"linux","config":{{
  "User":"{USER}:{USER}",
  "Entrypoint":["/usr/bin/keyrack"],
  "Cmd":["serve"],
  "Env":["PATH=/usr/bin","KEYRACK_DATA=/{DATA}","KEYRACK_HTTP=0.0.0.0:7700","KEYRACK_AUTH=required"],
  "WorkingDir":"/{DATA}",
  "Volumes":{{"/{DATA}":{{}}}},
  "ExposedPorts":{{"7700/tcp":{{}}}},
  "StopSignal":"SIGTERM",
  "Healthcheck":{{"Test":["CMD","/usr/bin/keyrack","health"],"Interval":10000000000,"Timeout":6000000000,"StartPeriod":30000000000,"Retries":3}},
  "Labels":{{"org.opencontainers.image.title":"keyrack","org.opencontainers.image.version":"{version}"}}
}},"rootfs":{{"type":"layers","diff_ids":["sha256:{layer}"]}}}}"#
    )
}

/// Names the image, so that it is called so once it is loaded.
fn index(manifest: &Blob) -> String {
    let name = format!(
        r#""annotations":{{"org.opencontainers.image.ref.name":"{version}","io.containerd.image.name":"keyrack:{version}"}}"#,
        version = version(),
    );
    let named = manifest.to_string().replacen('{', &format!("{{{name},"), 1);
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{}","manifests":[{named}]}}"#,
        media_type("index.v1+json")
    )
}

/// Runs what is in the image as its user, with nothing else to be seen.
fn try_it(stage: &Path, layout: &Path, layer: &Blob) -> Result<()> {
    let place = tempfile::tempdir_in(stage)?;
    let mut unpack = Command::new("tar");
    unpack.args(["--same-owner", "-xzf"]).arg(layout.join("blobs/sha256").join(&layer.digest));
    run(unpack.arg("-C").arg(place.path()))?;
    let http = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let inside = |arguments: &[&str]| {
        let mut command = Command::new("chroot");
        command.arg(format!("--userspec={USER}:{USER}")).arg(place.path());
        command.env("KEYRACK_HTTP", http.to_string()).env("KEYRACK_RESP", "off");
        command.args(["/usr/bin/keyrack", "--data", &format!("/{DATA}")]).args(arguments);
        command
    };
    let mut serve = inside(&["serve"]).env("KEYRACK_AUTH", "required").spawn()?;
    let is_ready = (0..START_SECONDS_MAX * 10).any(|_| {
        thread::sleep(Duration::from_millis(100));
        succeeds(&mut inside(&["health"]))
    });
    serve.kill()?;
    serve.wait()?;
    ensure!(is_ready, "the server in the image is not ready after {START_SECONDS_MAX} s");
    // There is no shell to run a job with.
    tarball::submit_a_job(inside)
}

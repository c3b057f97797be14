//! The Debian package: the program as a service with its own user, and its completions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Made, built, copy, elf, stage, tarball, version, write};
use crate::setup;
use crate::shell::{output, run, workspace};

/// What is done with each maintainer script: `dpkg` runs it at that moment.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

pub(super) fn make() -> Result<Made> {
    setup::programs(&[("dpkg-deb", "dpkg"), ("mmdebstrap", "mmdebstrap")])?;
    let stage = stage("deb")?;
    let root = stage.join("root");
    let packaging = workspace().join("packaging");
    copy(&built("keyrack"), &root.join("usr/bin/keyrack"))?;
    copy(&packaging.join("keyrack.service"), &root.join("lib/systemd/system/keyrack.service"))?;
    copy(&packaging.join("keyrack.toml"), &root.join("etc/keyrack/keyrack.toml"))?;
    let share = root.join("usr/share");
    for (shell, file) in [
        ("bash", "bash-completion/completions/keyrack"),
        ("zsh", "zsh/vendor-completions/_keyrack"),
        ("fish", "fish/vendor_completions.d/keyrack.fish"),
    ] {
        write(&share.join(file), tarball::completions(shell)?)?;
    }
    tarball::manual(&share.join("man/man1"))?;
    let docs = share.join("doc/keyrack");
    copy(&packaging.join("deb/copyright"), &docs.join("copyright"))?;
    copy(&workspace().join("CHANGELOG.md"), &docs.join("CHANGELOG.md"))?;
    let control = root.join("DEBIAN");
    write(&control.join("control"), describe(&root)?)?;
    write(&control.join("conffiles"), "/etc/keyrack/keyrack.toml\n")?;
    for script in SCRIPTS {
        let path = control.join(script);
        copy(&packaging.join("deb").join(script), &path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let file = stage.join(format!("keyrack_{}_{}.deb", version(), architecture()?));
    let mut build = Command::new("dpkg-deb");
    run(build.args(["--build", "--root-owner-group", "-Zxz"]).arg(&root).arg(&file))?;
    try_it(&stage, &file)?;
    Ok(file.into())
}

fn architecture() -> Result<String> {
    Ok(output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned())
}

/// The control file, with what only the build knows filled in.
fn describe(root: &Path) -> Result<String> {
    let template = workspace().join("packaging/deb/control");
    let template = fs::read_to_string(&template)
        .with_context(|| format!("could not read \"{}\"", template.display()))?;
    let (major, minor) = elf::glibc(&[&built("keyrack")])?;
    let kilobytes = output(Command::new("du").args(["-sk"]).arg(root))?;
    let kilobytes = kilobytes.split_whitespace().next().unwrap_or("0").to_owned();
    Ok(template
        .replace("@VERSION@", version())
        .replace("@ARCHITECTURE@", &architecture()?)
        .replace("@GLIBC@", &format!("{major}.{minor}"))
        .replace("@KILOBYTES@", &kilobytes))
}

/// Installs it into a minimal Debian, runs a job there as the service's user, and removes it again.
fn try_it(stage: &Path, file: &Path) -> Result<()> {
    let place = tempfile::tempdir_in(stage)?;
    let debian = place.path().join("debian");
    let mut bootstrap = Command::new("mmdebstrap");
    bootstrap.args(["--quiet", "--variant=apt", "--include=adduser", "bookworm"]).arg(&debian);
    run(&mut bootstrap)?;
    fs::copy(file, debian.join("tmp/keyrack.deb"))?;
    let inside = |line: &str| {
        let mut command = Command::new("chroot");
        command.arg(&debian).args(["sh", "-ec", line]);
        command
    };
    run(&mut inside("dpkg --install /tmp/keyrack.deb"))?;
    tarball::run_a_job(|arguments| {
        let mut command = Command::new("chroot");
        command.args(["--userspec=keyrack:keyrack"]).arg(&debian);
        command.args(["env", "-C", "/var/lib/keyrack", "keyrack"]).args(arguments);
        command
    })?;
    run(&mut inside("dpkg --purge keyrack; test ! -e /usr/bin/keyrack; test ! -e /etc/keyrack"))
}

//! Installing Debian packages, or saying which ones are needed.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{find, output, run};

/// Makes sure that every program is there; each comes with the package that has it.
pub(super) fn provide(programs: &[(&str, &str)]) -> Result<()> {
    let packages = missing_packages(programs, |program| find(program).is_some());
    if packages.is_empty() {
        return Ok(());
    }
    install(&packages)?;
    let still_missing = missing_packages(programs, |program| find(program).is_some());
    if !still_missing.is_empty() {
        bail!("installed, but still not in PATH: programs of {}", still_missing.join(" "));
    }
    Ok(())
}

/// Installs packages through apt as root; otherwise fails with the one line to type.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    let list = packages.join(" ");
    if find("apt-get").is_none() {
        bail!("this machine lacks what Debian calls {list}; install it and run this again");
    }
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("run `sudo apt-get install --yes {list}` and then this again");
    }
    let _no_services = NoServices::enforce()?;
    println!("    installing {list}");
    // Package lists on a fresh machine are often empty or old.
    run(apt_get().args(["update", "--quiet"]))?;
    run(apt_get().args(["install", "--yes", "--quiet", "--no-install-recommends"]).args(packages))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// The packages of all programs that are not there, each once.
fn missing_packages<'a>(
    programs: &[(&str, &'a str)],
    is_there: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let mut packages: Vec<&str> = programs
        .iter()
        .filter(|(program, _)| !is_there(program))
        .map(|&(_, package)| package)
        .collect();
    packages.dedup();
    packages
}

/// Keeps packages from starting their services: the tests start servers of their own, and a Redis
/// left running on the machine would be a surprise.
struct NoServices {
    ours: bool,
}

/// Debian asks this program before a package starts a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

impl NoServices {
    fn enforce() -> Result<Self> {
        match fs::File::create_new(POLICY) {
            Ok(_) => {
                let this = Self { ours: true };
                fs::write(POLICY, "#!/bin/sh\nexit 101\n")
                    .and_then(|()| fs::set_permissions(POLICY, PermissionsExt::from_mode(0o755)))
                    .with_context(|| format!("could not write \"{POLICY}\""))?;
                Ok(this)
            }
            // Somebody has decided about services on this machine; that stands.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Self { ours: false }),
            Err(error) => Err(error).with_context(|| format!("could not create \"{POLICY}\"")),
        }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours && fs::remove_file(Path::new(POLICY)).is_err() {
            eprintln!("could not remove \"{POLICY}\"; remove it to let packages start services");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_of_two_missing_programs_is_listed_once() {
        let programs = [("server", "redis"), ("cli", "tools"), ("benchmark", "tools")];
        assert_eq!(missing_packages(&programs, |_| false), ["redis", "tools"]);
        assert_eq!(missing_packages(&programs, |program| program == "cli"), ["redis", "tools"]);
        assert!(missing_packages(&programs, |_| true).is_empty());
    }
}

//! `keyrack keys acl`: a Redis user with just the rights that keyrack needs, or a program of a keys file.

mod program;

use std::io::Write as _;

use keyrack_calculations::keys::Project;
use keyrack_contract::registry;
use keyrack_keys::{Family, Layout, Registry};
use keyrack_store::{AclProjects, AclUser, acl_user};

use crate::{Exit, Failure, Globals};

/// Lines go into a file that the `aclfile` setting names, or after ACL SETUSER without the word `user`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// Name of the Redis user
    #[arg(long, value_name = "NAME", default_value = "keyrack")]
    user: String,
    /// Password of the user; only its SHA-256 is printed
    #[arg(long, env = "KEYRACK_ACL_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Use the names of keys and channels on a cluster
    #[arg(long)]
    cluster: bool,
    /// Only the keys of these services, such as jobs,progress [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    services: Vec<String>,
    /// Calculation projects whose keys the user may access; '*' for all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    projects: Vec<String>,
    /// The rights of this program of the keys files, as their writers and readers say
    #[arg(long, value_name = "NAME", conflicts_with_all = ["services", "projects"])]
    program: Option<String>,
}

const AFTER_HELP: &str = "\
Add the printed line to the \"aclfile\" of redis.conf, or pass it to ACL SETUSER without the word
\"user\". It needs Redis 7.0 or Valkey. Redis 6.2 does not support \"%R~\": remove those patterns there;
keyrack then cannot read keys of other programs.

Calculations store each account in a numbered database, and Redis 7.0 cannot restrict a user to
databases. Some of these keys have the common form \"PROJECT:DIMENSION:KEY:NUMBER\", so the user may
access them only for the projects in --projects. With --projects '*' the user may also access keys
of other programs, in any database, that have names such as \"a:b:c:1\".";

/// What one service stores under keys of another.
const NEEDS: &[(&str, &str)] = &[
    // A completed trace is handed to a worker through the hot queue.
    ("progress", "jobs.hot.hot"),
];

/// Prints the user.
pub(super) fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    if args.user.is_empty()
        || args.user.contains(|letter: char| letter.is_whitespace() || letter == '\0')
    {
        let message = format!("\"{}\" cannot be a user's name", args.user);
        return Err(Failure::new(Exit::Usage, message).hint("it may not hold spaces").into());
    }
    let line = match &args.program {
        Some(program) => program::line(program, args)?,
        None => line(args)?,
    };
    if globals.json {
        globals.print_json(&serde_json::json!({ "user": args.user, "line": line }))?;
    } else {
        let mut out = globals.out();
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    if args.password.is_none() {
        globals.say("the user has no password: nobody can log in until you set one (--password)");
    }
    if args.services.is_empty() && args.projects.is_empty() && args.program.is_none() {
        globals.say("the user may not access calculations; add their projects with --projects");
    }
    Ok(Exit::Ok)
}

/// The line of an ACL file.
fn line(args: &Args) -> Result<String, Failure> {
    let registry = registry_of(&args.services)?;
    if args.projects.is_empty() && args.services.iter().any(|name| name == CALCULATIONS) {
        let message = "calculations need --projects";
        return Err(Failure::new(Exit::Usage, message)
            .hint("name the projects, or '*' for all: \"keyrack keys acl --help\" says why"));
    }
    let names: Vec<&str> = args.projects.iter().map(String::as_str).collect();
    let projects = if names == ["*"] { AclProjects::All } else { AclProjects::Named(&names) };
    if let AclProjects::Named(names) = projects {
        for name in names {
            Project::new(*name)
                .map_err(|error| Failure::new(Exit::Usage, format!("--projects: {error}")))?;
        }
    }
    let layout = if args.cluster { Layout::Cluster } else { Layout::Documented };
    let user = AclUser { name: &args.user, password: args.password.as_deref(), layout, projects };
    Ok(acl_user(&user, &registry))
}

const CALCULATIONS: &str = "calculations";
/// Not a service: every program that opens the store writes its key.
const STORE: &str = "store";

/// The families of these services and what they need of others; all families if no service is named.
fn registry_of(services: &[String]) -> Result<Registry, Failure> {
    let services_only = |owner: &&str| *owner != STORE;
    let owners = registry().all().map(Family::owner_crate);
    let mut known: Vec<&str> = owners.filter(services_only).collect();
    known.dedup();
    if let Some(unknown) = services.iter().find(|name| !known.contains(&name.as_str())) {
        let message = format!("there is no service \"{unknown}\"");
        return Err(Failure::new(Exit::Usage, message).hint(format!("one of {}", known.join(", "))));
    }
    let is_named = |owner: &str| services.iter().any(|name| name == owner);
    let families: Vec<&'static Family> = registry()
        .all()
        .filter(|family| {
            services.is_empty()
                || is_named(family.owner_crate())
                || family.owner_crate() == STORE
                || NEEDS.iter().any(|(owner, id)| is_named(owner) && family.id() == *id)
        })
        .collect();
    Ok(Registry::new(&[&families]))
}

#[cfg(test)]
mod tests;

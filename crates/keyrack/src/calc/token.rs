//! `keyrack calc token`.

use std::io::Write as _;

use clap::Subcommand;
use keyrack_calculations::{
    Grant,
    keys::{Account, Project},
};
use serde_json::json;

use super::{open, scope};
use crate::{Exit, Failure, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a token for a project and print it; it cannot be shown again
    Create(ProjectArgs),
    /// Delete the token of a project
    Delete(ProjectArgs),
    /// Allow a token to create project tokens over HTTP
    AddAdmin(AdminArgs),
    /// Withdraw that right from a token
    RemoveAdmin(AdminArgs),
}

#[derive(Debug, clap::Args)]
struct ProjectArgs {
    /// The account
    #[arg(value_parser = scope::parse_account)]
    account: Account,
    /// The project
    #[arg(value_parser = scope::parse_project)]
    project: Project,
}

#[derive(Debug, clap::Args)]
struct AdminArgs {
    /// The token: at least 16 characters, chosen by you
    #[arg(value_name = "TOKEN")]
    admin: String,
}

/// Makes or deletes a token.
pub(super) async fn run(args: Args, globals: &Globals) -> anyhow::Result<Exit> {
    let accounts = open(globals).await?;
    match args.command {
        Command::Create(of) => {
            let grant = Grant { account: of.account, project: of.project };
            let token = accounts.create_token(&grant).await?;
            if globals.json {
                globals.print_json(&json!({ "token": token }))?;
            } else {
                let mut out = globals.out();
                writeln!(out, "{token}")?;
                out.flush()?;
            }
        }
        Command::Delete(of) => {
            accounts.delete_token(&Grant { account: of.account, project: of.project }).await?;
        }
        Command::AddAdmin(AdminArgs { admin }) => accounts.add_admin(&admin).await?,
        Command::RemoveAdmin(AdminArgs { admin }) => {
            if !accounts.remove_admin(&admin).await? {
                return Err(Failure::new(Exit::NotFound, "no admin token matches").into());
            }
        }
    }
    Ok(Exit::Ok)
}

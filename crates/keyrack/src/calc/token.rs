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
    /// Make a token for a project and print it; it cannot be shown again
    Create(Of),
    /// Take the token of a project away
    Delete(Of),
    /// Let a token of your choice make tokens over HTTP
    AddAdmin(Admin),
    /// Take that right away
    RemoveAdmin(Admin),
}

#[derive(Debug, clap::Args)]
struct Of {
    /// The account
    #[arg(value_parser = scope::parse_account)]
    account: Account,
    /// The project
    #[arg(value_parser = scope::parse_project)]
    project: Project,
}

#[derive(Debug, clap::Args)]
struct Admin {
    /// The token, of 16 characters or more
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
        Command::AddAdmin(Admin { admin }) => accounts.add_admin(&admin).await?,
        Command::RemoveAdmin(Admin { admin }) => {
            if !accounts.remove_admin(&admin).await? {
                return Err(Failure::new(Exit::NotFound, "the token is not an admin's").into());
            }
        }
    }
    Ok(Exit::Ok)
}

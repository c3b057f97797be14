//! `keyrack calc list`.

use std::io::Write as _;

use keyrack_calculations::keys::Account;
use serde_json::json;

use super::{open, scope};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// List the keys of this account [default: list the accounts]
    #[arg(long, short, value_parser = scope::parse_account)]
    account: Option<Account>,
}

/// Lists accounts, or what is in one.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let accounts = open(globals).await?;
    let Some(account) = &args.account else {
        let all = accounts.list().await?;
        if globals.json {
            let all: Vec<_> = all
                .iter()
                .map(|(account, db)| json!({ "account": account.as_str(), "database": db }))
                .collect();
            globals.print_json(&all)?;
            return Ok(Exit::Ok);
        }
        let mut table = Table::new(&["ACCOUNT", "DATABASE"]);
        for (account, db) in all {
            table.row(vec![account.as_str().into(), Cell::number(db.to_string())]);
        }
        return print(&table, globals);
    };
    let ledger = accounts.existing(account).await?;
    let (mut table, mut all) = (Table::new(&["PROJECT", "DIMENSION", "KEY", "VALUES"]), Vec::new());
    for project in ledger.projects().await? {
        for dimension in ledger.dimensions(&project).await? {
            for key in ledger.keys(&project, &dimension).await? {
                let values = ledger.values_len(&ledger.key(&project, &dimension, &key)).await?;
                all.push(json!({
                    "project": project.as_str(),
                    "dimension": dimension.as_str(),
                    "key": key.as_str(),
                    "values": values,
                }));
                table.row(vec![
                    project.as_str().into(),
                    dimension.as_str().into(),
                    key.as_str().into(),
                    Cell::number(values.to_string()),
                ]);
            }
        }
    }
    if globals.json {
        globals.print_json(&all)?;
        return Ok(Exit::Ok);
    }
    print(&table, globals)
}

fn print(table: &Table, globals: &Globals) -> anyhow::Result<Exit> {
    let mut out = globals.out();
    if !table.is_empty() {
        table.print(&mut out)?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

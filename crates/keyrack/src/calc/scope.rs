//! Which keys a command is about: all of an account, or of a project, a dimension, or one.

use keyrack_calculations::{
    Accounts, Error, KeyId, Ledger, account, dimension, dimension_key,
    keys::{Account, Dimension, DimensionKey, Project},
    project,
};

/// Part of an account's data.
#[derive(Debug, clap::Args)]
pub(super) struct Scope {
    /// The account
    #[arg(long, short, value_parser = parse_account)]
    account: Account,
    /// The project [default: all projects of the account]
    #[arg(value_parser = parse_project)]
    project: Option<Project>,
    /// The dimension [default: all dimensions of the project]
    #[arg(value_parser = parse_dimension)]
    dimension: Option<Dimension>,
    /// The key [default: all keys of the dimension]
    #[arg(value_parser = parse_key)]
    key: Option<DimensionKey>,
}

impl Scope {
    /// The account's data; the account has to be there.
    pub(super) async fn ledger(&self, accounts: &Accounts) -> Result<Ledger, Error> {
        accounts.existing(&self.account).await
    }

    /// The keys that are meant, in order.
    pub(super) async fn keys(&self, ledger: &Ledger) -> Result<Vec<KeyId>, Error> {
        let mut ids = Vec::new();
        let projects = match &self.project {
            Some(project) => vec![project.clone()],
            None => ledger.projects().await?,
        };
        for project in projects {
            let dimensions = match &self.dimension {
                Some(dimension) => vec![dimension.clone()],
                None => ledger.dimensions(&project).await?,
            };
            for dimension in dimensions {
                let keys = match &self.key {
                    Some(key) => vec![key.clone()],
                    None => ledger.keys(&project, &dimension).await?,
                };
                ids.extend(keys.iter().map(|key| ledger.key(&project, &dimension, key)));
            }
        }
        Ok(ids)
    }
}

/// Makes a clap parser of a name.
macro_rules! parser {
    ($name:ident, $check:path, $part:ident) => {
        pub(super) fn $name(text: &str) -> Result<$part, String> {
            $check(text).map_err(|error| error.to_string())
        }
    };
}

parser!(parse_account, account, Account);
parser!(parse_project, project, Project);
parser!(parse_dimension, dimension, Dimension);
parser!(parse_key, dimension_key, DimensionKey);

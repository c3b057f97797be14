//! Settings on the command line, made from the table.

use clap::{Arg, ArgMatches, Command, error::Error};

use super::table::{FlagScope, SETTINGS, Setting};

/// The settings that were given as flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    given: Vec<(&'static str, String)>,
}

impl Flags {
    /// The value given for a setting.
    pub(crate) fn get(&self, setting: &Setting) -> Option<&str> {
        let found = self.given.iter().find(|(key, _)| *key == setting.key);
        found.map(|(_, value)| value.as_str())
    }

    /// Both together.
    pub(crate) fn and(mut self, other: Flags) -> Flags {
        self.given.extend(other.given);
        self
    }

    #[cfg(test)]
    pub(super) fn of(given: &[(&'static str, &str)]) -> Flags {
        Flags { given: given.iter().map(|(key, value)| (*key, (*value).to_owned())).collect() }
    }
}

/// What stands above flags that every command takes, in its help.
pub(crate) const GLOBAL: &str = "Global options";

/// The flags that every command takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct GlobalFlags(pub(crate) Flags);

/// The flags that only `serve` takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServeFlags(pub(crate) Flags);

fn in_scope(scope: FlagScope) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().copied().filter(move |setting| setting.flag == scope)
}

fn augment(command: Command, scope: FlagScope) -> Command {
    command.args(in_scope(scope).map(|setting| {
        let default = setting.default.map(|text| format!(", default: {text}")).unwrap_or_default();
        let heading = (scope == FlagScope::Every).then_some(GLOBAL);
        let flag = Arg::new(setting.key);
        // A switch is on when it is there.
        let flag = match setting.value_name {
            "on|off" => flag.num_args(0..=1).default_missing_value("on"),
            _ => flag,
        };
        flag.long(setting.key)
            .help_heading(heading)
            .value_name(setting.value_name)
            .help(format!("{} [env: {}{default}]", setting.help, setting.env()))
            // Said twice, the last one counts, so that an alias can be overruled.
            .overrides_with(setting.key)
            .global(scope == FlagScope::Every)
    }))
}

fn read(matches: &ArgMatches, scope: FlagScope) -> Flags {
    let given = in_scope(scope).filter_map(|setting| {
        let value = matches.get_one::<String>(setting.key)?;
        Some((setting.key, value.clone()))
    });
    Flags { given: given.collect() }
}

/// clap's traits, for a wrapper round [`Flags`] and the scope it stands for.
macro_rules! clap_args {
    ($wrapper:ident, $scope:expr) => {
        impl clap::FromArgMatches for $wrapper {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                Ok($wrapper(read(matches, $scope)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                self.0 = std::mem::take(&mut self.0).and(read(matches, $scope));
                Ok(())
            }
        }

        impl clap::Args for $wrapper {
            fn augment_args(command: Command) -> Command {
                augment(command, $scope)
            }

            fn augment_args_for_update(command: Command) -> Command {
                augment(command, $scope)
            }
        }
    };
}

clap_args!(GlobalFlags, FlagScope::Every);
clap_args!(ServeFlags, FlagScope::Serve);

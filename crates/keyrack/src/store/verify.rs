//! `keyrack store verify`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::time::Instant;

use keyrack_format as format;
use keyrack_lint::WalkRate;
use serde_json::{Value, json};

use super::{
    open_existing,
    side::Side,
    tally::{Sum, Tally, UNDECLARED},
};
use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Counts the keys of each family in both stores, and sums up a digest of all that they hold. Names are compared as
they are documented, so a cluster can be compared with a single server. Of a key's time to live only that it has one
is compared. Keys of no declared family are compared only if both stores name keys alike.

Writers that are at work meanwhile make a difference. Exits with 10 if the stores differ.")]
pub(super) struct Args {
    /// One store: embedded:DIR, redis://HOST:PORT/DB, redis+sentinel://… or redis+cluster://…
    a: String,
    /// The other
    b: String,
    /// Look at no more than N keys per second
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
}

/// Compares two stores.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    crate::keys::declare_for_server(globals)?;
    let a = Side::new(open_existing(&args.a).await?).await?;
    let b = Side::new(open_existing(&args.b).await?).await?;
    let comparison = Comparison::of(&a, &b, WalkRate { keys_per_second: args.rate }, true).await?;
    if globals.json {
        globals.print_json(&comparison.as_json())?;
    } else {
        comparison.print(globals)?;
    }
    comparison.say(globals);
    Ok(if comparison.is_equal() { Exit::Ok } else { Exit::Findings })
}

/// What two stores hold.
pub(super) struct Comparison {
    names: [String; 2],
    rows: BTreeMap<String, [Sum; 2]>,
    /// Keys of no family in each, if they were left out.
    left_out: Option<[u64; 2]>,
    unreadable: [u64; 2],
}

impl Comparison {
    /// Compares two stores, keys of no family only if asked to and if names are alike.
    pub(super) async fn of(
        a: &Side,
        b: &Side,
        pace: WalkRate,
        undeclared: bool,
    ) -> anyhow::Result<Comparison> {
        let started = Instant::now();
        let (of_a, of_b) =
            futures_util::try_join!(Tally::of(a, pace, started), Tally::of(b, pace, started))?;
        let unreadable = [of_a.unreadable.keys, of_b.unreadable.keys];
        let strangers = [of_a.undeclared.keys, of_b.undeclared.keys];
        let mut rows = of_a.compare(of_b, started);
        let compares = undeclared && a.layout() == b.layout();
        if !compares {
            rows.remove(UNDECLARED);
        }
        let names = [a, b].map(|side| side.store.to_string());
        let left_out = (!compares).then_some(strangers);
        Ok(Comparison { names, rows, left_out, unreadable })
    }

    pub(super) fn is_equal(&self) -> bool {
        self.rows.values().all(|[a, b]| a == b)
    }

    /// Prints a row for each family.
    pub(super) fn print(&self, globals: &Globals) -> anyhow::Result<()> {
        let mut table =
            Table::new(&["FAMILY", "KEYS", "VALUES", "DIGEST", "KEYS", "VALUES", "DIGEST", ""]);
        for (family, [a, b]) in &self.rows {
            let number = |n: u64| Cell::number(format::count(n));
            let hex = |sum: &Sum| Cell::from(format!("{:016x}", (sum.digest >> 64) as u64));
            table.row(vec![
                family.as_str().into(),
                number(a.keys),
                number(a.values),
                hex(a),
                number(b.keys),
                number(b.values),
                hex(b),
                if a == b { "equal" } else { "differs" }.into(),
            ]);
        }
        let mut out = globals.out();
        table.print(&mut out)?;
        Ok(out.flush()?)
    }

    /// Says in a line how it came out.
    pub(super) fn say(&self, globals: &Globals) {
        let [a, b] = &self.names;
        if let Some([of_a, of_b]) = self.left_out.filter(|[a, b]| a + b > 0) {
            globals.say(format_args!(
                "not compared: keys of no declared family, {} in {a} and {} in {b}",
                format::count(of_a),
                format::count(of_b)
            ));
        }
        if let [of_a, of_b] = self.unreadable
            && of_a + of_b > 0
        {
            globals.say(format_args!(
                "not compared: keys of types of modules, {} in {a} and {} in {b}",
                format::count(of_a),
                format::count(of_b)
            ));
        }
        let differing = self.rows.values().filter(|[a, b]| a != b).count();
        let families = format::counted(self.rows.len() as u64, "kind");
        match differing {
            0 => globals.say(format_args!("equal: {a} and {b}, {families} of keys")),
            n => globals.say(format_args!("different: {a} and {b}, in {n} of {families} of keys")),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let sum = |sum: &Sum| {
            json!({
                "keys": sum.keys,
                "values": sum.values,
                "digest": format!("{:032x}", sum.digest),
            })
        };
        let rows = self.rows.iter().map(|(family, [a, b])| {
            json!({ "family": family, "a": sum(a), "b": sum(b), "equal": a == b })
        });
        json!({
            "a": self.names[0],
            "b": self.names[1],
            "equal": self.is_equal(),
            "families": rows.collect::<Vec<_>>(),
        })
    }
}

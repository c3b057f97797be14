//! `keyrack recommend eval`.

use std::io::Write as _;

use keyrack_recommender::{
    Recommender, SIGNAL_NAMES, Settings,
    eval::{Evaluation, GeneratedApp, Size, evaluate},
};

use crate::{
    Exit, Globals,
    table::{Cell, Table},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Number of simulated users
    #[arg(long, value_name = "N", default_value_t = 1000)]
    users: usize,
    /// Number of simulated challenges
    #[arg(long, value_name = "N", default_value_t = 150)]
    challenges: usize,
    /// Number of simulated days; the last 7 are the test data
    #[arg(long, value_name = "N", default_value_t = 28)]
    days: usize,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Use the learned weights for this store, and show the table on the dashboard
    #[arg(long)]
    save: bool,
}

/// Measures how good recommendations are.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let size = Size { users: args.users, challenges: args.challenges, days: args.days };
    let found = evaluate(&GeneratedApp::generate(size, args.seed), args.days, args.seed).await?;
    if args.save {
        let service = Recommender::new(globals.open_store().await?, Settings::default());
        service.adopt(found.clone()).await?;
        globals.say("the learned weights are now used");
    }
    if globals.json {
        globals.print_json(&found)?;
    } else {
        print(&found, globals)?;
    }
    Ok(Exit::Ok)
}

fn print(found: &Evaluation, globals: &Globals) -> anyhow::Result<()> {
    let mut table = Table::new(&[
        "LISTS",
        "NDCG@10",
        "FROM",
        "TO",
        "PRECISION",
        "RECALL",
        "MAP",
        "HITS",
        "COVERAGE",
        "DIVERSITY",
        "NOVELTY",
    ]);
    let cell = |number: f64| Cell::number(format!("{number:.4}"));
    for measured in &found.measured {
        let scores = &measured.scores;
        table.row(vec![
            measured.name.clone().into(),
            cell(measured.ndcg.value),
            cell(measured.ndcg.low),
            cell(measured.ndcg.high),
            cell(scores.precision),
            cell(scores.recall),
            cell(scores.map),
            cell(scores.hit_rate),
            cell(measured.coverage),
            cell(scores.diversity),
            cell(scores.novelty),
        ]);
    }
    let mut out = globals.out();
    table.print(&mut out)?;
    let ratio = &found.ratio;
    writeln!(
        out,
        "{:.2} times the best of the others, {:.2} to {:.2} with 95 % confidence; {} users, {} without later reactions left out",
        ratio.value, ratio.low, ratio.high, found.users, found.left_out
    )?;
    let weights = SIGNAL_NAMES.iter().zip(found.weights.0);
    let weights: Vec<String> =
        weights.map(|(name, weight)| format!("{name} {weight:.2}")).collect();
    writeln!(out, "weights learned: {}", weights.join(", "))?;
    Ok(out.flush()?)
}

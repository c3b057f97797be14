//! Daily sums of orders, and a rule that fires when a day's sum reaches 100.
//!
//! Run it with `cargo run -p keyrack-calculations --example rollup_rule`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use keyrack_calculations::{
    Accounts, Condition, Event, Operator, Rule, account, dimension, dimension_key,
    keys::{Calculation, Interval},
    project,
};
use keyrack_store::Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let accounts = Accounts::open(Store::open("embedded:memory").await?);
    let ledger = accounts.ledger(&account("1")?).await?;
    let shop = project("1")?;
    let (orders, books) = (dimension("orders")?, dimension_key("books")?);

    let condition = Condition::Comparator {
        calculation: Calculation::Sum,
        operator: Operator::AtLeast,
        threshold: "100".parse()?,
        hold_ms: 0,
        resolve_ms: None,
    };
    let (dimension, key) = (orders.clone(), books.clone());
    let rule = Rule { dimension, key, interval: Interval::Days, condition };
    ledger.create_rule(&shop, &rule).await?;

    // Events may come late and in any order; the results are the same.
    let sales = [("2026-03-02", "70.50"), ("2026-03-01", "12.25"), ("2026-03-02", "40")];
    let mut events = Vec::new();
    for (n, (day, amount)) in sales.iter().enumerate() {
        let at = format!("{day} 12:00:0{n} Z");
        events.push(Event::new("orders", "books", amount, &at, &["days"], &["sum", "count"])?);
    }
    for outcome in ledger.record(&shop, events).await? {
        outcome?;
    }

    let id = ledger.key(&shop, &orders, &books);
    for (day, sum) in ledger.result(&id, Calculation::Sum, Interval::Days).await? {
        println!("{day}: {sum}");
    }
    for event in ledger.output_events(&id).await? {
        println!("rule fired: {:?}", event.fields);
    }
    Ok(())
}

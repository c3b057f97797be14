//! The pages of the calculations.

use keyrack_calculations::{
    Accounts, Event, Ledger, Rule, account, dimension, dimension_key,
    keys::{Calculation, Interval, RuleType},
    project,
};
use keyrack_identity::Role;
use keyrack_testkit::on_every_store;

use crate::site::Site;

const PYTHON: &str = "/calculations/7/2/job-skills/python";
/// What a chart draws: a bar for each bucket, and the line through them.
const BAR: &str = "<rect class=\"c0\"";
const LINE: &str = "<path class=\"c1\"";

/// A year of weekly values of some keys, with rules that had something to say.
pub(crate) async fn furnish(site: &Site) {
    let ledger = ledger(site).await;
    let rule = [
        ("dimension", "job-skills"),
        ("key", "python"),
        ("interval", "weeks"),
        ("calculation", "sum"),
        ("operator", ">="),
        ("threshold", "110"),
    ];
    let fields = rule.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let rule = Rule::from_fields(RuleType::Comparator, &fields.into()).expect("a rule");
    ledger.create_rule(&project("2").expect("a project"), &rule).await.expect("a rule");
    let mut events = Vec::new();
    for (at, key) in ["python", "ruby", "go", "cobol"].iter().enumerate() {
        for week in 0..40_i64 {
            let monday =
                jiff::civil::date(2014, 1, 6).saturating_add(jiff::Span::new().weeks(week));
            let lean = [2, 0, 1, -2][at];
            let value = 40 + lean * week + (week * 37 + at as i64 * 11) % 23;
            for (hour, part) in [(9, value / 2), (17, value - value / 2)] {
                events.push(value_of(
                    "job-skills",
                    key,
                    part,
                    &format!("{monday} {hour:02}:00:00 Z"),
                ));
            }
        }
    }
    events.push(value_of("page-loads", "home", 3, "2014-05-05 00:00:00 Z"));
    record(&ledger, events).await;
}

async fn ledger(site: &Site) -> Ledger {
    let accounts = Accounts::open(site.store.clone());
    accounts.ledger(&account("7").expect("an account")).await.expect("a ledger")
}

fn value_of(dimension: &str, key: &str, value: i64, at: &str) -> Event {
    let calculations =
        ["sum", "count", "max", "average", "standard_deviation", "linear_regression"];
    let intervals = ["days", "weeks", "months"];
    Event::new(dimension, key, &value.to_string(), at, &intervals, &calculations).expect("an event")
}

async fn record(ledger: &Ledger, events: Vec<Event>) {
    let told = ledger.record(&project("2").expect("a project"), events).await.expect("stored");
    told.into_iter().for_each(|outcome| outcome.expect("a good event"));
}

#[tokio::test]
async fn without_values_the_page_says_how_to_send_some() {
    let site = Site::start().await;
    let page = site.page("/calculations").await;
    assert!(page.contains("No values yet") && page.contains(" calc import -"), "{page}");
    assert!(site.page("/calculations?account=nobody").await.contains("No such account"));
    for path in ["/calculations/7/2", PYTHON, "/calculations/a%3Ab/2"] {
        let status = site.get(path).await.status;
        assert!(status == 404 || status == 422, "{path}: {status}");
    }
}

#[tokio::test]
async fn accounts_projects_and_keys_lead_to_each_other_on_every_store() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        furnish(&site).await;
        let page = site.page("/calculations").await;
        assert!(page.contains("href=\"/calculations/7/2\""), "{page}");
        let page = site.page("/calculations/7/2").await;
        assert!(page.contains(&format!("href=\"{PYTHON}\"")), "{page}");
        assert!(page.contains("4 keys") && page.contains("page-loads"), "{page}");
        assert!(
            page.contains("sum by weeks &gt;= 110") || page.contains("sum by weeks &#62;= 110"),
            "{page}"
        );
        let page = site.page(&format!("{PYTHON}?interval=weeks")).await;
        assert_eq!(page.matches(BAR).count(), 40, "{page}");
        assert!(page.contains(LINE) && page.contains("line through the sums"), "{page}");
        assert!(page.contains("rising") && page.contains("standard deviation"), "{page}");
        assert!(page.contains("fired"), "{page}");
        site.stop().await;
    })
    .await;
}

#[tokio::test]
async fn the_chart_is_of_what_was_chosen() {
    let site = Site::start().await;
    furnish(&site).await;
    let months = site.page(&format!("{PYTHON}?calculation=count&interval=months")).await;
    assert_eq!(months.matches(BAR).count(), 10, "{months}");
    assert!(months.contains("<title>2014-03: 10</title>"), "{months}");
    assert!(!months.contains(LINE), "the line goes through sums: {months}");
    let weeks = site.page(&format!("{PYTHON}?interval=weeks&last=without")).await;
    assert!(weeks.contains("by 39 buckets") && weeks.contains("Count it"), "{weeks}");
    let made_up = site.page(&format!("{PYTHON}?calculation=x&interval=y")).await;
    assert!(made_up.contains(BAR), "{made_up}");
}

#[tokio::test]
async fn rules_are_made_and_deleted_by_forms() {
    let site = Site::start().await;
    furnish(&site).await;
    let form = "kind=comparator&dimension=job-skills&key=python&interval=days&calculation=count\
                &operator=%3E&threshold=1.5&hold_s=90&resolve_s=&back=%2Fcalculations%2F7%2F2";
    let made = site.follow(&site.form("/calculations/7/2/rules", form).await).await;
    assert!(made.contains("Rule 2 is in force.") && made.contains("after 1 min 30 s"), "{made}");
    let bad = form.replace("threshold=1.5", "threshold=many");
    let refused = site.follow(&site.form("/calculations/7/2/rules", &bad).await).await;
    assert!(refused.contains("threshold"), "{refused}");
    let back = "back=%2Fcalculations%2F7%2F2";
    let gone = site.form("/calculations/7/2/rules/2/delete", back).await;
    let gone = site.follow(&gone).await;
    assert!(gone.contains("The rule is gone") && !gone.contains("count by days"), "{gone}");
    let again = site.form("/calculations/7/2/rules/2/delete", back).await;
    assert!(site.follow(&again).await.contains("there is no rule"));
}

#[tokio::test]
async fn values_and_keys_are_deleted_by_forms_on_every_store() {
    on_every_store(async |store| {
        let site = Site::on_store(store, Vec::new()).await;
        let ledger = ledger(&site).await;
        let at = ["2014-05-05 00:00:00 Z", "2014-05-06 00:00:00 Z"];
        // A dimension may be called as something else in the path is.
        record(&ledger, vec![value_of("rules", "5", 3, at[0]), value_of("rules", "5", 4, at[1])])
            .await;
        let path = "/calculations/7/2/rules/5";
        assert!(site.page(path).await.contains("2 values"));
        let delete = async |what: &str, form: &str| {
            site.follow(&site.form(&format!("{path}/delete-{what}"), form).await).await
        };
        // The same second, written otherwise.
        let left = delete("value", "at=2014-05-05T00%3A00%3A00Z").await;
        assert!(left.contains("is deleted") && left.contains("1 value<"), "{left}");
        let again = delete("value", "at=2014-05-05+00%3A00%3A00+Z").await;
        assert!(again.contains("there is no value at"), "{again}");
        let wrong = delete("value", "at=yesterday").await;
        assert!(wrong.contains("at: "), "{wrong}");
        let project = project("2").expect("a project");
        let names = (dimension("rules").expect("a name"), dimension_key("5").expect("a name"));
        let id = ledger.key(&project, &names.0, &names.1);
        let sums = ledger.result(&id, Calculation::Sum, Interval::Days).await.expect("sums");
        assert_eq!(sums, [("2014-05-06".to_owned(), "4".to_owned())].into());
        let gone = delete("key", "").await;
        assert!(gone.contains("rules / 5 is deleted"), "{gone}");
        assert_eq!(site.get(path).await.status, 404);
        assert_eq!(ledger.values_len(&id).await.expect("a number"), 0);
        assert!(delete("key", "").await.contains("there is no key"));
    })
    .await;
}

#[tokio::test]
async fn those_who_may_only_look_are_offered_no_forms() {
    let site = Site::start().await;
    furnish(&site).await;
    let bearer = format!("bearer {}", site.token_of("alice", Role::Viewer).await);
    let headers = [("Authorization", bearer.as_str())];
    for path in [PYTHON, "/calculations/7/2"] {
        let page = site.send("GET", path, &headers, "").await;
        assert!(page.status == 200 && page.body.contains("sum by weeks"), "{page:?}");
        assert!(!page.body.contains("/rules") && !page.body.contains("/delete-"), "{page:?}");
    }
    let python = |what: &str| format!("{PYTHON}/delete-{what}");
    for path in ["/calculations/7/2/rules/1/delete", &python("key"), &python("value")] {
        let refused = site.send("POST", path, &headers, "back=%2F").await;
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
    }
}

#[tokio::test]
async fn names_of_any_kind_stay_names() {
    const NAME: &str = "<script>x</script>/..";
    let site = Site::start().await;
    record(&ledger(&site).await, vec![value_of(NAME, NAME, 1, "2014-01-06 00:00:00 Z")]).await;
    let page = site.page("/calculations/7/2").await;
    assert!(!page.contains("<script>x"), "{page}");
    let coded = "%3Cscript%3Ex%3C%2Fscript%3E%2F..";
    let link = format!("/calculations/7/2/{coded}/{coded}");
    assert!(page.contains(&link), "{page}");
    let page = site.page(&link).await;
    assert!(!page.contains("<script>x") && page.contains(BAR), "{page}");
}

#[tokio::test]
async fn a_value_that_comes_in_is_seen_on_the_open_page() {
    let site = Site::start().await;
    furnish(&site).await;
    let path = format!("{PYTHON}?interval=weeks");
    let mut stream = site.stream(&path, &[("Accept", "text/event-stream")]).await;
    assert!(stream.next_text().await.contains("80 values"));
    record(
        &ledger(&site).await,
        vec![value_of("job-skills", "python", 500, "2014-10-20 00:00:00 Z")],
    )
    .await;
    let text = stream.next_text().await;
    assert!(text.contains("81 values") && text.contains("<title>2014-W43: 500</title>"), "{text}");
}

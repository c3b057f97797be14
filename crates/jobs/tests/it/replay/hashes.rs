//! Hashes of data, as the original stored it and as its workers found them.

use std::collections::HashMap;

use keyrack_jobs::bee::json_compat::{cjson_order, data_hash};
use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};

use super::recording::{Call, Scenario};

/// A job as a claim hands it out, its data kept as text.
#[derive(Deserialize)]
struct Popped<'t> {
    jid: String,
    #[serde(borrow)]
    data: &'t RawValue,
}

/// The data of the jobs of a scenario, as it was stored.
fn stored(scenario: &Scenario) -> HashMap<&str, &str> {
    let entries = scenario.checkpoints.iter().flat_map(|checkpoint| &checkpoint.keys);
    entries
        .filter_map(|(key, entry)| {
            Some((key.strip_prefix("bee:h:jobs:")?, entry.value["data"].as_str()?))
        })
        .collect()
}

fn popped(call: &Call) -> Vec<(String, String)> {
    let texts = call.reply.iter().filter_map(Json::as_array).flatten().filter_map(Json::as_str);
    let jobs = texts.filter_map(|text| serde_json::from_str::<Popped<'_>>(text).ok());
    jobs.map(|job| (job.jid, job.data.get().to_owned())).collect()
}

#[test]
fn what_the_original_handed_out_is_what_it_had_stored_in_cjson_order() {
    let mut compared = 0;
    for scenario in Scenario::all() {
        let stored = stored(&scenario);
        for (jid, data) in scenario.calls().filter(|call| call.call == "job/pop").flat_map(popped) {
            if let Some(stored) = stored.get(jid.as_str()) {
                assert_eq!(cjson_order(stored).expect("stored JSON"), data, "{}", scenario.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "only {compared} jobs");
}

#[test]
fn the_hash_of_what_the_original_stored_is_the_one_its_worker_found() {
    let mut compared = 0;
    for scenario in Scenario::all() {
        let stored = stored(&scenario);
        for args in scenario.calls().filter(|call| call.call == "job/hash").map(Call::args) {
            let (jid, hash) = (args["jid"].as_str(), args["hash"].as_str());
            let data = jid.and_then(|jid| stored.get(jid));
            if let (Some(data), Some(hash)) = (data, hash.filter(|hash| hash.len() == 40)) {
                assert_eq!(
                    data_hash(data).expect("stored JSON"),
                    hash,
                    "{}: {data}",
                    scenario.name
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "only {compared} jobs");
}

//! Using what an evaluation has learned, and showing later what it had found.

use keyrack_store::{Script, script};

use super::Evaluation;
use crate::{error::Error, keys, online::SIGNAL_NAMES, service::Recommender};

static ADOPT: Script = script!("adopt.lua");

/// An evaluation whose weights are in force.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AdoptedEvaluation))]
pub struct Adopted {
    /// Since when, in unix milliseconds.
    pub adopted_at_ms: u64,
    /// What was found.
    pub evaluation: Evaluation,
}

impl Recommender {
    /// Ranks posts by the weights that an evaluation has learned, from now on.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn adopt(&self, evaluation: Evaluation) -> Result<(), Error> {
        let mut values = Vec::new();
        for (name, weight) in SIGNAL_NAMES.iter().zip(evaluation.weights.0) {
            values.extend([(*name).to_owned(), weight.to_string()]);
        }
        let adopted = Adopted { adopted_at_ms: self.store().now_ms(), evaluation };
        let found = serde_json::to_string(&adopted).map_err(|error| Error::Invalid {
            what: format!("the evaluation cannot be written: {error}"),
        })?;
        let call = ADOPT
            .call(self.store())
            .key("weights", &keys::weights())
            .key("evaluation", &keys::evaluation())
            .arg("found", found)
            .args("values", values);
        Ok(call.run().await?)
    }

    /// The evaluation whose weights are in force; none when they are built in or were set otherwise.
    ///
    /// # Errors
    /// When the store cannot be reached.
    pub async fn adopted(&self) -> Result<Option<Adopted>, Error> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(&*self.store().place(&keys::evaluation()));
        let text: Option<String> = cmd.query_async(&mut self.store().connection()).await?;
        // What another version wrote differently is as good as nothing.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

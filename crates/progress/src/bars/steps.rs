//! Creating, changing and deleting the steps of a bar.

use keyrack_keys::UserSub;

use super::{define::existing, write::BarDefinition};
use crate::{
    bar::{DEFAULT_STEP, STEPS_MAX, Step, bar_name, check_step_name},
    error::Error,
    service::Progress,
    technique::StepConfig,
};

impl Progress {
    /// Adds a step at the end of a bar. The bar has a new version then, and retains none of the old traces.
    ///
    /// # Errors
    /// When a value makes no sense, there is no such bar, or it has a step of that name.
    pub async fn create_step(
        &self,
        user: &UserSub,
        pbar_name: &str,
        step_name: &str,
        iterated: bool,
        config: StepConfig,
    ) -> Result<Step, Error> {
        let name = bar_name(pbar_name)?;
        check_step_name(step_name)?;
        config.check()?;
        self.change_bar(user, &name, |stored| {
            let mut draft = BarDefinition::of(existing(&name, stored)?);
            if draft.steps.iter().any(|step| step.name == step_name) {
                let (bar, step) = (name.to_string(), step_name.to_owned());
                return Err(Error::StepExists { bar, step });
            }
            let position = draft.steps.len();
            if position as u64 > STEPS_MAX {
                return Err(Error::TooManySteps { max: STEPS_MAX });
            }
            draft.push_step(self, step_name, iterated, config);
            draft.next_version();
            let step = draft.steps[position].clone();
            Ok((draft, step))
        })
        .await
    }

    /// Changes how a step's time is estimated. Version and retained traces stay.
    ///
    /// # Errors
    /// When a value makes no sense, there is no such bar or step, or it is the default step.
    pub async fn update_step(
        &self,
        user: &UserSub,
        pbar_name: &str,
        step_name: &str,
        config: StepConfig,
    ) -> Result<Step, Error> {
        let name = bar_name(pbar_name)?;
        config.check()?;
        self.change_bar(user, &name, |stored| {
            let mut draft = BarDefinition::of(existing(&name, stored)?);
            if step_name == DEFAULT_STEP {
                return Err(Error::CannotEditDefaultStep);
            }
            let place = place_of(&draft, step_name)?;
            draft.steps[place].config = config;
            let step = draft.steps[place].clone();
            Ok((draft, step))
        })
        .await
    }

    /// Deletes a step; later ones move up. The bar has a new version then, and retains none of the old traces.
    ///
    /// # Errors
    /// When there is no such bar or step, or it is the default step.
    pub async fn delete_step(
        &self,
        user: &UserSub,
        pbar_name: &str,
        step_name: &str,
    ) -> Result<(), Error> {
        let name = bar_name(pbar_name)?;
        self.change_bar(user, &name, |stored| {
            let mut draft = BarDefinition::of(existing(&name, stored)?);
            if step_name == DEFAULT_STEP {
                return Err(Error::CannotDeleteDefaultStep);
            }
            let place = place_of(&draft, step_name)?;
            draft.steps.remove(place);
            draft.next_version();
            Ok((draft, ()))
        })
        .await
    }
}

fn place_of(draft: &BarDefinition, step_name: &str) -> Result<usize, Error> {
    draft.steps.iter().position(|step| step.name == step_name).ok_or_else(|| Error::StepNotFound {
        bar: draft.bar.name.clone(),
        step: step_name.to_owned(),
    })
}

//! The company: all actions on all services, in the order of time.

use std::time::Duration;

use crate::{
    agenda::{Plan, Turns},
    calculations, entitlements, files, hot, jobs, journeys, limits, progress,
    random::Random,
    recommender, updates,
};

/// Something that is done, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedAction {
    /// How long after the beginning, at the usual speed.
    pub at: Duration,
    /// What.
    pub action: Action,
}

/// Something that is done with one of the services.
#[derive(Clone, PartialEq)]
pub struct Action(pub(crate) Kind);

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What is done, by the service.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Jobs(jobs::Action),
    Hot(hot::Action),
    Progress(progress::Action),
    Calculations(calculations::Action),
    Entitlements(entitlements::Action),
    Limits(limits::Action),
    Files(files::Action),
    Journeys(journeys::Action),
    Updates(updates::Action),
    Recommender(recommender::Action),
}

/// All actions of the company, without end. The same seed gives the same ones.
///
/// ```
/// use keyrack_demo::Scenario;
///
/// let first: Vec<_> = Scenario::new(7).take(100).collect();
/// assert_eq!(first, Scenario::new(7).take(100).collect::<Vec<_>>());
/// assert!(first.is_sorted_by_key(|timed| timed.at));
/// ```
#[derive(Debug)]
pub struct Scenario {
    services: Vec<ServicePlan>,
    turns: Turns,
}

#[derive(Debug)]
struct ServicePlan {
    plan: Box<dyn Plan>,
    random: Random,
    next: TimedAction,
}

impl Scenario {
    /// The company that a seed gives.
    pub fn new(seed: u64) -> Scenario {
        let plans: Vec<(&str, Box<dyn Plan>)> = vec![
            ("jobs", Box::new(jobs::Jobs::default())),
            ("hot", Box::new(hot::Hot::default())),
            ("progress", Box::new(progress::Progress::default())),
            ("calculations", Box::new(calculations::Calculations::default())),
            ("entitlements", Box::new(entitlements::Entitlements::default())),
            ("limits", Box::new(limits::Limits::default())),
            ("files", Box::new(files::Files::default())),
            ("journeys", Box::new(journeys::Journeys::default())),
            ("updates", Box::new(updates::Updates::default())),
            ("recommender", Box::new(recommender::Recommender::default())),
        ];
        let (mut services, mut turns) = (Vec::new(), Turns::default());
        for (number, (name, mut plan)) in plans.into_iter().enumerate() {
            let mut random = Random::new(seed, name);
            let next = plan.next(&mut random);
            turns.enter(next.at, number);
            services.push(ServicePlan { plan, random, next });
        }
        Scenario { services, turns }
    }
}

impl Iterator for Scenario {
    type Item = TimedAction;

    fn next(&mut self) -> Option<TimedAction> {
        let number = self.turns.take()?;
        let service = &mut self.services[number];
        let following = service.plan.next(&mut service.random);
        self.turns.enter(following.at, number);
        Some(std::mem::replace(&mut service.next, following))
    }
}

/// Turns the actions of a service into those of the company.
macro_rules! actions {
    ($($name:ident: $service:ident),+ $(,)?) => {
        $(impl From<$service::Action> for Action {
            fn from(action: $service::Action) -> Action {
                Action(Kind::$name(action))
            }
        })+
    };
}

actions! {
    Jobs: jobs,
    Hot: hot,
    Progress: progress,
    Calculations: calculations,
    Entitlements: entitlements,
    Limits: limits,
    Files: files,
    Journeys: journeys,
    Updates: updates,
    Recommender: recommender,
}

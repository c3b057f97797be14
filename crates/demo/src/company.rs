//! The company: everything that its departments and customers do, in the order of time.

use std::time::Duration;

use crate::{
    agenda::{Plan, Turns},
    calculations,
    dice::Dice,
    entitlements, files, hot, jobs, journeys, limits, progress, recommender, updates,
};

/// Something that is done, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// How long after the beginning, at the usual speed.
    pub at: Duration,
    /// What.
    pub deed: Deed,
}

/// Something that is done with one of the services.
#[derive(Clone, PartialEq)]
pub struct Deed(pub(crate) Kind);

impl std::fmt::Debug for Deed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What is done, by the service.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Jobs(jobs::Deed),
    Hot(hot::Deed),
    Progress(progress::Deed),
    Calculations(calculations::Deed),
    Entitlements(entitlements::Deed),
    Limits(limits::Deed),
    Files(files::Deed),
    Journeys(journeys::Deed),
    Updates(updates::Deed),
    Recommender(recommender::Deed),
}

/// All deeds of the company, without end. The same seed gives the same ones.
///
/// ```
/// use keyrack_demo::Company;
///
/// let first: Vec<_> = Company::new(7).take(100).collect();
/// assert_eq!(first, Company::new(7).take(100).collect::<Vec<_>>());
/// assert!(first.is_sorted_by_key(|timed| timed.at));
/// ```
#[derive(Debug)]
pub struct Company {
    departments: Vec<Department>,
    turns: Turns,
}

#[derive(Debug)]
struct Department {
    plan: Box<dyn Plan>,
    dice: Dice,
    next: Timed,
}

impl Company {
    /// The company that a seed gives.
    pub fn new(seed: u64) -> Company {
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
        let (mut departments, mut turns) = (Vec::new(), Turns::default());
        for (number, (name, mut plan)) in plans.into_iter().enumerate() {
            let mut dice = Dice::new(seed, name);
            let next = plan.next(&mut dice);
            turns.enter(next.at, number);
            departments.push(Department { plan, dice, next });
        }
        Company { departments, turns }
    }
}

impl Iterator for Company {
    type Item = Timed;

    fn next(&mut self) -> Option<Timed> {
        let number = self.turns.take()?;
        let department = &mut self.departments[number];
        let following = department.plan.next(&mut department.dice);
        self.turns.enter(following.at, number);
        Some(std::mem::replace(&mut department.next, following))
    }
}

/// How a department's deeds become those of the company.
macro_rules! deeds {
    ($($name:ident: $department:ident),+ $(,)?) => {
        $(impl From<$department::Deed> for Deed {
            fn from(deed: $department::Deed) -> Deed {
                Deed(Kind::$name(deed))
            }
        })+
    };
}

deeds! {
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

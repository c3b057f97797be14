//! Journeys: two questions, and people who come, answer and go.

use std::{collections::HashMap, time::Duration};

use keyrack_journeys::{
    Error as Refused, NewEvent, Prompt, UserAction,
    keys::{JourneyUid, SessionUid},
};
use keyrack_store::Store;

use crate::{
    agenda::{Agenda, Plan},
    error::Error,
    people::Person,
    random::Random,
    scenario::TimedAction,
};

/// How long a journey lasts. When it is over, it begins again.
const DURATION: Duration = Duration::from_secs(3600);
/// The longest that anybody stays.
const STAY_MAX: Duration = Duration::from_secs(40);

/// How many answers each question has.
const ANSWERS: [u64; 2] = [10, 5];

/// What is done, by somebody in the numbered session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Action {
    journey: usize,
    session: u64,
    whom: Person,
    act: UserAction,
    /// When on the journey.
    time: Duration,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Journeys {
    agenda: Agenda,
    next_join: Duration,
    sessions: u64,
}

impl Plan for Journeys {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        loop {
            if self.agenda.next_at().is_some_and(|at| at < self.next_join)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            let at = self.next_join;
            // Nobody comes who could not stay.
            if on_journey(at) + STAY_MAX < DURATION {
                self.visit(at, random);
            }
            let pause = if self.sessions < 8 { 50 } else { random.between(800, 4_000) };
            self.next_join += Duration::from_millis(pause);
        }
    }
}

impl Journeys {
    fn visit(&mut self, start: Duration, random: &mut Random) {
        self.sessions += 1;
        let journey = random.below(ANSWERS.len() as u64) as usize;
        let (session, whom) = (self.sessions, Person::any(random));
        let end = start + Duration::from_millis(random.between(8_000, STAY_MAX.as_millis() as u64));
        let mut at = start;
        let mut act = UserAction::Join;
        while at < end {
            let action = Action { journey, session, whom, act, time: on_journey(at) };
            self.agenda.enter(at, action);
            at += Duration::from_millis(random.between(900, 3_500));
            act = if random.percent(15) { UserAction::Like } else { answer(journey, random) };
        }
        let action =
            Action { journey, session, whom, act: UserAction::Leave, time: on_journey(at) };
        self.agenda.enter(at, action);
    }
}

fn answer(journey: usize, random: &mut Random) -> UserAction {
    let index = random.below(ANSWERS[journey]);
    match journey {
        0 => UserAction::Rate(index as i64 + 1),
        _ => UserAction::Word(u32::try_from(index).unwrap_or(0)),
    }
}

/// When on the journey it is, so long after the beginning.
fn on_journey(at: Duration) -> Duration {
    Duration::from_millis((at.as_millis() % DURATION.as_millis()) as u64)
}

/// What the demo asks. Uids are chosen by chance, so it is by these that its journeys are known.
pub(crate) fn prompts() -> [Prompt; 2] {
    let words = ["calm", "curious", "tired", "happy", "somewhere else"];
    [
        Prompt::Numeric { text: "Demo: how was your week?".into(), min: 1, max: 10, step: 1 },
        Prompt::Word {
            text: "Demo: how do you feel right now?".into(),
            options: words.map(str::to_owned).to_vec(),
        },
    ]
}

/// Where people take part.
#[derive(Debug)]
pub(crate) struct Driver {
    journeys: keyrack_journeys::Journeys,
    uids: Vec<JourneyUid>,
    sessions: HashMap<u64, SessionUid>,
}

impl Driver {
    pub(crate) fn open(store: Store) -> Driver {
        let journeys = keyrack_journeys::Journeys::new(store);
        Driver { journeys, uids: Vec::new(), sessions: HashMap::new() }
    }

    pub(crate) async fn begin(&mut self) -> Result<(), Error> {
        for prompt in prompts() {
            let journey = self.journeys.create(prompt, DURATION.as_secs_f64()).await?;
            self.uids.push(JourneyUid::new(journey.uid)?);
        }
        Ok(())
    }

    pub(crate) async fn perform(&mut self, action: Action) -> Result<(), Error> {
        let Some(journey) = self.uids.get(action.journey).cloned() else { return Ok(()) };
        let user = action.whom.sub()?;
        if action.act == UserAction::Join {
            let session = self.journeys.start_session(&journey, &user).await?;
            self.sessions.insert(action.session, session);
        }
        let Some(session) = self.sessions.get(&action.session).cloned() else { return Ok(()) };
        if action.act == UserAction::Leave {
            self.sessions.remove(&action.session);
        }
        let journey_time = action.time.as_secs_f64();
        let event = NewEvent {
            journey: &journey,
            session: &session,
            user: &user,
            act: action.act,
            journey_time,
        };
        match self.journeys.event(event).await {
            // People may do what the rules do not allow; the rules are tested elsewhere.
            Ok(_) | Err(Refused::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

//! Job queues: mail, videos that go through three stations, reports for tenants who take turns, payments that fail, an archive that is
//! closed, and an export that nobody works on any more.

mod driver;

use std::time::Duration;

pub(crate) use self::driver::Driver;
use crate::{
    agenda::{Agenda, Plan},
    people::Person,
    random::Random,
    scenario::TimedAction,
};

/// The queues. The part before the slash is what they have in common, and the mark.
pub(crate) const MAIL: &str = "demo/mail";
pub(crate) const VIDEO: &str = "demo/video";
pub(crate) const REPORTS: &str = "demo/reports";
pub(crate) const PAYMENTS: &str = "demo/payments";
/// Closed for the weekend.
pub(crate) const ARCHIVE: &str = "demo/archive";
/// Its last worker was switched off long ago.
pub(crate) const LEGACY: &str = "demo/legacy-export";

/// For whom reports are made. The first asks for more than all others together.
pub(crate) const TENANTS: [&str; 4] = ["acme", "globex", "initech", "umbrella"];

/// What fits into the archive's backlog before people give up.
const ARCHIVED_MAX: u64 = 150;

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Submit(Order),
    /// Somebody thinks better of it.
    Cancel {
        queue: &'static str,
        number: u64,
    },
}

/// A job to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Order {
    pub(crate) queue: &'static str,
    /// Unique in its queue.
    pub(crate) number: u64,
    pub(crate) what: &'static str,
    pub(crate) whom: Person,
    /// How long it takes, in milliseconds.
    pub(crate) takes_ms: u64,
    pub(crate) ends: Ends,
    pub(crate) delay_ms: u64,
    pub(crate) priority: i32,
    pub(crate) tenant: Option<&'static str>,
    /// The job of the same queue that has to end first.
    pub(crate) after: Option<u64>,
}

/// How a job will end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Well,
    /// The second attempt succeeds.
    AfterOneFailure,
    /// Every attempt fails.
    Badly,
    /// Trying again would be pointless.
    ForGood,
}

impl Ends {
    pub(crate) const ALL: [Ends; 4] =
        [Ends::Well, Ends::AfterOneFailure, Ends::Badly, Ends::ForGood];

    /// The word in the job's data.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Ends::Well => "well",
            Ends::AfterOneFailure => "after one failure",
            Ends::Badly => "badly",
            Ends::ForGood => "for good",
        }
    }
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    agenda: Agenda,
    /// How far the plan is made.
    planned: Duration,
    numbers: u64,
    archived: u64,
}

/// Plans are made for so long at once.
const CHAPTER: Duration = Duration::from_secs(5);

impl Plan for Jobs {
    fn next(&mut self, random: &mut Random) -> TimedAction {
        loop {
            // What is decided later must not be due earlier.
            if self.agenda.next_at().is_some_and(|at| at < self.planned)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            self.plan_chapter(random);
        }
    }
}

impl Jobs {
    fn plan_chapter(&mut self, random: &mut Random) {
        let start = self.planned;
        let moment = |random: &mut Random| {
            start + Duration::from_millis(random.below(CHAPTER.as_millis() as u64))
        };
        for _ in 0..random.between(8, 20) {
            let at = moment(random);
            let order = self.letter(random);
            self.agenda.enter(at, Action::Submit(order));
        }
        let at = moment(random);
        self.make_video(at, random);
        for _ in 0..random.between(1, 4) {
            let at = moment(random);
            let order = self.report(random);
            self.agenda.enter(at, Action::Submit(order));
        }
        for _ in 0..random.between(1, 3) {
            let at = moment(random);
            let order = self.payment(random);
            self.agenda.enter(at, Action::Submit(order));
        }
        if random.percent(20) && self.archived < ARCHIVED_MAX {
            self.archived += 1;
            let at = moment(random);
            let order = self.order(ARCHIVE, "archive an order", random);
            self.agenda.enter(at, Action::Submit(order));
        }
        self.planned += CHAPTER;
    }

    fn order(&mut self, queue: &'static str, what: &'static str, random: &mut Random) -> Order {
        self.numbers += 1;
        Order {
            queue,
            number: self.numbers,
            what,
            whom: Person::any(random),
            takes_ms: 100,
            ends: Ends::Well,
            delay_ms: 0,
            priority: 0,
            tenant: None,
            after: None,
        }
    }

    fn letter(&mut self, random: &mut Random) -> Order {
        let what = *random.pick(&["welcome", "newsletter", "receipt", "password reset"]);
        let order = self.order(MAIL, what, random);
        let ends = match random.below(100) {
            0..8 => Ends::AfterOneFailure,
            8..9 => Ends::Badly,
            _ => Ends::Well,
        };
        let priority = if what == "password reset" { 5 } else { 0 };
        Order { takes_ms: random.between(50, 600), ends, priority, ..order }
    }

    /// Three jobs, each after the one before; now and then somebody cancels the last.
    fn make_video(&mut self, at: Duration, random: &mut Random) {
        let mut after = None;
        for (what, low, high) in
            [("transcode", 2_000, 9_000), ("thumbnails", 500, 1_500), ("publish", 200, 600)]
        {
            let order = self.order(VIDEO, what, random);
            let number = order.number;
            let order = Order { takes_ms: random.between(low, high), after, ..order };
            self.agenda.enter(at, Action::Submit(order));
            after = Some(number);
        }
        if let Some(number) = after.filter(|_| random.percent(8)) {
            let at = at + Duration::from_millis(random.between(500, 3_000));
            self.agenda.enter(at, Action::Cancel { queue: VIDEO, number });
        }
    }

    fn report(&mut self, random: &mut Random) -> Order {
        let tenant = if random.percent(60) { TENANTS[0] } else { *random.pick(&TENANTS) };
        let what = *random.pick(&["monthly report", "export of customers", "tax summary"]);
        let order = self.order(REPORTS, what, random);
        let delay_ms = if random.percent(25) { random.between(5_000, 60_000) } else { 0 };
        Order { takes_ms: random.between(800, 3_000), tenant: Some(tenant), delay_ms, ..order }
    }

    fn payment(&mut self, random: &mut Random) -> Order {
        let order = self.order(PAYMENTS, "charge a card", random);
        let ends = match random.below(100) {
            0..20 => Ends::ForGood,
            20..30 => Ends::AfterOneFailure,
            _ => Ends::Well,
        };
        Order { takes_ms: random.between(150, 900), ends, ..order }
    }
}

/// What is in the queues when the demo starts: jobs of the time before it.
pub(crate) fn past(random: &mut Random) -> Vec<Order> {
    let mut before = Jobs { numbers: 1 << 40, ..Jobs::default() };
    let mut orders = Vec::new();
    for _ in 0..40 {
        let letter = before.letter(random);
        orders.push(Order { takes_ms: letter.takes_ms / 4, ..letter });
    }
    for _ in 0..12 {
        let payment = before.payment(random);
        orders.push(Order { takes_ms: payment.takes_ms / 4, ..payment });
        orders.push(before.report(random));
        orders.push(before.order(ARCHIVE, "archive an order", random));
        orders.push(before.order(LEGACY, "export to the old system", random));
    }
    orders
}

//! Job queues: mail, videos that go through three stations, reports for tenants who take turns, payments that fail, an archive that is
//! closed, and an export that nobody works on any more.

mod desk;

use std::time::Duration;

pub(crate) use self::desk::Desk;
use crate::{
    agenda::{Agenda, Plan},
    company::Timed,
    dice::Dice,
    people::Person,
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
pub(crate) enum Deed {
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
    fn next(&mut self, dice: &mut Dice) -> Timed {
        loop {
            // What is decided later must not be due earlier.
            if self.agenda.next_at().is_some_and(|at| at < self.planned)
                && let Some(timed) = self.agenda.take()
            {
                return timed;
            }
            self.plan_chapter(dice);
        }
    }
}

impl Jobs {
    fn plan_chapter(&mut self, dice: &mut Dice) {
        let start = self.planned;
        let moment =
            |dice: &mut Dice| start + Duration::from_millis(dice.below(CHAPTER.as_millis() as u64));
        for _ in 0..dice.between(8, 20) {
            let at = moment(dice);
            let order = self.letter(dice);
            self.agenda.enter(at, Deed::Submit(order));
        }
        let at = moment(dice);
        self.make_video(at, dice);
        for _ in 0..dice.between(1, 4) {
            let at = moment(dice);
            let order = self.report(dice);
            self.agenda.enter(at, Deed::Submit(order));
        }
        for _ in 0..dice.between(1, 3) {
            let at = moment(dice);
            let order = self.payment(dice);
            self.agenda.enter(at, Deed::Submit(order));
        }
        if dice.percent(20) && self.archived < ARCHIVED_MAX {
            self.archived += 1;
            let at = moment(dice);
            let order = self.order(ARCHIVE, "archive an order", dice);
            self.agenda.enter(at, Deed::Submit(order));
        }
        self.planned += CHAPTER;
    }

    fn order(&mut self, queue: &'static str, what: &'static str, dice: &mut Dice) -> Order {
        self.numbers += 1;
        Order {
            queue,
            number: self.numbers,
            what,
            whom: Person::any(dice),
            takes_ms: 100,
            ends: Ends::Well,
            delay_ms: 0,
            priority: 0,
            tenant: None,
            after: None,
        }
    }

    fn letter(&mut self, dice: &mut Dice) -> Order {
        let what = *dice.pick(&["welcome", "newsletter", "receipt", "password reset"]);
        let order = self.order(MAIL, what, dice);
        let ends = match dice.below(100) {
            0..8 => Ends::AfterOneFailure,
            8..9 => Ends::Badly,
            _ => Ends::Well,
        };
        let priority = if what == "password reset" { 5 } else { 0 };
        Order { takes_ms: dice.between(50, 600), ends, priority, ..order }
    }

    /// Three jobs, each after the one before; now and then somebody cancels the last.
    fn make_video(&mut self, at: Duration, dice: &mut Dice) {
        let mut after = None;
        for (what, low, high) in
            [("transcode", 2_000, 9_000), ("thumbnails", 500, 1_500), ("publish", 200, 600)]
        {
            let order = self.order(VIDEO, what, dice);
            let number = order.number;
            let order = Order { takes_ms: dice.between(low, high), after, ..order };
            self.agenda.enter(at, Deed::Submit(order));
            after = Some(number);
        }
        if let Some(number) = after.filter(|_| dice.percent(8)) {
            let at = at + Duration::from_millis(dice.between(500, 3_000));
            self.agenda.enter(at, Deed::Cancel { queue: VIDEO, number });
        }
    }

    fn report(&mut self, dice: &mut Dice) -> Order {
        let tenant = if dice.percent(60) { TENANTS[0] } else { *dice.pick(&TENANTS) };
        let what = *dice.pick(&["monthly report", "export of customers", "tax summary"]);
        let order = self.order(REPORTS, what, dice);
        let delay_ms = if dice.percent(25) { dice.between(5_000, 60_000) } else { 0 };
        Order { takes_ms: dice.between(800, 3_000), tenant: Some(tenant), delay_ms, ..order }
    }

    fn payment(&mut self, dice: &mut Dice) -> Order {
        let order = self.order(PAYMENTS, "charge a card", dice);
        let ends = match dice.below(100) {
            0..20 => Ends::ForGood,
            20..30 => Ends::AfterOneFailure,
            _ => Ends::Well,
        };
        Order { takes_ms: dice.between(150, 900), ends, ..order }
    }
}

/// What is in the queues when the curtain rises: deeds of a company that was here before.
pub(crate) fn past(dice: &mut Dice) -> Vec<Order> {
    let mut before = Jobs { numbers: 1 << 40, ..Jobs::default() };
    let mut orders = Vec::new();
    for _ in 0..40 {
        let letter = before.letter(dice);
        orders.push(Order { takes_ms: letter.takes_ms / 4, ..letter });
    }
    for _ in 0..12 {
        let payment = before.payment(dice);
        orders.push(Order { takes_ms: payment.takes_ms / 4, ..payment });
        orders.push(before.report(dice));
        orders.push(before.order(ARCHIVE, "archive an order", dice));
        orders.push(before.order(LEGACY, "export to the old system", dice));
    }
    orders
}

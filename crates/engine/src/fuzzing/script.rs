//! Lua scripts.

use super::{SCRIPT_LIMITS, engine, replies};
use crate::{
    ctx::Ctx,
    exec,
    reply::{Error, Reply},
    script::{Caller, Interrupt, Scripts, generate::Generator},
    table,
};

/// How often a script is asked whether it goes on before it has to end.
const PATIENCE: u32 = 50;

/// Runs a program that is made of the bytes, as [`run_script`] does.
///
/// # Panics
/// As [`run_script`].
pub fn run_program(bytes: &[u8]) {
    run_script(Generator::new(bytes).program().as_bytes());
}

/// Runs bytes as a script on an engine that holds a key of each type, twice, since the machine outlives a run.
///
/// # Panics
/// When its answer is not one well-formed reply, or when the machine is broken afterwards.
pub fn run_script(body: &[u8]) {
    let (mut state, client, _inbox) = engine();
    for command in [
        "SET string 10",
        "RPUSH list a b c",
        "HSET hash f 1 g 2",
        "SADD set a 1",
        "ZADD zset 1 a 2 b",
    ] {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        state.execute(client, &words);
    }
    let Some(mut session) = state.clients.take(client) else { return };
    let mut scripts = Scripts::new(SCRIPT_LIMITS);
    for body in [body, body, b"return 'sound'"] {
        let Ok(sha) = scripts.load(body) else { continue };
        let mut ctx = Ctx::new(&mut state, &mut session);
        (ctx.atomic, ctx.in_script) = (true, true);
        let keys: [&[u8]; 5] = [b"string", b"list", b"hash", b"set", b"zset"];
        let mut caller = InstructionLimit { ctx, asked: 0 };
        let reply = scripts.run(
            scripts.find(&sha).expect("it is loaded"),
            &sha,
            &keys,
            &[b"1", b"-1", b"text", b"\xff\0"],
            &mut caller,
        );
        (session.db, session.resp) = (0, 2);
        replies::check(&reply);
        if body == b"return 'sound'" {
            assert_eq!(reply, Reply::bulk("sound"), "the machine is broken");
        }
    }
    state.clients.put(session);
}

/// The engine as a script reaches it, except that a script must end after a number of instructions, not by the clock.
struct InstructionLimit<'a> {
    ctx: Ctx<'a>,
    asked: u32,
}

impl Caller for InstructionLimit<'_> {
    fn call(&mut self, args: &[&[u8]]) -> Reply {
        let reply = exec::call_from_script(&mut self.ctx, args, false);
        replies::check(&reply);
        reply
    }

    fn interrupt(&mut self) -> Interrupt {
        self.asked += 1;
        match self.asked > PATIENCE {
            true => Interrupt::Stop(Error::fixed("ERR Script killed by user with SCRIPT KILL.")),
            false => Interrupt::Continue,
        }
    }

    fn set_resp(&mut self, version: u8) {
        self.ctx.session.resp = version;
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        self.ctx.state.host_log(level, message);
    }

    fn may_call(&mut self, args: &[&[u8]]) -> Option<bool> {
        args.first().and_then(|name| table::find(name)).map(|_| true)
    }
}

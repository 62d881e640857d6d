//! The PIN: what a person types at the terminal for what opens a gate.
//!
//! Only a hash is kept, in the user's own state, which no agent behind a wall can read. Where it is follows
//! from the system's table of users before the environment, because an agent chooses the environment of
//! what it starts. Wrong PINs make the next try wait longer and longer, and never for ever.

use crate::{
    actor,
    clock::Clock,
    environment::Environment,
    error::{EngineError, Problem},
    ledger::MachineCommand,
    project::Project,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::{fs::File, io, io::Read as _, path::PathBuf};
use waypost_model::{code::Code, layout, next::NextStep, time::Time, workflow::Workflow};
use waypost_store::{file, lock::FileLock};

const VERSION: u32 = 1;

/// What OWASP asks for with this function; some tenths of a second.
const ROUNDS: u32 = 600_000;

/// A file of ours has some two hundred bytes.
const SIZE_MAX: u64 = 4 << 10;

/// Fewer are guessed within the waiting times below.
const LENGTH_MIN: usize = 4;

/// More than a person types.
const LENGTH_MAX: usize = 128;

/// So many wrong ones are typing errors.
const WRONG_FREE: u32 = 3;

/// How long the next try waits after one more than that; then twice as long each time.
const WAIT_FIRST_MS: i64 = 5_000;

/// At most a hundred guesses a day, and a person who comes back later can go on.
const WAIT_MAX_MS: i64 = 15 * 60_000;

/// Asks the person at the terminal, who sees the prompt and not what is typed; none: there is no person.
pub type AskPin = fn(prompt: &str) -> io::Result<Option<String>>;

/// No person is asked.
pub(crate) fn not_asked(_prompt: &str) -> io::Result<Option<String>> {
    Ok(None)
}

/// Where a user's PIN is kept.
#[derive(Clone, Debug)]
pub struct PinFile {
    path: Option<PathBuf>,
}

/// What is kept of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    version: u32,
    salt: String,
    rounds: u32,
    hash: String,
    /// How many wrong ones were typed since the last right one.
    wrong: u32,
    /// Until when none is looked at, in milliseconds.
    until: i64,
}

impl PinFile {
    /// The PIN of the user whose environment this is: that of the system's home folder where there is
    /// one, so that another `HOME` does not bring another PIN.
    pub fn of(environment: &Environment) -> Self {
        let below = |home: PathBuf| home.join(".local/state").join(layout::user_state::PIN);
        let of_system = actor::home_of_user().map(below);
        let is_there = |path: &PathBuf| !matches!(file::Mark::of(path), Ok(None));
        let path = of_system.clone().filter(is_there);
        Self { path: path.or_else(|| environment.path("HOME").map(below)).or(of_system) }
    }

    pub fn is_set(&self) -> Result<bool, EngineError> {
        Ok(self.read()?.is_some())
    }

    /// Keeps a new PIN; where there is one, `old` has to be it.
    pub fn set(&self, new: &str, old: Option<&str>) -> Result<(), EngineError> {
        if !(LENGTH_MIN..=LENGTH_MAX).contains(&new.chars().count()) {
            let message = format!("a PIN has {LENGTH_MIN} to {LENGTH_MAX} characters");
            return Err(Problem::new(Code::BadArgument, message).into());
        }
        if self.is_set()? {
            self.check(old.unwrap_or_default(), Clock.now())?;
        }
        let salt = fresh_salt()?;
        let hash = hex(&derive(new, &salt, ROUNDS));
        let salt = hex(&salt);
        self.keep(&Kept { version: VERSION, salt, rounds: ROUNDS, hash, wrong: 0, until: 0 })
    }

    /// Whether this is the PIN. A wrong one is counted before it is told.
    fn check(&self, typed: &str, now: Time) -> Result<(), EngineError> {
        let _turn = self.turn()?;
        let Some(kept) = self.read()? else { return Err(unset("this").into()) };
        let now = now.millis();
        // A clock that was set back must not lock a person out.
        if now < kept.until && kept.until - now <= WAIT_MAX_MS {
            let seconds = (kept.until - now + 999) / 1_000;
            let message = format!("too many wrong PINs; the next one is looked at in {seconds} s");
            return Err(Problem::new(Code::PinWrong, message).into());
        }
        let wrong = kept.wrong.saturating_add(1);
        // Ending this process in between uses up a try.
        self.keep(&Kept { wrong, until: now + wait_after(wrong), ..kept.clone() })?;
        let salt = unhex(&kept.salt).unwrap_or_default();
        if hex(&derive(typed, &salt, kept.rounds)) != kept.hash {
            return Err(Problem::new(Code::PinWrong, "that is not your PIN").into());
        }
        self.keep(&Kept { wrong: 0, until: 0, ..kept })
    }

    fn path(&self) -> Result<&PathBuf, EngineError> {
        let missing =
            || Problem::new(Code::HomeMissing, "there is no home folder to keep a PIN in");
        Ok(self.path.as_ref().ok_or_else(missing)?)
    }

    fn read(&self) -> Result<Option<Kept>, EngineError> {
        let Some(path) = &self.path else { return Ok(None) };
        let Some(bytes) = file::read_bounded(path, SIZE_MAX)? else { return Ok(None) };
        let kept = serde_json::from_slice::<Kept>(&bytes).ok();
        match kept.filter(|kept| kept.version == VERSION && !kept.hash.is_empty()) {
            Some(kept) => Ok(Some(kept)),
            None => {
                let message = format!("{} is damaged, or of another version", path.display());
                let hint = "delete it as a person, and set the PIN again";
                Err(Problem::new(Code::JournalDamaged, message).hint(hint).into())
            }
        }
    }

    fn keep(&self, kept: &Kept) -> Result<(), EngineError> {
        let path = self.path()?;
        if let Some(folder) = path.parent() {
            file::make_private_folder(folder)?;
        }
        let text = serde_json::to_vec(kept).expect("plain values are JSON");
        Ok(file::replace(path, &text, file::PRIVATE)?)
    }

    /// Tries at the same time are looked at one after another.
    fn turn(&self) -> Result<FileLock, EngineError> {
        Ok(FileLock::acquire(&self.path()?.with_extension("lock"))?)
    }
}

/// Has the person at the terminal type the PIN, once for each command.
pub(crate) fn confirm(project: &mut Project, what: &str) -> Result<(), EngineError> {
    if !project.caller.is_confirmed {
        ask(&PinFile::of(&project.caller.environment), project.caller.ask_pin, what)?;
        project.caller.is_confirmed = true;
    }
    Ok(())
}

/// As `confirm`, where one of the commands opens something by a person's word. An agent
/// is refused by the machine.
pub(crate) fn confirm_for(
    project: &mut Project,
    commands: &[MachineCommand],
) -> Result<(), EngineError> {
    let opens =
        |it: &MachineCommand| it.wanted_of::<Workflow>().is_some_and(|it| it.opens_by_word());
    if project.actor().is_person() && commands.iter().any(opens) {
        return confirm(project, "what opens a gate");
    }
    Ok(())
}

/// Asks for the PIN and looks at it.
pub(crate) fn ask(pin: &PinFile, ask: AskPin, what: &str) -> Result<(), EngineError> {
    if !pin.is_set()? {
        return Err(unset(what).into());
    }
    let cannot = |error| Problem::system("cannot ask at the terminal", error);
    let Some(typed) = ask(&format!("PIN for {what}:")).map_err(cannot)? else {
        let message = format!("{what} needs your PIN, typed at a terminal");
        return Err(Problem::new(Code::PinNeeded, message).into());
    };
    pin.check(&typed, Clock.now())
}

fn unset(what: &str) -> Problem {
    let message = format!("{what} needs your PIN, and none is set; nothing has changed");
    Problem::new(Code::PinNeeded, message).hint("a person sets it once").next(NextStep::SetPin)
}

/// How long the next try waits after so many wrong ones.
fn wait_after(wrong: u32) -> i64 {
    match wrong.checked_sub(WRONG_FREE) {
        None | Some(0) => 0,
        Some(more) => WAIT_FIRST_MS.saturating_mul(1 << (more - 1).min(20)).min(WAIT_MAX_MS),
    }
}

/// PBKDF2 with HMAC-SHA256, one block (RFC 8018).
fn derive(pin: &str, salt: &[u8], rounds: u32) -> [u8; 32] {
    let keyed = Hmac::<Sha256>::new_from_slice(pin.as_bytes()).expect("a key may have any length");
    let of = |bytes: &[u8]| -> [u8; 32] {
        let mut mac = keyed.clone();
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    };
    let mut round = of(&[salt, &1u32.to_be_bytes()].concat());
    let mut sum = round;
    for _ in 1..rounds {
        round = of(&round);
        sum.iter_mut().zip(round).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

fn fresh_salt() -> Result<[u8; 16], EngineError> {
    let mut salt = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut salt));
    read.map_err(|error| Problem::system("cannot make a salt", error))?;
    Ok(salt)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        let table = [
            (1, "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b"),
            (4096, "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a"),
        ];
        for (rounds, want) in table {
            assert_eq!(hex(&derive("password", b"salt", rounds)), want, "{rounds}");
        }
        assert_eq!(unhex("00ff1a"), Some(vec![0, 255, 26]));
    }

    /// A PIN whose hash is cheap.
    fn pin(folder: &tempfile::TempDir) -> PinFile {
        let pin = PinFile { path: Some(folder.path().join("waypost/pin")) };
        let hash = hex(&derive("2468", b"salt", 1));
        let salt = hex(b"salt");
        pin.keep(&Kept { version: VERSION, salt, rounds: 1, hash, wrong: 0, until: 0 }).unwrap();
        pin
    }

    fn code(pin: &PinFile, typed: &str, at: i64) -> Option<Code> {
        pin.check(typed, Time::from_millis(at)).err().map(|error| error.code())
    }

    #[test]
    fn wrong_ones_make_the_next_wait_and_no_person_is_locked_out() {
        let folder = tempfile::tempdir().unwrap();
        let pin = pin(&folder);
        let begin = 1_000_000;
        for _ in 0..=WRONG_FREE {
            assert_eq!(code(&pin, "1357", begin), Some(Code::PinWrong));
        }
        assert_eq!(code(&pin, "2468", begin), Some(Code::PinWrong), "the right one has to wait");
        assert_eq!(code(&pin, "2468", begin + WAIT_FIRST_MS), None);
        assert_eq!(code(&pin, "1357", begin), Some(Code::PinWrong));
        assert_eq!(code(&pin, "2468", begin), None, "a right one makes wrong ones forgotten");
        for _ in 0..40 {
            let until = pin.read().unwrap().unwrap().until.max(begin);
            assert_eq!(code(&pin, "1357", until), Some(Code::PinWrong));
        }
        let until = pin.read().unwrap().unwrap().until;
        assert_eq!(code(&pin, "2468", until - WAIT_MAX_MS), Some(Code::PinWrong));
        assert_eq!(code(&pin, "2468", 0), None, "a clock that was set back");
    }

    #[test]
    fn the_wait_grows_to_its_limit() {
        let table = [(0, 0), (3, 0), (4, 5_000), (5, 10_000), (6, 20_000), (u32::MAX, WAIT_MAX_MS)];
        for (wrong, want) in table {
            assert_eq!(wait_after(wrong), want, "{wrong}");
        }
    }

    #[test]
    fn another_one_is_set_with_the_old_one_only() {
        let folder = tempfile::tempdir().unwrap();
        let pin = pin(&folder);
        let set = |new, old| pin.set(new, old).err().map(|error| error.code());
        assert_eq!(set("97531", None), Some(Code::PinWrong));
        assert_eq!(set("97531", Some("1111")), Some(Code::PinWrong));
        assert_eq!(set("123", Some("2468")), Some(Code::BadArgument));
        assert_eq!(set("97531", Some("2468")), None);
        assert_eq!(code(&pin, "97531", 0), None);
        let text = std::fs::read_to_string(pin.path().unwrap()).unwrap();
        assert!(!text.contains("97531"), "{text}");
    }
}

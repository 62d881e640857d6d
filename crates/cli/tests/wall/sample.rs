//! Which commands are run: all of them, or a sample by a seed that is printed.

use std::env;

/// The gate runs the same commands each time; `cargo xtask faults` runs all of them.
const SEED: u64 = 1;

/// Whether everything is run.
pub(crate) fn is_full() -> bool {
    env::var("WAYPOST_FAULTS").is_ok_and(|value| value == "full")
}

/// `count` of the commands in their order, or all.
pub(crate) fn of<T>(mut all: Vec<T>, count: usize) -> Vec<T> {
    if is_full() || all.len() <= count {
        return all;
    }
    let seed = env::var("WAYPOST_FAULTS_SEED").ok().and_then(|text| text.parse().ok());
    let mut state: u64 = seed.unwrap_or(SEED);
    println!("a sample of {count} in {}: WAYPOST_FAULTS_SEED={state}", all.len());
    while all.len() > count {
        // A generator that needs no memory, by Marsaglia.
        state ^= state << 13 | 1;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % all.len() as u64).unwrap();
        all.remove(at);
    }
    all
}

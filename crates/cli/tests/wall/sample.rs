//! Which commands are run: all of them, or a sample by a seed that is printed.
//!
//! Each test takes another sample, always the same, so that the gate says the same of the same code; every class is
//! in every sample. `WAYPOST_FAULTS_SEED` takes another one.

use std::{collections::BTreeSet, env};

/// Which of the samples the gate takes.
const DRAW: u64 = 20777;

/// Whether everything is run.
pub(crate) fn is_full() -> bool {
    env::var("WAYPOST_FAULTS").is_ok_and(|value| value == "full")
}

/// `count` of the commands in their order with some of each class, or all. `name` says whose sample it is.
pub(crate) fn of<T>(name: &str, all: Vec<T>, count: usize, class: impl Fn(&T) -> String) -> Vec<T> {
    if is_full() || all.len() <= count {
        return all;
    }
    let given = env::var("WAYPOST_FAULTS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| seed(name, DRAW));
    println!("{name}: a sample of {count} in {}: WAYPOST_FAULTS_SEED={seed}", all.len());
    let classes: Vec<String> = all.iter().map(class).collect();
    let chosen = choose(&classes, count, seed);
    all.into_iter().enumerate().filter(|(at, _)| chosen.contains(at)).map(|(_, it)| it).collect()
}

/// A number of its own for each name and each draw.
fn seed(name: &str, draw: u64) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    name.bytes().chain(draw.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, step)
}

/// Which of the commands are taken: first one of each class, in a random order, then any.
fn choose(classes: &[String], count: usize, seed: u64) -> BTreeSet<usize> {
    let mut state = seed | 1;
    let mut left: Vec<usize> = (0..classes.len()).collect();
    let mut next = || {
        // A generator that needs no memory, by Marsaglia.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state % left.len() as u64).unwrap();
        left.swap_remove(at)
    };
    let order: Vec<usize> = classes.iter().map(|_| next()).collect();
    let mut seen = BTreeSet::new();
    let (first, others): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|at| seen.insert(&classes[*at]));
    first.into_iter().chain(others).take(count).collect()
}

#[test]
fn every_class_is_in_a_sample_and_every_command_in_some() {
    let classes: Vec<String> =
        (0..300).map(|at| ["many", "few"][usize::from(at == 7)]).map(str::to_owned).collect();
    let mut met = BTreeSet::new();
    for draw in 0..200 {
        let chosen = choose(&classes, 20, seed("a test", draw));
        assert_eq!(chosen.len(), 20);
        assert!(chosen.contains(&7), "{draw}");
        met.extend(chosen);
    }
    assert_eq!(met.len(), classes.len());
    assert_ne!(choose(&classes, 20, seed("one", 1)), choose(&classes, 20, seed("two", 1)));
}

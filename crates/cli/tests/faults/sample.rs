//! Which of many points are tried: all in the full form, else an even sample that a seed decides.

use std::env;

/// The sample that the ordinary test run takes: the same every time, so that a red run stays red.
const SEED: u64 = 1;

/// Whether all points are wanted.
pub(crate) fn is_full() -> bool {
    env::var_os("WAYPOST_FAULTS").is_some_and(|value| value == "full")
}

fn seed() -> u64 {
    env::var("WAYPOST_FAULTS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED)
}

/// About `count` of the points, spread evenly over each kind and at least one of each kind.
pub(crate) fn sample<T: Clone>(points: &[T], count: usize, kind: impl Fn(&T) -> &str) -> Vec<T> {
    if is_full() || points.len() <= count {
        return points.to_vec();
    }
    let mut kinds: Vec<&str> = points.iter().map(&kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut random = Random::new();
    let mut taken = Vec::new();
    for wanted in kinds {
        let group: Vec<&T> = points.iter().filter(|point| kind(point) == wanted).collect();
        let share = (group.len() * count / points.len()).max(1);
        for turn in 0..share {
            let (start, end) = (turn * group.len() / share, (turn + 1) * group.len() / share);
            let at = start + usize::try_from(random.next()).unwrap() % (end - start);
            taken.push(group[at].clone());
        }
    }
    taken
}

/// A small generator: good enough to choose points, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(seed())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) >> 16
    }
}

/// How it was sampled, for the summary.
pub(crate) fn described() -> String {
    if is_full() { "all points".into() } else { format!("sample of seed {}", seed()) }
}

#[test]
fn a_sample_has_some_of_every_kind_and_none_twice() {
    let kinds = ["open", "write", "close"];
    let points: Vec<(usize, &str)> =
        (0..300).map(|at| (at, if at == 7 { "rare" } else { kinds[at % 3] })).collect();
    let mut taken = sample(&points, 30, |point| point.1);
    if is_full() {
        return;
    }
    assert!((28..=34).contains(&taken.len()), "{}", taken.len());
    for wanted in ["open", "write", "close", "rare"] {
        assert!(taken.iter().any(|point| point.1 == wanted), "no {wanted}");
    }
    taken.sort_unstable();
    let count = taken.len();
    taken.dedup();
    assert_eq!(taken.len(), count);
}

//! Runs the tests many times on a machine that is busy, to find those that fail now and then.
//!
//! A test that waits for a time instead of a condition passes on a quiet machine. Every round runs
//! all of them to the end; the failures of all rounds are listed together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Result, bail};

use crate::install::{self, Purpose};
use crate::test::Runner;
use crate::wall;

/// Enough rounds to meet a test that fails in one run of ten.
pub(crate) const ROUNDS: u32 = 10;

/// More busy threads than the smallest machine that we build on has processors.
const BUSY_THREADS: usize = 3;

pub(crate) fn run(rounds: u32) -> Result<()> {
    install::ensure(Purpose::Tests)?;
    let runner = Runner::find();
    let line = wall::required(runner.line(&[])).with(["--no-fail-fast"]);
    let line = if runner == Runner::Nextest { line.with(["--retries", "0"]) } else { line };
    let _load = Load::begin(BUSY_THREADS);
    let mut failed = Vec::new();
    for round in 1..=rounds {
        println!("round {round} of {rounds}, beside {BUSY_THREADS} busy threads: {line}");
        if let Err(error) = line.run() {
            println!("round {round}: {error:#}");
            failed.push(round.to_string());
        }
    }
    if !failed.is_empty() {
        bail!("{} of {rounds} rounds failed: {}", failed.len(), failed.join(", "));
    }
    println!("{rounds} rounds, none failed");
    Ok(())
}

/// Threads that do nothing as fast as they can, for as long as this lives.
#[derive(Debug)]
struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn begin(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let spin = |is_over: Arc<AtomicBool>| {
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..count).map(|_| thread::spawn(spin(Arc::clone(&is_over)))).collect();
        Self { is_over, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a thread that only counts does not panic");
        }
    }
}

//! What reading an agent's output costs: secrets taken out, signals found, lines understood.
//!
//! Plain text comes through a pipe from `cat`, beside the same pipe emptied without a look; lines of JSON
//! stand in memory, beside serde_json alone. Prints one JSON object per measurement on stdout and a table
//! on stderr. `WAYPOST_BENCH_QUICK=1` makes it small enough for a test.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use std::{
    env,
    fmt::Write as _,
    fs,
    hint::black_box,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use waypost_agent::{Adapter, protocol::Scanner, stream::Reader};
use waypost_redact::{Form, Searcher, Sieve};

/// As much as the keeper reads at once.
const PIECE: usize = 64 << 10;
const VALUES: usize = 20;

/// One thing measured on both sides; the ratio is ours divided by the other's.
struct Measurement {
    name: &'static str,
    ours: f64,
    other: f64,
    target: Option<&'static str>,
}

fn main() {
    // Only `cargo bench` says so; a test runner that merely lists what is there gets nothing.
    if !env::args().any(|word| word == "--bench") {
        return;
    }
    let quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let (size, rounds) = if quick { (16 << 20, 3) } else { (512 << 20, 7) };
    let values: Vec<String> = (0..VALUES).map(value).collect();
    let searcher = Arc::new(Searcher::of(values.iter().map(String::as_str)));
    let text = plain(size, &values);
    let lines = streamed(size / 4, &values);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text");
    fs::write(&file, &text).unwrap();
    let measured = [
        Measurement {
            name: "plain text, 20 values, in memory",
            ours: rate(text.len(), rounds, || sieve_and_scan(&searcher, &text)),
            other: rate(text.len(), rounds, || drop(black_box(text.clone()))),
            target: None,
        },
        Measurement {
            name: "plain text, 20 values, from `cat`",
            ours: rate(text.len(), rounds, || piped(&file, Some(&searcher))),
            other: rate(text.len(), rounds, || piped(&file, None)),
            target: Some(">= 0.5"),
        },
        Measurement {
            name: "stream-json beside serde_json",
            ours: rate(lines.len(), rounds, || understand(&searcher, &lines)),
            other: rate(lines.len(), rounds, || parse(&lines)),
            target: Some(">= 0.8"),
        },
    ];
    eprintln!("{:<40} {:>10} {:>10} {:<6} {:>6}", "measurement", "ours", "other", "unit", "ratio");
    for Measurement { name, ours, other, target } in measured {
        let ratio = ours / other;
        eprintln!("{name:<40} {ours:>10.0} {other:>10.0} {:<6} {ratio:>6.2}", "MB/s");
        let mut line = serde_json::json!({
            "name": name, "ours": ours, "other": other, "unit": "MB/s", "ratio": ratio,
        });
        if let Some(target) = target {
            line["target"] = target.into();
        }
        println!("{line}");
    }
}

/// A value as services give them out.
fn value(number: usize) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 7_919 * (number as u64 + 1);
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[(state >> 33) as usize % letters.len()])
    };
    format!("key-{number}-{}", (0..32).map(|_| next()).collect::<String>())
}

/// What compilers, tests and shells print, with a value in each megabyte.
fn plain(size: usize, values: &[String]) -> Vec<u8> {
    let mut text = String::with_capacity(size + 4096);
    let mut number = 0_usize;
    while text.len() < size {
        number += 1;
        let line = match number % 5 {
            0 => format!(
                "   Compiling crate-{number} v0.{}.{} (/src/crates/{number})\n",
                number % 90,
                number % 7
            ),
            1 => format!("test module::tests::case_{number} ... ok\n"),
            2 => {
                format!("warning: unused variable: `value_{number}`\n  --> src/lib.rs:{number}:9\n")
            }
            3 => format!(
                "-rw-r--r-- 1 user user {number:>9} Nov 17 13:0{} file-{number}.txt\n",
                number % 10
            ),
            _ => "The quick brown fox jumps over the lazy dog, and then it goes home again.\n"
                .to_owned(),
        };
        text.push_str(&line);
        if number.is_multiple_of(16_384) {
            writeln!(text, "token={}", values[number / 16_384 % values.len()]).unwrap();
        }
    }
    text.into_bytes()
}

/// Messages and tool calls, as Claude Code writes them.
fn streamed(size: usize, values: &[String]) -> Vec<u8> {
    let body = String::from_utf8(plain(2_000, &[])).unwrap();
    let mut text = String::with_capacity(size + 8192);
    let mut number = 0_usize;
    while text.len() < size {
        number += 1;
        let said = match number % 512 {
            0 => format!("{body} {}", values[number / 512 % values.len()]),
            _ => format!("{number} {body}"),
        };
        let content = match number % 2 {
            0 => serde_json::json!([{"type": "text", "text": said}]),
            _ => {
                serde_json::json!([{"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": said}}])
            }
        };
        let usage = serde_json::json!({"input_tokens": number, "output_tokens": 7});
        let message = serde_json::json!({"id": format!("m{number}"), "role": "assistant", "model": "m", "content": content, "usage": usage});
        writeln!(
            text,
            "{}",
            serde_json::json!({"type": "assistant", "message": message, "session_id": "s"})
        )
        .unwrap();
    }
    text.into_bytes()
}

fn sieve_and_scan(searcher: &Arc<Searcher>, text: &[u8]) {
    let mut sieve = Sieve::new(Arc::clone(searcher), Form::Text);
    let mut scanner = Scanner::new();
    for piece in text.chunks(PIECE) {
        sieve.push(piece, |clean| drop(black_box(scanner.push(clean))));
    }
    sieve.finish(|clean| drop(black_box(scanner.push(clean))));
}

fn understand(searcher: &Arc<Searcher>, text: &[u8]) {
    let mut sieve = Sieve::new(Arc::clone(searcher), Form::Lines);
    let mut reader = Reader::new(Adapter::CLAUDE);
    for piece in text.chunks(PIECE) {
        sieve.push(piece, |clean| drop(black_box(reader.read(clean))));
    }
}

fn parse(text: &[u8]) {
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        black_box(serde_json::from_slice::<serde_json::Value>(line).unwrap());
    }
}

/// All of a file through a pipe; with values, what they are taken from and where signals are looked for.
fn piped(file: &Path, searcher: Option<&Arc<Searcher>>) {
    let mut child = Command::new("cat").arg(file).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut buffer = vec![0; PIECE];
    let mut sieve = searcher.map(|it| Sieve::new(Arc::clone(it), Form::Text));
    let mut scanner = Scanner::new();
    loop {
        let count = output.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        match &mut sieve {
            Some(sieve) => {
                sieve.push(&buffer[..count], |clean| drop(black_box(scanner.push(clean))));
            }
            None => drop(black_box(&buffer[..count])),
        }
    }
    assert!(child.wait().unwrap().success());
}

/// Megabytes in a second; the median round.
fn rate(size: usize, rounds: usize, mut act: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            act();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    size as f64 / times[rounds / 2].as_secs_f64() / 1e6
}

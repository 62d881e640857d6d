//! What children write: all of it, too much of it, and nothing that a person would.

use crate::site::{Site, plain, run};
use std::{env, fs};
use waypost_proc::{Ended, How};

#[test]
fn serial_a_flood_is_drained_counted_and_kept_in_part() {
    let site = Site::new();
    let keeper = site.keeper();
    let is_full = env::var("WAYPOST_FAULTS").is_ok_and(|value| value == "full");
    let size: u64 = if is_full { 10 << 30 } else { 1 << 30 };
    let mut spec = site.chaos("flood", &["flood", &size.to_string()]);
    spec.limits.log_size = 1 << 20;
    let ended = run(&keeper, spec);
    let log = fs::read(site.log("flood")).unwrap();
    let want = Ended {
        output: size,
        dropped: ended.dropped,
        ..plain(How::Exited(0), &[b'x'; 8 << 10], &ended)
    };
    assert_eq!(ended, want);
    let note = format!("\n[waypost: {} bytes are missing here]\n", ended.dropped);
    assert_eq!(log.len() as u64, size - ended.dropped + note.len() as u64);
    assert!(log.len() <= (1 << 20) + note.len(), "{}", log.len());
    let pid = keeper.process().unwrap().pid;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 64 << 10, "{peak} KB");
}

#[test]
fn bytes_are_kept_as_they_are() {
    let site = Site::new();
    let keeper = site.keeper();
    let ended = run(&keeper, site.chaos("bytes", &["bytes"]));
    let mut want: Vec<u8> = (0..=255).collect();
    want.extend(b"\x1b[31mred\x1b[0m \xed\xa0\x80 \xf0\x9f \0 \r\n\xe2");
    assert_eq!(ended, plain(How::Exited(0), &want, &ended));
    assert_eq!(fs::read(site.log("bytes")).unwrap(), want);
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_its_child() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1", "echo text");
    spec.log = "/proc/none/log".into();
    let ended = run(&keeper, spec);
    assert_eq!(ended, Ended { dropped: 5, ..plain(How::Exited(0), b"text\n", &ended) });
}

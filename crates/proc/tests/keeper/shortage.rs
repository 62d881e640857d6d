//! A machine that has no process or file left.

use crate::site::{CHAOS, Site, plain, reports, reports_at_least, run, words};
use std::{os::unix::net::UnixStream, process::Command};
use waypost_proc::{How, Keeper, Refusal, Report, Stop};

fn is_busy(report: &Report) -> bool {
    matches!(report, Report::Refused { why: Refusal::Busy { .. }, .. })
}

#[test]
fn serial_without_files_the_machine_is_busy_and_recovers() {
    let site = Site::new();
    let program = words(&["sh", "-c", r#"ulimit -n 42; exec "$0" "$@""#, CHAOS, "keeper"]);
    let keeper = Keeper::start(&site.keepers(), &program).unwrap();
    let specs = |from: usize, to: usize| {
        (from..to).map(|n| site.chaos(&format!("T{n}"), &["stay"])).collect::<Vec<_>>()
    };
    keeper.spawn(specs(0, 10)).unwrap();
    let told = reports(&keeper, 10);
    assert_eq!(
        told.iter().map(is_busy).collect::<Vec<_>>(),
        [[false; 6].as_slice(), &[true; 4]].concat()
    );
    // Those who knock meanwhile do not wear it out either.
    let socket = site.keepers().join(keeper.id()).join("keeper.sock");
    let knocking: Vec<_> = (0..30).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    (0..6).for_each(|n| keeper.stop(&format!("T{n}"), Stop::Asked).unwrap());
    assert!(reports(&keeper, 6).iter().all(|report| matches!(report, Report::Ended { .. })));
    drop(knocking);
    keeper.spawn(specs(10, 14)).unwrap();
    assert!(!reports(&keeper, 4).iter().any(is_busy));
    (10..14).for_each(|n| keeper.stop(&format!("T{n}"), Stop::Asked).unwrap());
    reports(&keeper, 4);
    site.assert_nothing_lives();
}

/// `None`: strace works here.
#[expect(clippy::disallowed_methods, reason = "asks whether a tool is there")]
fn no_strace() -> Option<String> {
    let probe = Command::new("strace").args(["-qq", "-f", "-o", "/dev/null", "true"]).output();
    match probe {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn serial_a_system_that_refuses_a_process_is_busy_and_recovers() {
    if let Some(why) = no_strace() {
        return eprintln!("skipped, strace cannot be used: {why}");
    }
    for error in ["EAGAIN", "ENOMEM"] {
        let site = Site::new();
        let inject = format!("inject=clone,clone3,vfork,fork:error={error}:when=1..4");
        let program = ["strace", "-qq", "-o", "/dev/null", "-e", &inject, CHAOS, "keeper"];
        let keeper = Keeper::start(&site.keepers(), &words(&program)).unwrap();
        let mut refusals = 0;
        loop {
            let id = format!("T{refusals}");
            keeper.spawn(vec![site.shell(&id, "true")]).unwrap();
            let mut told = reports_at_least(&keeper, 1);
            if !told.iter().any(is_busy) {
                told.extend(reports_at_least(&keeper, 2 - told.len()));
                break;
            }
            refusals += 1;
        }
        assert!((1..=4).contains(&refusals), "{error}: {refusals}");
        let ended = run(&keeper, site.shell("after", "true"));
        assert_eq!(ended, plain(How::Exited(0), b"", &ended), "{error}");
    }
}

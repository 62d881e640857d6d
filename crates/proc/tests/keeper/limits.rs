//! Limits of time and of resources.

use crate::site::{Site, end, plain, run};
use std::time::Duration;
use waypost_proc::{Ended, How, Limits, Report};

const SHORT: Option<Duration> = Some(Duration::from_millis(150));

#[test]
fn serial_a_limit_that_is_reached_ends_the_whole_tree() {
    let site = Site::new();
    let keeper = site.keeper();
    let table = [
        (Limits { time: SHORT, ..Limits::default() }, How::TimedOut),
        (Limits { stall: SHORT, ..Limits::default() }, How::Stalled),
    ];
    for (number, (limits, how)) in table.into_iter().enumerate() {
        let mut spec = site.chaos(&format!("T{number}"), &["tree"]);
        spec.limits = Limits { grace: Duration::from_millis(100), ..limits };
        let ended = run(&keeper, spec);
        assert_eq!(ended, Ended { forced: true, ..plain(how, &ended.tail, &ended) });
        site.assert_nothing_lives();
    }
}

#[test]
fn serial_one_that_keeps_talking_does_not_stall() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1", "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.05; done");
    spec.limits.stall = Some(Duration::from_millis(300));
    let ended = run(&keeper, spec);
    assert_eq!(ended, plain(How::Exited(0), b"1\n2\n3\n4\n5\n6\n7\n8\n", &ended));
}

#[test]
fn resource_limits_reach_the_child() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1", "sleep 0.05; ulimit -n; ulimit -u 2> /dev/null");
    spec.limits.open_files = Some(77);
    keeper.spawn(vec![spec]).unwrap();
    let ended = end(&keeper, "T1");
    assert!(ended.tail.starts_with(b"77\n"), "{ended:?}");
}

#[test]
fn a_child_gets_the_file_limit_of_the_engine_not_of_the_keeper() {
    let site = Site::new();
    let script = r#"ulimit -S -n 200; exec "$0" "$@""#;
    let program = crate::site::words(&["sh", "-c", script, crate::site::CHAOS, "keeper"]);
    let keeper = waypost_proc::Keeper::start(&site.keepers(), &program).unwrap();
    let ended = run(&keeper, site.shell("T1", "sleep 0.05; ulimit -S -n"));
    assert_eq!(ended, plain(How::Exited(0), b"200\n", &ended));
    // More children than 200 files would do for.
    let specs = (0..90).map(|n| site.chaos(&format!("C{n}"), &["stay"])).collect();
    keeper.spawn(specs).unwrap();
    let started = crate::site::reports(&keeper, 90);
    assert!(started.iter().all(|report| matches!(report, Report::Started { .. })));
    for n in 0..90 {
        keeper.stop(&format!("C{n}"), waypost_proc::Stop::Asked).unwrap();
    }
    let ended = crate::site::reports(&keeper, 90);
    assert!(ended.iter().all(|report| matches!(report, Report::Ended { .. })));
    site.assert_nothing_lives();
}

//! Whole trees: stopped, paused, left behind.

use crate::site::{CHAOS, Site, end, plain, reports, run, until, words};
use std::{fs, time::Duration};
use waypost_proc::{Ended, How, Limits, Program, Stop};

fn stopped(how: How, forced: bool, ended: &Ended) -> Ended {
    Ended { forced, ..plain(how, &ended.tail, ended) }
}

#[test]
fn serial_one_that_ignores_every_signal_is_killed_after_its_grace() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![site.chaos("deaf", &["deaf"]), site.chaos("tame", &["stay"])]).unwrap();
    site.wait_for_up("deaf", 1);
    site.wait_for_up("tame", 1);
    keeper.stop("tame", Stop::Asked).unwrap();
    let ended = end(&keeper, "tame");
    assert_eq!(ended, stopped(How::Stopped, false, &ended));
    keeper.stop("deaf", Stop::Asked).unwrap();
    let ended = end(&keeper, "deaf");
    assert_eq!(ended, stopped(How::Stopped, true, &ended));
    site.assert_nothing_lives();
}

#[test]
fn serial_nothing_of_a_tree_survives_a_stop() {
    let site = Site::new();
    let keeper = site.keeper();
    // Another child that was there before, so that not everything is the tree's by default.
    keeper.spawn(vec![site.shell("other", "exec sleep 1000")]).unwrap();
    reports(&keeper, 1);
    keeper.spawn(vec![site.chaos("tree", &["tree"])]).unwrap();
    site.wait_for_up("tree", 5);
    assert_eq!(site.alive().len(), 5);
    keeper.stop("tree", Stop::Asked).unwrap();
    let ended = end(&keeper, "tree");
    assert_eq!(ended, stopped(How::Stopped, true, &ended));
    site.assert_nothing_lives();
    keeper.stop("other", Stop::Asked).unwrap();
    assert_eq!(end(&keeper, "other").how, How::Stopped);
}

#[test]
fn serial_one_that_could_be_anybodys_goes_when_it_can_be_nobodys() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![site.shell("other", "exec sleep 1000")]).unwrap();
    reports(&keeper, 1);
    // Its parent is gone before the keeper looks, and so are its session and its environment.
    let script = format!("(setsid env -i {CHAOS} deaf {} &) ; exec sleep 1000", site.token);
    keeper.spawn(vec![site.shell("wiper", &script)]).unwrap();
    site.wait_for_up("wiper", 1);
    keeper.stop("wiper", Stop::Asked).unwrap();
    assert_eq!(end(&keeper, "wiper").how, How::Stopped);
    keeper.stop("other", Stop::Asked).unwrap();
    assert_eq!(end(&keeper, "other").how, How::Stopped);
    until(|| site.alive().is_empty());
    keeper.close().unwrap();
}

#[test]
fn serial_the_only_childs_tree_is_gone_when_its_end_is_told() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![site.chaos("tree", &["tree"])]).unwrap();
    site.wait_for_up("tree", 5);
    keeper.stop("tree", Stop::Asked).unwrap();
    end(&keeper, "tree");
    site.assert_nothing_lives();
}

#[test]
fn serial_a_bomb_is_put_out() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![site.chaos("bomb", &["bomb", "150"])]).unwrap();
    reports(&keeper, 1);
    // In the middle of it.
    until(|| site.text("bomb").len() > 30);
    keeper.stop("bomb", Stop::Asked).unwrap();
    end(&keeper, "bomb");
    site.assert_nothing_lives();
    let ended = run(&keeper, site.shell("after", "true"));
    assert_eq!(ended, plain(How::Exited(0), b"", &ended));
}

#[test]
fn serial_what_a_child_leaves_behind_is_ended_and_counted() {
    let site = Site::new();
    let keeper = site.keeper();
    for (deed, tail, forced) in [("leave", &b"up\n"[..], false), ("leave-silent", b"", true)] {
        let ended = run(&keeper, site.chaos(deed, &[deed]));
        let want = Ended { left: 1, forced, ..plain(How::Exited(0), tail, &ended) };
        assert_eq!(ended, want);
        site.assert_nothing_lives();
    }
}

#[test]
fn serial_what_ends_soon_by_itself_is_waited_for() {
    let site = Site::new();
    let keeper = site.keeper();
    let ended = run(&keeper, site.shell("T1", "(sleep 0.1; echo last) & echo first"));
    assert_eq!(ended, plain(How::Exited(0), b"first\nlast\n", &ended));
    let silent = "(sleep 0.1; touch done) > /dev/null 2>&1 &";
    let ended = run(&keeper, site.shell("T2", silent));
    assert_eq!(ended, plain(How::Exited(0), b"", &ended));
    assert!(site.folder.path().join("done").exists());
}

#[test]
fn serial_a_paused_tree_stands_still_and_goes_on() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.chaos("tree", &["tree"]);
    // A pause counts for no limit: these would both be over long before the end of this test.
    spec.limits = Limits { time: Some(Duration::from_secs(600)), ..spec.limits };
    keeper.spawn(vec![spec]).unwrap();
    site.wait_for_up("tree", 5);
    for _ in 0..2 {
        keeper.pause("tree").unwrap();
        until(|| site.states() == ['T'; 5]);
        keeper.resume("tree").unwrap();
        until(|| !site.states().contains(&'T'));
    }
    keeper.pause("tree").unwrap();
    until(|| site.states() == ['T'; 5]);
    keeper.stop("tree", Stop::Asked).unwrap();
    end(&keeper, "tree");
    site.assert_nothing_lives();
}

#[test]
fn serial_a_pause_stops_the_clock() {
    let site = Site::new();
    let keeper = site.keeper();
    let script = "echo a; read x < gate; echo b; exit 4";
    run(&keeper, site.spec("fifo", Program::Argv(words(&["mkfifo", "gate"]))));
    let mut spec = site.shell("held", script);
    spec.limits.stall = Some(Duration::from_millis(400));
    keeper.spawn(vec![spec]).unwrap();
    until(|| site.text("held") == "a\n");
    keeper.pause("held").unwrap();
    // Others come and go for longer than the limit.
    for number in 0..6 {
        run(&keeper, site.shell(&format!("other{number}"), "sleep 0.1"));
    }
    keeper.resume("held").unwrap();
    drop(fs::OpenOptions::new().write(true).open(site.folder.path().join("gate")).unwrap());
    let ended = end(&keeper, "held");
    assert_eq!(ended, plain(How::Exited(4), b"a\nb\n", &ended));
}

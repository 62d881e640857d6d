//! What a child may do without an engine, and keepers whose folder is gone.

use crate::site::{Site, end, plain, until};
use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    time::Duration,
};
use waypost_proc::{
    Dead, Ended, Found, How, Identity, Keeper, Lease, Limits, Report, Spec, Talk, find,
};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(3_600);

fn lease(span: Duration) -> Lease {
    Lease { span, is_tied: false, time: None, stall: None }
}

/// A tree of processes that is hard to end, with a lease.
fn leased(site: &Site, id: &str, lease: Lease) -> Spec {
    let mut spec = site.chaos(id, &["tree"]);
    let grace = Duration::from_millis(100);
    spec.limits = Limits { grace, lease: Some(lease), ..Limits::default() };
    spec
}

/// Waits until the keeper has ended by itself, and says what it left.
fn dead(site: &Site, keeper: Identity) -> Dead {
    until(|| !keeper.is_alive());
    match find(&site.keepers()).unwrap().pop() {
        Some(Found::Dead(dead)) => dead,
        other => panic!("{other:?}"),
    }
}

/// How the child ended, by what a dead keeper wrote down.
fn told(dead: &Dead) -> Ended {
    let ended = dead.reports.iter().find_map(|report| match report {
        Report::Ended { ended, .. } => Some(ended.clone()),
        _ => None,
    });
    ended.unwrap()
}

fn lapsed(ended: &Ended) -> Ended {
    Ended { forced: true, lapsed: true, ..plain(How::Stopped, &ended.tail, ended) }
}

/// What becomes of a tree with this lease whose engine goes away as soon as it is up.
fn alone(lease: Lease) -> Ended {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![leased(&site, "T1", self::lease(LONG))]).unwrap();
    site.wait_for_up("T1", 5);
    keeper.renew("T1", lease).unwrap();
    let process = keeper.process().unwrap();
    drop(keeper);
    let dead = dead(&site, process);
    site.assert_nothing_lives();
    told(&dead)
}

#[test]
fn serial_a_lease_that_no_engine_renews_ends_the_whole_tree() {
    for lease in [lease(SHORT), Lease { is_tied: true, ..lease(LONG) }] {
        let ended = alone(lease);
        assert_eq!(ended, lapsed(&ended), "{lease:?}");
    }
}

#[test]
fn serial_limits_of_a_lease_hold_without_an_engine() {
    for (lease, how) in [
        (Lease { time: Some(SHORT), ..lease(LONG) }, How::TimedOut),
        (Lease { stall: Some(SHORT), ..lease(LONG) }, How::Stalled),
    ] {
        let ended = alone(lease);
        assert_eq!(ended, Ended { forced: true, ..plain(how, &ended.tail, &ended) });
    }
}

#[test]
fn serial_an_engine_that_is_there_and_says_nothing_does_not_renew() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![leased(&site, "T1", lease(SHORT))]).unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, lapsed(&ended));
    site.assert_nothing_lives();
}

#[test]
fn serial_what_is_said_after_a_stop_is_told_apart() {
    let site = Site::new();
    let keeper = site.keeper();
    let text = "trap 'echo two; exit 0' TERM; echo one; while :; do sleep 0.01; done";
    let mut spec = site.shell("T1", text);
    let stream = site.folder.path().join("stream");
    let (opening, is_all) = (Vec::new(), false);
    spec.talk = Some(Talk { stream: stream.clone(), stream_size: 1 << 20, opening, is_all });
    spec.limits.lease = Some(lease(LONG));
    keeper.spawn(vec![spec]).unwrap();
    until(|| fs::read(&stream).is_ok_and(|said| said == b"one\n"));
    keeper.renew("T1", lease(SHORT)).unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!((ended.how, ended.lapsed, ended.stopped_at), (How::Stopped, true, Some(4)));
    assert_eq!(fs::read(&stream).unwrap(), b"one\ntwo\n");
}

#[test]
fn serial_a_renewal_takes_the_place_of_all_before() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1", "sleep 2; exit 3");
    let second = Some(Duration::from_secs(1));
    let short = Lease { time: second, stall: second, ..lease(Duration::from_secs(1)) };
    spec.limits.lease = Some(short);
    keeper.spawn(vec![spec]).unwrap();
    keeper.renew("T1", lease(LONG)).unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, plain(How::Exited(3), b"", &ended));
    // One that has ended, or was never there, is nothing to renew.
    keeper.renew("T1", lease(LONG)).unwrap();
    keeper.renew("never", lease(LONG)).unwrap();
    keeper.close().unwrap();
}

#[test]
fn serial_what_is_tied_to_an_engine_goes_on_with_the_next_one() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1", "echo up; while [ ! -e go ]; do sleep 0.01; done; exit 3");
    spec.limits.lease = Some(Lease { is_tied: true, ..lease(LONG) });
    keeper.spawn(vec![spec]).unwrap();
    site.wait_for_up("T1", 1);
    let Some(Found::Alive(next)) = find(&site.keepers()).unwrap().pop() else { panic!() };
    drop(keeper);
    fs::create_dir(site.folder.path().join("go")).unwrap();
    let ended = end(&next, "T1");
    assert_eq!(ended, plain(How::Exited(3), b"up\n", &ended));
}

/// An engine of the version that knew no leases.
fn earlier_engine(site: &Site, keeper: &Keeper) -> UnixStream {
    let mut engine =
        UnixStream::connect(site.keepers().join(keeper.id()).join("keeper.sock")).unwrap();
    engine.write_all(b"{\"hello\":{\"version\":2,\"from\":0,\"nudges\":true}}\n").unwrap();
    engine.read_exact(&mut [0; 10]).unwrap();
    engine
}

#[test]
fn serial_with_an_engine_that_knows_no_leases_there_are_none() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1", "echo up; sleep 2; exit 3");
    let second = Duration::from_secs(1);
    spec.limits.lease = Some(Lease { is_tied: true, stall: Some(second), ..lease(second) });
    keeper.spawn(vec![spec]).unwrap();
    site.wait_for_up("T1", 1);
    let process = keeper.process().unwrap();
    let engine = earlier_engine(&site, &keeper);
    drop((keeper, engine));
    let dead = dead(&site, process);
    let ended = told(&dead);
    assert_eq!(ended, plain(How::Exited(3), b"up\n", &ended));
}

#[test]
fn serial_a_keeper_whose_folder_is_gone_ends_its_tree_and_itself() {
    for has_engine in [true, false] {
        let site = Site::new();
        let keeper = site.keeper();
        let mut spec = site.chaos("T1", &["tree"]);
        spec.limits.grace = Duration::from_millis(100);
        keeper.spawn(vec![spec]).unwrap();
        site.wait_for_up("T1", 5);
        let process = keeper.process().unwrap();
        let engine = has_engine.then_some(keeper);
        fs::remove_dir_all(site.keepers()).unwrap();
        until(|| !process.is_alive());
        site.assert_nothing_lives();
        drop(engine);
    }
}

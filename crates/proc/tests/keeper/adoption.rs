//! Engines and keepers that are killed, and what the next engine finds.

use crate::site::{CHAOS, Site, end, plain, reports, reports_at_least, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::{net::UnixListener, process::CommandExt as _},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use waypost_proc::{Dead, Found, How, Identity, Keeper, ProcError, Report, Stop, find};

const GRACE: Duration = Duration::from_millis(200);

/// An engine with two running children and one that waits.
#[expect(clippy::disallowed_methods, reason = "the engine of this test is a process of its own")]
fn engine(site: &Site) -> Child {
    let mut command = Command::new(CHAOS);
    command.arg("engine").arg(site.folder.path()).arg(&site.token);
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(process.cast_signed()).unwrap()
}

fn the_only(site: &Site) -> Found {
    let mut found = find(&site.keepers()).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn alive(site: &Site) -> Keeper {
    match the_only(site) {
        Found::Alive(keeper) => keeper,
        other => panic!("{other:?}"),
    }
}

fn dead(site: &Site) -> Dead {
    match the_only(site) {
        Found::Dead(dead) => dead,
        other => panic!("{other:?}"),
    }
}

fn up(site: &Site) {
    let log = site.folder.path().join("long.log");
    until(|| fs::read_to_string(&log).is_ok_and(|text| text.matches("up\n").count() == 5));
}

fn ids(told: &[Report]) -> Vec<String> {
    let word = |report: &Report| match report {
        Report::Started { id, .. } => format!("{id} started"),
        Report::Ended { id, ended } => format!("{id} ended {:?}", ended.how),
        Report::Refused { id, why } => format!("{id} refused {why:?}"),
    };
    told.iter().map(word).collect()
}

#[test]
fn serial_children_outlive_their_engine_and_are_adopted() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
        let site = Site::new();
        let mut engine = engine(&site);
        up(&site);
        // To the whole group, as a terminal does it.
        kill_process_group(pid(engine.id()), signal).unwrap();
        engine.wait().unwrap();
        // One ends while no engine listens.
        fs::File::create(site.folder.path().join("gate")).unwrap();
        let spool = fs::read_dir(site.keepers()).unwrap().next().unwrap().unwrap().path();
        until(|| fs::read_to_string(spool.join("spool")).unwrap().contains("\"ended\""));

        let keeper = alive(&site);
        let told = keeper.next(Duration::ZERO).unwrap();
        let want =
            ["short started", "long started", "late refused Withdrawn", "short ended Exited(7)"];
        assert_eq!(ids(&told), want, "{signal:?}");
        keeper.stop("long", Stop::Asked).unwrap();
        assert_eq!(end(&keeper, "long").how, How::Stopped);
        assert_eq!(site.alive(), Vec::<u32>::new());
        let process = keeper.process().unwrap();
        keeper.close().unwrap();
        assert!(!process.is_alive());
        assert!(find(&site.keepers()).unwrap().is_empty());
    }
}

#[test]
fn serial_what_a_dead_keeper_left_is_found_and_ended() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![site.shell("done", "echo text")]).unwrap();
    let done = end(&keeper, "done");
    assert_eq!(done, plain(How::Exited(0), b"text\n", &done));
    keeper.spawn(vec![site.chaos("deaf", &["deaf"]), site.chaos("two", &["session"])]).unwrap();
    let begun = reports(&keeper, 2);
    site.wait_for_up("deaf", 1);
    site.wait_for_up("two", 1);
    kill_process(pid(keeper.process().unwrap().pid), Signal::KILL).unwrap();
    let error = loop {
        match keeper.next(Duration::from_secs(60)) {
            Ok(told) => assert_eq!(told, []),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ProcError::Gone { .. }), "{error:?}");

    let dead = dead(&site);
    let want = ["done started", "done ended Exited(0)", "deaf started", "two started"];
    assert_eq!(ids(&dead.reports), want);
    assert_eq!(dead.reports[2..], begun);
    assert_eq!(site.alive().len(), 2);
    assert_eq!(dead.reap(GRACE).unwrap(), 2);
    site.assert_nothing_lives();
    assert_eq!(dead.reap(GRACE).unwrap(), 0);
    dead.remove().unwrap();
    assert!(find(&site.keepers()).unwrap().is_empty());
}

#[test]
fn serial_the_tree_of_a_child_that_wiped_its_environment_is_found_by_its_start() {
    let site = Site::new();
    let keeper = site.keeper();
    let text = format!("exec env -i {CHAOS} wiped {}", site.token);
    keeper.spawn(vec![site.shell("wiped", &text)]).unwrap();
    site.wait_for_up("wiped", 2);
    kill_process(pid(keeper.process().unwrap().pid), Signal::KILL).unwrap();
    until(|| keeper.process().is_none());
    assert_eq!(dead(&site).reap(GRACE).unwrap(), 2);
    site.assert_nothing_lives();
}

#[test]
fn a_keeper_that_ended_by_itself_has_left_its_reports() {
    let site = Site::new();
    let keeper = site.keeper();
    let process = keeper.process().unwrap();
    keeper.spawn(vec![site.shell("T1", "sleep 0.05; exit 5")]).unwrap();
    reports_at_least(&keeper, 1);
    drop(keeper);
    until(|| !process.is_alive());
    let dead = dead(&site);
    assert_eq!(ids(&dead.reports), ["T1 started", "T1 ended Exited(5)"]);
    assert_eq!(dead.reap(GRACE).unwrap(), 0);
}

#[test]
fn the_newest_engine_counts() {
    let site = Site::new();
    let first = site.keeper();
    first.set_slots(1).unwrap();
    first.spawn(vec![site.chaos("T1", &["stay"]), site.shell("T2", "true")]).unwrap();
    reports(&first, 1);
    let second = alive(&site);
    let told = second.next(Duration::from_secs(60)).unwrap();
    assert_eq!(ids(&told)[..1], ["T1 started"]);
    assert!(matches!(first.next(Duration::from_secs(60)), Err(ProcError::Gone { .. })));
    second.spawn(vec![site.shell("T2", "true")]).unwrap();
    second.stop("T1", Stop::Asked).unwrap();
    end(&second, "T1");
    site.assert_nothing_lives();
}

#[test]
fn a_keeper_of_another_version_is_told_apart() {
    let site = Site::new();
    let id = "keeper_0123456789abcdef0123456789abcdef";
    let folder = site.keepers().join(id);
    fs::create_dir_all(&folder).unwrap();
    // One that holds its lock, and answers every client in words of its own time.
    let lock = fs::File::create(folder.join("keeper.lock")).unwrap();
    lock.lock().unwrap();
    let listener = UnixListener::bind(folder.join("keeper.sock")).unwrap();
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"{\"version\":99,\"spool\":0,\"mood\":\"fine\"}\n").unwrap();
            let mut line = Vec::new();
            drop(stream.read_to_end(&mut line));
        });
        find(&site.keepers()).unwrap()
    });
    assert!(
        matches!(&found[..], [Found::Foreign { id: found, version: 99 }] if found == id),
        "{found:?}"
    );
}

#[test]
fn nobody_else_is_taken_for_a_leftover() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![site.shell("T1", "true")]).unwrap();
    let told = reports(&keeper, 2);
    let Report::Started { pid: started, .. } = told[0] else { panic!("{told:?}") };
    let process = keeper.process().unwrap();
    drop(keeper);
    until(|| !process.is_alive());
    // The spool says that a child of this test's own number and another start was begun.
    let folder = fs::read_dir(site.keepers()).unwrap().next().unwrap().unwrap().path();
    let own = Identity::of(std::process::id()).unwrap();
    let text = fs::read_to_string(folder.join("spool")).unwrap();
    let forged = text.replace(&format!("\"pid\":{started}"), &format!("\"pid\":{}", own.pid));
    assert_ne!(forged, text);
    fs::File::create(folder.join("spool")).unwrap().write_all(forged.as_bytes()).unwrap();
    let dead = dead(&site);
    assert_eq!(dead.reports.len(), 2);
    assert_eq!(dead.reap(GRACE).unwrap(), 0);
}

//! Children that behave: started, told, ended.

use crate::site::{CHAOS, Site, end, plain, reports, run, until, words};
use std::{fs, process::Command};
use waypost_proc::{How, Keeper, ProcError, Program, Refusal, Report, Stop};

#[test]
fn an_end_is_told_with_its_code_and_its_output() {
    let site = Site::new();
    let keeper = site.keeper();
    let table = [
        ("true", How::Exited(0), ""),
        ("exit 3", How::Exited(3), ""),
        ("echo out; echo err >&2; exit 1", How::Exited(1), "out\nerr\n"),
        ("kill -9 $$", How::Signalled(9), ""),
        ("basename a/b/c", How::Exited(0), "c\n"),
        ("no-such-program x", How::Exited(127), "sh: 1: no-such-program: not found\n"),
    ];
    for (number, (text, how, output)) in table.into_iter().enumerate() {
        let id = format!("T{number}");
        let ended = run(&keeper, site.shell(&id, text));
        assert_eq!(ended, plain(how, output.as_bytes(), &ended), "{text}");
        assert_eq!(site.text(&id), output, "{text}");
        assert_eq!(site.log(&id).exists(), !output.is_empty(), "{text}");
    }
    keeper.close().unwrap();
    assert_eq!(fs::read_dir(site.keepers()).unwrap().count(), 0);
}

#[test]
fn a_script_that_does_not_say_by_what_is_run_by_the_shell() {
    let site = Site::new();
    let script = site.folder.path().join("script");
    let text = format!("printf 'echo $0 $1' > {0}; chmod +x {0}", script.display());
    let keeper = site.keeper();
    run(&keeper, site.shell("make", &text));
    let ended = run(&keeper, site.shell("run", "./script word"));
    assert_eq!(ended, plain(How::Exited(0), b"./script word\n", &ended));
}

#[test]
fn a_child_has_what_it_was_given_and_nothing_else() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.shell("T1#2", "env | sort; ls /proc/self/fd | wc -l; pwd; cat");
    spec.environment.push(("NAME".into(), "한 = 글".into()));
    let path = spec.environment[0].1.clone();
    let ended = run(&keeper, spec);
    let folder = site.folder.path().canonicalize().unwrap();
    let want = format!(
        "NAME=한 = 글\nPATH={path}\nPWD={0}\nWAYPOST_CHILD=T1#2\nWAYPOST_KEEPER={1}\n{2}{0}\n",
        folder.display(),
        keeper.id(),
        files_of_a_bare_child(),
    );
    assert_eq!(String::from_utf8(ended.tail).unwrap(), want);
}

/// The process that runs the tests may have left files open for all children; the keeper adds none.
#[expect(clippy::disallowed_methods, reason = "a child without a keeper, to compare with")]
fn files_of_a_bare_child() -> String {
    let mut command = Command::new("sh");
    let output = command.args(["-c", "ls /proc/self/fd | wc -l"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_keeper_that_is_killed_before_it_answers_is_started_again() {
    let site = Site::new();
    let tries = site.folder.path().join("tries");
    let keeper = |deaths: usize| {
        let script = format!(
            "echo >> {0}; test $(wc -l < {0}) -gt {deaths} || kill -9 $$; exec {CHAOS} keeper \"$0\"",
            tries.display()
        );
        let _first = fs::remove_file(&tries);
        Keeper::start(&site.keepers(), &words(&["sh", "-c", &script]))
    };
    let ended = run(&keeper(2).unwrap(), site.shell("one", "true"));
    assert_eq!(ended.how, How::Exited(0));
    let error = keeper(9).unwrap_err();
    assert!(matches!(error, ProcError::Gone { .. }), "{error}");
    assert_eq!(fs::read_to_string(&tries).unwrap().len(), 3);
}

#[test]
fn what_cannot_be_started_is_refused_for_good() {
    let site = Site::new();
    let keeper = site.keeper();
    let argv = |id: &str, list: &[&str]| site.spec(id, Program::Argv(words(list)));
    let mut nowhere = site.shell("nowhere", "true");
    nowhere.folder = "/no/such/folder".into();
    let mut relative = site.shell("relative", "true");
    relative.folder = "folder".into();
    let specs = vec![
        argv("none", &[]),
        argv("unknown", &["no-such-program"]),
        argv("absent", &["./absent"]),
        argv("folder", &["/"]),
        nowhere,
        relative,
    ];
    keeper.spawn(specs).unwrap();
    let refused: Vec<(String, String)> = reports(&keeper, 6)
        .into_iter()
        .map(|report| match report {
            Report::Refused { id, why: Refusal::Impossible { detail } } => (id, detail),
            other => panic!("{other:?}"),
        })
        .collect();
    let refused: Vec<String> = refused.iter().map(|(id, why)| format!("{id}: {why}")).collect();
    assert_eq!(
        refused,
        [
            "none: no program is given",
            "unknown: there is no program no-such-program",
            "absent: cannot start ./absent: there is no such file",
            "folder: cannot start /: it is a folder",
            "nowhere: there is no folder /no/such/folder",
            "relative: folder is not absolute",
        ]
    );
}

#[test]
fn no_more_than_the_slots_run_at_once_and_in_order() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.set_slots(2).unwrap();
    let script = "echo + >> seen; sleep 0.01; echo - >> seen";
    keeper.spawn((0..10).map(|n| site.shell(&format!("T{n}"), script)).collect()).unwrap();
    let told = reports(&keeper, 20);
    let started: Vec<&str> = told
        .iter()
        .filter(|report| matches!(report, Report::Started { .. }))
        .map(Report::id)
        .collect();
    assert_eq!(started, ["T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9"]);
    let seen = fs::read_to_string(site.folder.path().join("seen")).unwrap();
    let mut running = 0;
    for line in seen.lines() {
        running += if line == "+" { 1 } else { -1 };
        assert!((0..=2).contains(&running), "{seen}");
    }
}

#[test]
fn a_request_that_comes_twice_starts_one_child() {
    let site = Site::new();
    let keeper = site.keeper();
    let spec = site.chaos("T1", &["stay"]);
    keeper.spawn(vec![spec.clone(), spec.clone()]).unwrap();
    keeper.spawn(vec![spec]).unwrap();
    site.wait_for_up("T1", 1);
    assert_eq!(site.alive().len(), 1);
    keeper.stop("T1", Stop::Asked).unwrap();
    keeper.stop("T1", Stop::Asked).unwrap();
    assert_eq!(end(&keeper, "T1").how, How::Stopped);
    keeper.stop("T1", Stop::Asked).unwrap();
    keeper.stop("never", Stop::Asked).unwrap();
    let ended = run(&keeper, site.shell("T2", "true"));
    assert_eq!(ended, plain(How::Exited(0), b"", &ended));
}

#[test]
fn one_that_waits_for_its_turn_can_be_withdrawn() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.set_slots(1).unwrap();
    keeper.spawn(vec![site.chaos("first", &["stay"]), site.shell("second", "true")]).unwrap();
    keeper.stop("second", Stop::Asked).unwrap();
    let told = reports(&keeper, 2);
    let withdrawn = Report::Refused { id: "second".into(), why: Refusal::Withdrawn };
    assert!(told.contains(&withdrawn), "{told:?}");
    keeper.stop("first", Stop::Asked).unwrap();
    assert_eq!(end(&keeper, "first").how, How::Stopped);
}

#[test]
fn a_program_that_is_no_keeper_is_an_error_that_says_so() {
    let site = Site::new();
    let check = |program: &[&str], want: &str| {
        let error = Keeper::start(&site.keepers(), &words(program)).unwrap_err();
        let ProcError::Start { detail, .. } = error else { panic!("{error:?}") };
        assert_eq!(detail, want);
    };
    check(&[], "no program is given");
    check(&["/no/such"], "No such file or directory (os error 2)");
    check(&[CHAOS, "exit", "3"], "it ended with exit status: 3");
    check(&["sh", "-c", "echo broken >&2; exit 1"], "broken");
    assert_eq!(fs::read_dir(site.keepers()).unwrap().count(), 0);
}

#[test]
fn a_keeper_that_no_engine_needs_ends_by_itself() {
    let site = Site::new();
    let keeper = site.keeper();
    let process = keeper.process().unwrap();
    keeper.spawn(vec![site.chaos("T1", &["exit", "0"])]).unwrap();
    drop(keeper);
    until(|| !process.is_alive());
    site.assert_nothing_lives();
}

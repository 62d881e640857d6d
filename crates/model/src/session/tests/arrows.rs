//! The seed's phases: every arrow, and that no other exists.

use super::{
    apart::{APART, all_joined, task_done},
    *,
};
use crate::document::{SessionTaskId, session::GlobalPhase};
use std::collections::BTreeSet;

/// Everything that can be given to a request.
fn every_line() -> Vec<String> {
    let mut lines: Vec<String> =
        ["start", "request list", "instead list", "goon", "stop", "complete"]
            .map(str::to_owned)
            .into();
    lines.extend(
        ["plan q h", "plan q w", "plan q h more", "plan p h", "design T1 z", "design T2 z"]
            .map(str::to_owned),
    );
    lines.extend(["resume", "resume plan", "resume T1", "resume T1-S1"].map(str::to_owned));
    for subtask in ["T1-S1", "T1-S2", "T2-S1"] {
        for gate in 1..=4 {
            for word in
                ["ok", "bad", "open", "implementation_error", "design_violation", "test_error"]
            {
                lines.push(format!("judge {subtask} {gate} {word} w y"));
            }
            lines.push(format!("person: override {subtask} {gate} why"));
            lines.push(format!("person: retry gate/{subtask}/GATE-{gate}"));
        }
    }
    lines
}

/// The same in every state of a request.
fn every_move() -> Vec<(Walk, Walk)> {
    let held =
        |gate: &str| format!("judge T1-S1 {gate} a; judge T1-S1 {gate} b; judge T1-S1 {gate} c");
    let verified = |word: &str| {
        let again = |n: u32| {
            format!("judge T1-S1 3 ok v{n}; judge T1-S1 4 ok v{n}; judge T1-S1 2 {word} v{n} r")
        };
        (1..=4).map(again).collect::<Vec<_>>().join("; ")
    };
    let states = [
        String::new(),
        REQUESTED.to_owned(),
        PLANNED.to_owned(),
        TEST_FIRST.to_owned(),
        format!("{TEST_FIRST}; {}", held("1 bad")),
        IMPLEMENTATION.to_owned(),
        format!("{IMPLEMENTATION}; judge T1-S1 3 ok w"),
        format!("{IMPLEMENTATION}; {}", held("3 bad")),
        VERIFICATION.to_owned(),
        format!("{IMPLEMENTATION}; {}", verified("implementation_error")),
        format!("{IMPLEMENTATION}; judge T1-S1 4 bad a"),
        format!("{VERIFICATION}; judge T1-S1 2 ok w r"),
        format!("{VERIFICATION}; stop"),
        one_task_done(),
        whole(),
    ];
    moves_of(&states, &every_line())
}

/// T1 is completed, T2 in design.
fn one_task_done() -> String {
    format!("{TEST_FIRST}; {}; {}", subtask_done("T1-S1"), subtask_done("T1-S2"))
}

/// Each of these lines in each of these states.
fn moves_of(states: &[String], lines: &[String]) -> Vec<(Walk, Walk)> {
    let mut moves = Vec::new();
    for script in states {
        for line in lines {
            let before = Walk::of(script);
            let mut after = Walk::of(script);
            drop(after.give(line));
            moves.push((before, after));
        }
    }
    moves
}

#[test]
fn a_subtask_moves_along_the_arrows_of_its_phases_and_along_no_other() {
    let word = judging::phase_word;
    let mut found = BTreeSet::new();
    for (before, after) in every_move() {
        let (Some(was), Some(is)) = (before.session.request(), after.session.request()) else {
            continue;
        };
        for (id, subtask) in was.tasks.values().flat_map(|task| task.subtasks.iter()) {
            let Some(now) = is.subtask(id).filter(|_| was.id == is.id) else { continue };
            if now.phase != subtask.phase {
                found.insert((word(subtask.phase), word(now.phase)));
            }
        }
    }
    let picture = BTreeSet::from([
        ("test_first", "implementation"),
        ("implementation", "verification"),
        ("verification", "complete"),
        // By GATE-2, and by GATE-3 where files have changed since it held.
        ("verification", "implementation"),
        // By GATE-2 where the tests or the design are wrong, and by a contract that is missing.
        ("verification", "test_first"),
        // By way of a new design, and by a contract that is missing.
        ("implementation", "test_first"),
    ]);
    assert_eq!(found, picture);
}

#[test]
fn a_request_moves_along_the_arrows_of_its_phases_and_along_no_other() {
    let word = |phase: GlobalPhase| format!("{phase:?}");
    let mut found = BTreeSet::new();
    let mut walks = every_move();
    // The last step of a request is none of those.
    let last = whole();
    let (most, end) = last.rsplit_once(';').unwrap();
    let mut after = Walk::of(most);
    after.give(end.trim()).unwrap();
    walks.push((Walk::of(most), after));
    for (before, after) in walks {
        let (Some(was), Some(is)) = (before.session.request(), after.session.request()) else {
            continue;
        };
        if was.id == is.id && was.phase != is.phase {
            found.insert((word(was.phase), word(is.phase)));
        }
    }
    let arrow = |from: GlobalPhase, to: GlobalPhase| (word(from), word(to));
    let picture = BTreeSet::from([
        arrow(GlobalPhase::GlobalDiscovery, GlobalPhase::TaskLoop),
        arrow(GlobalPhase::TaskLoop, GlobalPhase::Complete),
        // A contract that the plan stands on is gone.
        arrow(GlobalPhase::TaskLoop, GlobalPhase::GlobalDiscovery),
    ]);
    assert_eq!(found, picture);
}

#[test]
fn a_task_is_pending_then_in_progress_then_completed_and_nothing_else() {
    let mut found = BTreeSet::new();
    let mut walks = every_move();
    walks.extend(every_move_of_trees());
    for (before, after) in walks {
        let (Some(was), Some(is)) = (before.session.request(), after.session.request()) else {
            continue;
        };
        for (id, task) in was.tasks.iter().filter(|_| was.id == is.id) {
            let Some(now) = is.tasks.get(id) else { continue };
            if now.status != task.status {
                found.insert(format!("{:?} {:?}", task.status, now.status));
            }
        }
    }
    assert_eq!(found, words(&["Pending InProgress", "InProgress Completed", "Completed Pending"]));
}

#[test]
fn a_completed_task_is_pending_again_by_a_plan_with_a_subtask_more_and_by_nothing_else() {
    let status = |walk: &Walk| {
        walk.request().tasks.get(&"T1".parse::<SessionTaskId>().unwrap()).map(|it| it.status)
    };
    let mut times = 0;
    for (before, after) in moves_of(&[one_task_done()], &every_line()) {
        assert_eq!(status(&before), Some(Status::Completed));
        let has_more = after.request().subtask(&"T1-S3".parse().unwrap()).is_some();
        assert_eq!(status(&after) == Some(Status::Pending), has_more);
        times += usize::from(has_more);
    }
    assert_eq!(times, 1);
}

fn words(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn a_session_and_its_request_are_stopped_resumed_and_completed_and_nothing_else() {
    let states = [
        "start".to_owned(),
        "start; stop".to_owned(),
        "start; complete".to_owned(),
        REQUESTED.to_owned(),
        format!("{REQUESTED}; stop"),
        VERIFICATION.to_owned(),
        format!("{VERIFICATION}; stop"),
        whole(),
        format!("{}; stop", whole()),
        format!("{}; complete", whole()),
    ];
    let mut moves = moves_of(&states, &every_line());
    moves.extend(every_move_of_trees());
    let (mut of_sessions, mut of_requests) = (BTreeSet::new(), BTreeSet::new());
    for (before, after) in &moves {
        let (was, is) = (&before.session, &after.session);
        if let (Some(was), Some(is)) = (was.facts(), is.facts()) {
            let which = if was.number == is.number { "the same" } else { "another" };
            if (was.number, was.status) != (is.number, is.status) {
                of_sessions.insert(format!("{:?} {:?} {which}", was.status, is.status));
            }
        }
        if let (Some(was), Some(is)) = (was.request(), is.request())
            && was.id == is.id
            && was.status != is.status
        {
            of_requests.insert(format!("{:?} {:?}", was.status, is.status));
        }
    }
    let picture = words(&[
        "Active Stopped the same",
        "Stopped Active the same",
        "Active Completed the same",
        // What is over stays over: after it another begins, and also beside what was stopped.
        "Completed Active another",
        "Stopped Active another",
    ]);
    assert_eq!(of_sessions, picture);
    let picture = words(&["Active Stopped", "Stopped Active", "Active Completed"]);
    assert_eq!(of_requests, picture);
}

#[test]
fn no_gate_is_passed_but_by_what_was_found_or_by_a_person() {
    for (before, after) in every_move() {
        let passes = |walk: &Walk| {
            let events = walk.journal.iter();
            events
                .filter(|(event, _)| {
                    matches!(event, Event::GatePassed { .. } | Event::GateOverridden { .. })
                })
                .count()
        };
        let passed = |walk: &Walk| {
            let tasks = walk.session.request().into_iter().flat_map(|it| it.tasks.values());
            let gates = tasks.flat_map(|task| task.subtasks.values()).flat_map(|it| {
                let gates = it.gates;
                [gates.tests_written, gates.tests_pass, gates.in_scope, gates.design_kept]
            });
            gates.filter(|it| *it == Some(crate::document::session::GateStatus::Passed)).count()
        };
        if passed(&after) > passed(&before) {
            assert!(passes(&after) > passes(&before));
        }
    }
}

/// What can be given to a request with work trees, and the states that it can be in.
fn every_move_of_trees() -> Vec<(Walk, Walk)> {
    let lines = "start; request list; instead list; apart main; apart other; plan q h; plan q w; goon; \
                 place T1 c; place T2 c; place T9 c; join T1 c; join T1 -; join T1 bad; join T2 c; join T2 bad; \
                 land c; land -; land bad; close; waypost: retry join/T1; waypost: retry join/T2; \
                 waypost: retry landing; retry landing; person: retry landing; design T1 z; design T2 z; \
                 resume; resume plan; resume T1; stop; complete; judge T2-S1 2 ok wT2-S1 r";
    let lines: Vec<String> = lines.split(';').map(|it| it.trim().to_owned()).collect();
    let two = format!("{}; join T1 j1; place T2 c2; design T2 e", task_done());
    let three = subtask_done("T2-S1");
    let states = [
        String::new(),
        "start".to_owned(),
        REQUESTED.to_owned(),
        PLANNED.to_owned(),
        TEST_FIRST.to_owned(),
        whole(),
        format!("{REQUESTED}; apart main"),
        APART.to_owned(),
        format!("{APART}; place T1 c"),
        format!("{APART}; place T1 c; design T1 d"),
        format!("{APART}; place T1 c; design T1 d; stop"),
        task_done(),
        format!("{}; stop", task_done()),
        format!("{}; join T1 bad", task_done()),
        format!("{}; join T1 j1", task_done()),
        two.clone(),
        format!("{two}; {three}"),
        format!("{two}; {three}; join T2 bad"),
        all_joined(),
        format!("{}; land bad", all_joined()),
        format!("{}; land c", all_joined()),
        format!("{}; land c; close", all_joined()),
    ];
    moves_of(&states, &lines)
}

/// How far the tree of a task is; `-`: it has none yet.
fn tree_of(walk: &Walk, task: &SessionTaskId) -> Option<&'static str> {
    let request = walk.session.request()?;
    request.trees.as_ref()?;
    let is_held = request.held(&Hold::Join { task: task.clone() }).is_some();
    Some(match request.tasks.get(task)?.tree.as_ref() {
        None => "-",
        Some(_) if is_held => "held",
        Some(tree) if tree.joined.is_none() => "placed",
        Some(_) => "joined",
    })
}

/// How far the trees of a request are.
fn trees_of(walk: &Walk) -> Option<&'static str> {
    let request = walk.session.request()?;
    Some(match &request.trees {
        None => "none",
        Some(trees) if trees.is_closed => "closed",
        Some(trees) if trees.landed.is_some() => "landed",
        Some(_) if request.held(&Hold::Landing).is_some() => "held",
        Some(_) => "apart",
    })
}

/// The arrows between what `state` says of a request before and after.
fn arrows_of(
    moves: &[(Walk, Walk)],
    state: impl Fn(&Walk) -> Option<&'static str>,
) -> BTreeSet<(&'static str, &'static str)> {
    let is_same = |(before, after): &&(Walk, Walk)| {
        let id = |walk: &Walk| walk.session.request().map(|it| it.id.clone());
        id(before).is_some() && id(before) == id(after)
    };
    let of = |(before, after): &(Walk, Walk)| Some((state(before)?, state(after)?));
    moves.iter().filter(is_same).filter_map(of).filter(|(was, is)| was != is).collect()
}

#[test]
fn work_trees_move_along_their_arrows_and_along_no_other() {
    let moves = every_move_of_trees();
    let of_task = BTreeSet::from([
        ("-", "placed"),
        ("placed", "joined"),
        ("placed", "held"),
        // What was in the way is gone.
        ("held", "placed"),
    ]);
    for task in ["T1", "T2"] {
        let id = task.parse().unwrap();
        assert_eq!(arrows_of(&moves, |walk| tree_of(walk, &id)), of_task, "{task}");
    }
    let of_request = BTreeSet::from([
        ("none", "apart"),
        ("apart", "landed"),
        ("apart", "held"),
        ("held", "apart"),
        ("landed", "closed"),
    ]);
    assert_eq!(arrows_of(&moves, trees_of), of_request);
}

#[test]
fn calls_move_along_their_arrows_and_along_no_other() {
    let names = ["explore", "plan", "brief/T1", "design/T1", "tests/T1-S1", "implement/T1-S1"];
    let more = ["verify/T1-S1", "confirm/T1-S1/GATE-3", "confirm/T1-S1/GATE-4"];
    for name in names.into_iter().chain(more) {
        let other = if name == "plan" { "explore" } else { "plan" };
        let fail = format!("failcall {name}");
        let failed = |script: &str, times: usize| {
            let all = [script].into_iter().chain(std::iter::repeat_n(fail.as_str(), times));
            all.collect::<Vec<_>>().join("; ")
        };
        let mut states = vec!["start".to_owned(), whole()];
        for script in [REQUESTED, PLANNED, TEST_FIRST, IMPLEMENTATION, VERIFICATION] {
            states.extend((0..=4).map(|times| failed(script, times)));
        }
        let lines = [
            fail.clone(),
            format!("endcall {name}"),
            format!("retry call/{name}"),
            format!("waypost: retry call/{name}"),
            format!("person: retry call/{name}"),
            format!("failcall {other}"),
            format!("endcall {other}"),
            "start".to_owned(),
            "goon".to_owned(),
            "resume".to_owned(),
            "relocate".to_owned(),
            "amend cart".to_owned(),
            "rename basket".to_owned(),
        ];
        let moves = moves_of(&states, &lines);
        let of = |walk: &Walk| {
            let request = walk.session.request()?;
            let is_held = request.held(&Hold::Call { call: call(name) }).is_some();
            Some(match request.call_clock(&call(name)).failures {
                _ if is_held => "held",
                0 => "well",
                _ => "failing",
            })
        };
        let picture = BTreeSet::from([
            ("well", "failing"),
            ("failing", "well"),
            ("failing", "held"),
            // By the call that comes to its end, or by a person.
            ("held", "well"),
        ]);
        assert_eq!(arrows_of(&moves, of), picture, "{name}");
        // Only a person lets go on what waits for one.
        for line in [format!("retry call/{name}"), format!("waypost: retry call/{name}")] {
            assert!(Walk::of(&failed(PLANNED, 4)).give(&line).is_err(), "{line}");
        }
    }
}

#[test]
fn a_project_is_elsewhere_by_relocate_alone_which_changes_nothing_else() {
    let path = |walk: &Walk| walk.session.facts().map(|facts| facts.project.path.clone());
    let held =
        format!("{IMPLEMENTATION}; judge T1-S1 3 bad a; judge T1-S1 3 bad b; judge T1-S1 3 bad c");
    let states = [
        "start".to_owned(),
        REQUESTED.to_owned(),
        VERIFICATION.to_owned(),
        held,
        format!("{VERIFICATION}; stop"),
        task_done(),
        format!("{}; join T1 bad", task_done()),
        format!("{}; land c", all_joined()),
        whole(),
        format!("{}; complete", whole()),
    ];
    for (before, after) in moves_of(&states, &["relocate".to_owned()]) {
        assert_eq!(path(&after).as_deref(), Some("/new/shop"));
        let mut same = after.session.clone();
        let (was, is) = (before.session.facts().unwrap(), same.facts.as_mut().unwrap());
        is.project = was.project.clone();
        is.updated_at = was.updated_at;
        assert_eq!(same, before.session);
        assert_eq!(after.inbox.open().len(), before.inbox.open().len());
    }
    assert!(Walk::new().give("relocate").is_err(), "there is no session");
    for (before, after) in every_move().into_iter().chain(every_move_of_trees()) {
        let is_same = path(&before).is_none() || path(&before) == path(&after);
        assert!(is_same, "{:?} {:?}", path(&before), path(&after));
    }
}

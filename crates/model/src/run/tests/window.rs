//! The run's state file: how it is read, and what an edit of it means.

use super::{
    Command, Mode, SEED_PLAN, Settings, TaskId, TaskStatus, Walk, agent, id, person, plain, plan,
    steps, summary,
};
use crate::document::Document as _;
use crate::{
    diagnostic::Severity,
    run::{RunState, translate},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The full example of the seed.
const SEED: &str = r#"{
  "version": "2.0",
  "mode": "ultra-thin",
  "project": "project-name",
  "execution": {
    "current_phase": 1,
    "worktree": "worktree/phase-1-feature-name",
    "started_at": "2026-01-21T09:00:00Z",
    "last_updated": "2026-01-21T10:30:00Z"
  },
  "tasks": {
    "pending": ["T1.5", "T1.6", "T1.7"],
    "ready": ["T1.3", "T1.4"],
    "in_progress": ["T1.3"],
    "completed": ["T0.5.1", "T1.1", "T1.2"],
    "failed": [],
    "blocked": []
  },
  "dependencies": {
    "T1.3": ["T1.1", "T1.2"],
    "T1.4": ["T1.1"],
    "T1.5": ["T1.3", "T1.4"],
    "T1.6": ["T1.3"],
    "T1.7": ["T1.5", "T1.6"]
  },
  "checkpoints": {
    "phase_0": {
      "completed_at": "2026-01-21T09:30:00Z",
      "tasks_count": 3,
      "tasks": ["T0.5.1", "T0.5.2", "T0.5.3"],
      "merged": true,
      "merge_commit": "abc1234"
    },
    "phase_1": {
      "started_at": "2026-01-21T09:35:00Z",
      "progress": "2/6"
    }
  },
  "metrics": {
    "total_tasks": 45,
    "completed_count": 5,
    "failed_count": 0,
    "average_task_time_seconds": 120
  },
  "config": {
    "max_parallel": 0,
    "retry_limit": 10,
    "slack_webhook_url": "https://hooks.slack.com/services/AAA/BBB/CCC"
  }
}"#;

fn load(text: &str) -> RunState {
    serde_json::from_str(text).unwrap()
}

/// The findings about a file: how bad, where, what.
fn findings(file: &RunState) -> Vec<(Severity, String, String)> {
    let found = file.check().into_iter();
    found.map(|each| (each.severity, each.path, each.message)).collect()
}

#[test]
fn the_seeds_example_loads_and_comes_back_as_it_was() {
    let file = load(SEED);
    let written: Value = serde_json::to_value(&file).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(SEED).unwrap());
}

#[test]
fn the_seeds_example_contradicts_itself_and_that_is_said() {
    let warning = |path: &str, message: &str| (Severity::Warning, path.into(), message.into());
    let merged = |name: &str| {
        format!("{name} was merged with phase_0 but is not in `completed`; read as completed")
    };
    // Five are completed once those of the merged phase count, as the example's metrics say.
    assert_eq!(
        findings(&load(SEED)),
        [
            warning(
                "tasks.ready[0]",
                "T1.3 is in `ready` and in `in_progress`; read as in_progress"
            ),
            warning("checkpoints.phase_0.tasks[1]", &merged("T0.5.2")),
            warning("checkpoints.phase_0.tasks[2]", &merged("T0.5.3")),
        ]
    );
    let settled: BTreeMap<TaskId, TaskStatus> = load(SEED).settled().into_iter().collect();
    let completed = ["T0.5.1", "T0.5.2", "T0.5.3", "T1.1", "T1.2"];
    let want = completed.map(|name| (id(name), TaskStatus::Completed));
    let want = want.into_iter().chain([(id("T1.3"), TaskStatus::InProgress)]);
    assert_eq!(settled, want.collect());
}

#[test]
fn the_seeds_example_is_adopted_as_it_is_meant() {
    let file = load(SEED);
    let of = |wanted: TaskStatus| {
        let settled = file.settled().into_iter();
        settled.filter(|(_, status)| *status == wanted).map(|(id, _)| id).collect()
    };
    let adopt = Command::Adopt {
        plan: file.to_plan().unwrap(),
        settings: file.settings(&Settings::default()),
        completed: of(TaskStatus::Completed),
        failed: of(TaskStatus::Failed),
        before: file.before(|stamp| stamp.to_time(|_| jiff::tz::Offset::UTC)),
    };
    let mut walk = Walk::default();
    walk.give(&adopt, &person()).unwrap();
    // What was in progress is not worked on any more.
    assert_eq!(
        walk.lists(),
        "pending: T1.5 T1.6 T1.7; ready: T1.3 T1.4; completed: T0.5.1 T1.1 T1.2 T0.5.2 T0.5.3"
    );
    assert_eq!(walk.phases(), "0 closed, 1 open");
    let shown = walk.active().render();
    let by_id = |file: &RunState| -> BTreeMap<TaskId, Vec<TaskId>> {
        file.dependencies.iter().map(|(id, ids)| (id.clone(), ids.clone())).collect()
    };
    assert_eq!((shown.mode, by_id(&shown)), (Some(Mode::UltraThin), by_id(&file)));
}

#[test]
fn contradictory_lists_are_settled_completed_first() {
    let lists = |completed: &str, failed: &str, in_progress: &str| {
        let text = SEED
            .replace(
                r#""completed": ["T0.5.1", "T1.1", "T1.2"]"#,
                &format!("\"completed\": [{completed}]"),
            )
            .replace(r#""failed": []"#, &format!("\"failed\": [{failed}]"))
            .replace(r#""in_progress": ["T1.3"]"#, &format!("\"in_progress\": [{in_progress}]"));
        load(&text).settled().get(&id("T1.4")).copied()
    };
    let (c, f, p) =
        (Some(TaskStatus::Completed), Some(TaskStatus::Failed), Some(TaskStatus::InProgress));
    let it = "\"T1.4\"";
    #[rustfmt::skip]
    let table = [
        (it, it, it, c), (it, it, "", c), (it, "", it, c), (it, "", "", c),
        ("", it, it, f), ("", it, "", f), ("", "", it, p), ("", "", "", None),
    ];
    for (completed, failed, in_progress, want) in table {
        assert_eq!(lists(completed, failed, in_progress), want);
    }
}

#[test]
fn only_a_phase_that_was_merged_whole_completes_its_tasks() {
    let settled = |from: &str, to: &str| {
        let file = load(&SEED.replace(from, to));
        file.settled().get(&id("T0.5.2")).copied()
    };
    assert_eq!(settled("", ""), Some(TaskStatus::Completed));
    assert_eq!(settled("\"merged\": true", "\"merged\": false"), None);
    assert_eq!(settled("\"completed_at\": \"2026-01-21T09:30:00Z\",", ""), None);
}

#[test]
fn counts_that_are_wrong_are_said_and_counted_again() {
    let file = load(&SEED.replace("\"completed_count\": 5", "\"completed_count\": 3"));
    let last = findings(&file).pop().unwrap();
    let message = "`completed_count` is 3, but 5 tasks are completed; counted again";
    assert_eq!(last, (Severity::Warning, "metrics.completed_count".into(), message.into()));
}

#[test]
fn the_mode_alone_decides_but_a_1_x_file_is_normal() {
    let settings = |version: &str, mode: &str| {
        let text = SEED.replace("\"2.0\"", version).replace("\"mode\": \"ultra-thin\",", mode);
        load(&text).settings(&Settings { max_parallel: 7, ..plain() })
    };
    let table = [
        ("\"2.0\"", "\"mode\": \"ralph\",", Mode::Ralph),
        ("\"2.0\"", "\"mode\": \"normal\",", Mode::Normal),
        ("\"2.0\"", "", Mode::UltraThin),
        ("\"1.4\"", "\"mode\": \"ultra-thin\",", Mode::Normal),
        ("\"1.0\"", "", Mode::Normal),
    ];
    for (version, mode, want) in table {
        let got = settings(version, mode);
        assert_eq!((got.mode, got.max_parallel, got.retry_limit), (want, 0, 10));
    }
    let old = load(&SEED.replace("\"2.0\"", "\"1.4\""));
    assert_eq!(findings(&old)[0].2, "version 1.4 is read as mode `normal`");
    let unknown = load(&SEED.replace("\"2.0\"", "\"3.0\""));
    assert_eq!(findings(&unknown)[0].0, Severity::Error);
}

#[test]
fn reading_is_strict() {
    let table = [
        ("\"mode\": \"ultra-thin\"", "\"mode\": \"fast\"", "unknown variant `fast`"),
        ("\"blocked\": []", "\"stuck\": []", "unknown field `stuck`"),
        (",\n    \"blocked\": []", "", "missing field `blocked`"),
        ("\"max_parallel\": 0", "\"max_parallel\": \"0\"", "expected u32"),
        ("\"T1.3\": [", "\"T1.4\": [", "duplicate key `T1.4`"),
        ("[\"T1.5\"", "[\"t1.5\"", "`t1.5` is not a task id"),
    ];
    for (from, to, want) in table {
        assert!(SEED.contains(from), "{from} is in the example");
        let error = serde_json::from_str::<RunState>(&SEED.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(want), "{from} → {to}: {error}");
    }
}

#[test]
fn a_new_run_shows_itself_as_the_seed_begins() {
    let walk = Walk::of("0: T0.1 -\n1: T1.1; T1.2 T0.1,T1.1", Settings::default(), "");
    insta::assert_snapshot!(serde_json::to_string_pretty(&walk.active().render()).unwrap());
}

/// The seed's graph with a task in each list: T1.1 is completed, T1.2 in progress, T1.4 failed.
fn walk() -> Walk {
    let phase_0 = ["T0.5.1", "T0.5.2", "T0.5.3"].map(|name| format!("start {name}; done {name}; "));
    let script = "start T1.1; done T1.1; start T1.2; start T1.4; fail T1.4 critical";
    Walk::of(SEED_PLAN, plain(), &(phase_0.concat() + script))
}

/// Moves tasks as `jq` would: out of every list, and into the named one.
fn moved(base: &RunState, moves: &[(&str, &str)]) -> RunState {
    let mut file = serde_json::to_value(base).unwrap();
    for (name, list) in moves {
        let lists = file["tasks"].as_object_mut().unwrap();
        for ids in lists.values_mut() {
            ids.as_array_mut().unwrap().retain(|id| id != name);
        }
        if let Some(ids) = lists.get_mut(*list) {
            ids.as_array_mut().unwrap().push(Value::from(*name));
        }
    }
    serde_json::from_value(file).unwrap()
}

/// A command of an edit in a word or two.
fn word(command: &Command) -> String {
    match command {
        Command::Satisfy { id } => format!("satisfy {id}"),
        Command::Skip { id } => format!("skip {id}"),
        Command::Retry { id } => format!("retry {id}"),
        Command::Start { id } => format!("start {id}"),
        Command::Fail { id, failure, .. } => format!("fail {id} {:?}", failure.class),
        Command::Configure { settings } => format!("configure {}", settings.mode.as_str()),
        other => format!("{other:?}"),
    }
}

/// What an edit means: commands, or every reason against it.
type Meaning<'a> = Result<&'a [&'a str], &'a [&'a str]>;

#[track_caller]
fn check(base: &RunState, edited: &RunState, want: Meaning<'_>) {
    let got = translate(base, edited, &plain())
        .map(|commands| commands.iter().map(word).collect::<Vec<_>>())
        .map_err(|refused| {
            refused
                .iter()
                .map(|it| format!("{}{}", it.message, steps(&it.next)))
                .collect::<Vec<_>>()
        });
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    assert_eq!(got, want.map(owned).map_err(owned));
}

#[test]
fn every_move_between_lists_has_a_meaning_or_a_reason_against_it() {
    let base = walk().active().render();
    let done = "tasks: T1.1 is completed and is not done again";
    let running = "tasks: T1.2 is in progress, and an edit does not give it up → fail_task T1.2";
    let failed = "tasks: T1.4 has failed; it is retried before it is started → retry_task T1.4";
    #[rustfmt::skip]
    let table: [(&str, &str, Meaning<'_>); 26] = [
        // What follows from the graph is computed again, wherever it stands.
        ("T1.3", "pending",     Ok(&[])),
        ("T1.3", "ready",       Ok(&[])),
        ("T1.3", "blocked",     Ok(&[])),
        ("T1.3", "nowhere",     Ok(&[])),
        ("T1.3", "in_progress", Ok(&["start T1.3"])),
        ("T1.3", "completed",   Ok(&["satisfy T1.3"])),
        ("T1.3", "failed",      Ok(&["skip T1.3"])),
        ("T1.7", "failed",      Ok(&["skip T1.7"])),
        ("T1.2", "pending",     Err(&[running])),
        ("T1.2", "ready",       Err(&[running])),
        ("T1.2", "blocked",     Err(&[running])),
        ("T1.2", "nowhere",     Err(&[running])),
        ("T1.2", "completed",   Ok(&["satisfy T1.2"])),
        ("T1.2", "failed",      Ok(&["fail T1.2 Critical"])),
        ("T1.1", "pending",     Err(&[done])),
        ("T1.1", "ready",       Err(&[done])),
        ("T1.1", "blocked",     Err(&[done])),
        ("T1.1", "nowhere",     Err(&[done])),
        ("T1.1", "in_progress", Err(&[done])),
        ("T1.1", "failed",      Err(&[done])),
        ("T1.4", "pending",     Ok(&["retry T1.4"])),
        ("T1.4", "ready",       Ok(&["retry T1.4"])),
        ("T1.4", "blocked",     Ok(&["retry T1.4"])),
        ("T1.4", "nowhere",     Ok(&["retry T1.4"])),
        ("T1.4", "in_progress", Err(&[failed])),
        // The seed's own edit.
        ("T1.4", "completed",   Ok(&["satisfy T1.4"])),
    ];
    for (name, list, want) in table {
        check(&base, &moved(&base, &[(name, list)]), want);
    }
}

#[test]
fn the_seeds_edit_works_for_a_person_only() {
    let base = walk().active().render();
    let edited = moved(&base, &[("T1.4", "completed")]);
    let commands = translate(&base, &edited, &plain()).unwrap();
    assert_eq!(
        summary(&walk().give(&commands[0], &agent())),
        "refused: counting a task as completed is reserved for a person at a terminal"
    );
    let mut walk = walk();
    assert_eq!(summary(&walk.give(&commands[0], &person())), "task_completed T1.4 (forced)");
    let shown = walk.active().render();
    assert_eq!((shown.metrics.completed_count, shown.metrics.failed_count), (5, 0));
    assert_eq!(
        walk.lists(),
        "pending: T1.3 T1.5 T1.6 T1.7; in_progress: T1.2; \
         completed: T0.5.1 T0.5.2 T0.5.3 T1.1 T1.4"
    );
}

#[test]
fn what_is_finished_comes_before_what_is_opened() {
    let base = walk().active().render();
    let moves =
        [("T1.3", "in_progress"), ("T1.4", "ready"), ("T1.6", "failed"), ("T1.2", "completed")];
    check(
        &base,
        &moved(&base, &moves),
        Ok(&["satisfy T1.2", "skip T1.6", "retry T1.4", "start T1.3"]),
    );
}

#[test]
fn a_task_in_two_lists_is_read_as_the_stronger_one() {
    let base = walk().active().render();
    let mut edited = base.clone();
    // Added to `completed` without taking it out of `failed`.
    edited.tasks.completed.push(id("T1.4"));
    check(&base, &edited, Ok(&["satisfy T1.4"]));
    let mut edited = base.clone();
    edited.tasks.in_progress.push(id("T1.4"));
    check(&base, &edited, Ok(&[]));
    let mut edited = base.clone();
    edited.tasks.failed.push(id("T1.1"));
    check(&base, &edited, Ok(&[]));
}

#[test]
fn what_is_computed_is_no_edit() {
    let base = walk().active().render();
    let mut edited = base.clone();
    edited.metrics.completed_count = 40;
    edited.execution.last_updated = "2030-01-01T00:00:00Z".parse().unwrap();
    edited.tasks.blocked.clear();
    check(&base, &edited, Ok(&[]));
}

#[test]
fn what_belongs_to_tasks_md_or_the_journal_is_not_edited() {
    let base = walk().active().render();
    type Edit = fn(&mut RunState);
    let table: [(Edit, &str); 7] = [
        (|file| file.project = "other".into(), "project: it is the name in TASKS.md"),
        (
            |file| file.execution.current_phase = 2,
            "execution.current_phase: it follows from the tasks",
        ),
        (
            |file| file.execution.worktree = Some("elsewhere".into()),
            "execution: started_at and worktree are what the journal says",
        ),
        (
            |file| file.execution.started_at = "2030-01-01T00:00:00Z".parse().unwrap(),
            "execution: started_at and worktree are what the journal says",
        ),
        (
            |file| {
                file.dependencies.insert(id("T1.7"), Vec::new());
            },
            "dependencies: change them in TASKS.md",
        ),
        (
            |file| file.checkpoints.get_mut("phase_1").unwrap().merged = Some(true),
            "checkpoints: a phase is merged by Waypost, not by an edit",
        ),
        (|file| file.tasks.completed.push(id("T9")), "tasks: T9 is not a task of this run"),
    ];
    for (edit, want) in table {
        let mut edited = base.clone();
        edit(&mut edited);
        check(&base, &edited, Err(&[want]));
    }
}

#[test]
fn one_refusal_refuses_the_whole_file_and_every_reason_is_told() {
    let base = walk().active().render();
    let mut edited = moved(&base, &[("T1.4", "completed"), ("T1.1", "ready"), ("T1.2", "ready")]);
    edited.project = "other".into();
    check(
        &base,
        &edited,
        Err(&[
            "project: it is the name in TASKS.md",
            "tasks: T1.1 is completed and is not done again",
            "tasks: T1.2 is in progress, and an edit does not give it up → fail_task T1.2",
        ]),
    );
}

#[test]
fn mode_and_config_may_be_edited() {
    let base = walk().active().render();
    let mut edited = base.clone();
    edited.mode = Some(Mode::Normal);
    edited.config.max_parallel = 3;
    edited.config.retry_limit = 1;
    let settings = Settings { same_error_limit: 5, ..plain() };
    let want = Settings { mode: Mode::Normal, max_parallel: 3, retry_limit: 1, ..settings.clone() };
    assert_eq!(
        translate(&base, &edited, &settings),
        Ok(vec![Command::Configure { settings: want }])
    );
}

#[test]
fn an_edit_of_an_older_rendering_means_what_was_changed_then() {
    // An agent read the file before T1.2 was done, and wrote it back afterwards with T1.4 forced.
    let mut walk = walk();
    let base = walk.active().render();
    let stale = moved(&base, &[("T1.4", "completed")]);
    walk.go("done T1.2; start T1.3");
    for command in translate(&base, &stale, &plain()).unwrap() {
        walk.give(&command, &person()).unwrap();
    }
    assert_eq!(
        walk.lists(),
        "pending: T1.5 T1.6 T1.7; in_progress: T1.3; \
         completed: T0.5.1 T0.5.2 T0.5.3 T1.1 T1.2 T1.4"
    );
    // What has happened meanwhile is not undone: the same step again leads to nothing.
    let again = translate(&base, &moved(&base, &[("T1.2", "completed")]), &plain()).unwrap();
    assert_eq!(summary(&walk.give(&again[0], &person())), "nothing");
}

#[test]
fn the_difference_finds_the_rendering_that_an_edit_came_from() {
    let mut walk = walk();
    let before = walk.active().render();
    walk.go("done T1.2; start T1.3");
    let after = walk.active().render();
    let edited = moved(&before, &[("T1.4", "completed")]);
    assert_eq!(before.difference(&before), 0);
    assert_eq!(edited.difference(&before), 1);
    assert!(edited.difference(&after) > 1);
}

#[test]
fn a_file_without_tasks_md_still_makes_a_plan() {
    let got = load(SEED).to_plan().unwrap();
    let want = plan(
        "1: T1.5 T1.3,T1.4; T1.6 T1.3; T1.7 T1.5,T1.6; T1.3 T1.1,T1.2; T1.4 T1.1
         0: T0.5.1 -
         1: T1.1 -; T1.2 -
         0: T0.5.2 -; T0.5.3 -",
    );
    let graph = |plan: &crate::run::Plan| {
        let tasks = plan.tasks.iter();
        tasks.map(|it| (it.id.clone(), it.phase, it.depends.clone())).collect::<Vec<_>>()
    };
    assert_eq!(graph(&got), graph(&want));
    let dangling = load(&SEED.replace("\"T1.3\": [\"T1.1\"", "\"T1.3\": [\"T9\""));
    assert_eq!(dangling.to_plan().unwrap_err().len(), 1);
}

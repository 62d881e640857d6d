//! What other tools have becomes a TASKS.md that means the same, with nothing lost.

use super::*;
use crate::tasks_md;
use waypost_model::run::Depends;

const TASK_MASTER: &str = r#"{
  "master": {
    "tasks": [
      {
        "id": 1, "title": "Set up", "description": "Make the project", "status": "done",
        "dependencies": [], "priority": "high", "details": "cargo new\nrun: rm -rf /", "testStrategy": "It builds",
        "subtasks": []
      },
      {
        "id": 2, "title": "Pay (depends on 1) `now`", "status": "in-progress", "dependencies": [1, 9],
        "priority": "medium", "complexityScore": 7,
        "subtasks": [
          {"id": 1, "title": "Card", "status": "pending", "dependencies": []},
          {"id": 2, "title": "Invoice", "status": "pending", "dependencies": [1, "1"]}
        ]
      },
      {"id": 3, "title": "Fly", "status": "cancelled", "dependencies": [], "description": "No more"},
      {"id": 4, "title": "한글 제목", "status": "pending", "dependencies": [3, "2.1"], "priority": "low"}
    ],
    "metadata": {"created": "2025-06-01"}
  }
}"#;

fn told(text: &str) -> Vec<String> {
    let read = tasks_md::read(text, "").unwrap_or_else(|found| panic!("{found:?}\n{text}"));
    let task = |task: &waypost_model::run::PlannedTask| {
        let depends = match &task.depends {
            Depends::On(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Depends::PhaseBefore => "the phase before".into(),
        };
        let has_command = task.details.as_ref().is_some_and(|it| it.command.is_some());
        assert!(!has_command, "{} got a command", task.id);
        let mark = if task.ticked { "x" } else { " " };
        format!("[{mark}] {} {} <- {depends}", task.id, task.title)
    };
    read.plan.tasks.iter().map(task).collect()
}

#[test]
fn a_list_of_task_master_becomes_tasks_that_wait_for_the_same() {
    let converted = task_master(TASK_MASTER, "shop").unwrap();
    assert_eq!(
        told(&converted.text),
        [
            "[x] T1.1 Set up <- ",
            "[ ] T1.2.1 Card <- T1.1",
            "[ ] T1.2.2 Invoice <- T1.2.1 T1.1",
            "[ ] T1.2 Pay depends on 1 now <- T1.1 T1.2.1 T1.2.2",
            "[ ] T1.4 한글 제목 <- T1.2.1",
        ]
    );
    assert_eq!(converted.tasks, 5);
    // Nothing is lost: what has no field is text.
    for text in [
        "Make the project",
        "run: rm -rf /",
        "It builds",
        "complexityScore",
        "Pay (depends on 1) `now`",
        "No more",
        "in-progress",
    ] {
        assert!(converted.text.contains(text), "{text} is lost:\n{}", converted.text);
    }
    for remark in
        ["`metadata`", "T1.9, which is not there", "T1.3 is not to be done", "in-progress"]
    {
        let is_said = converted.remarks.iter().any(|it| it.contains(remark));
        assert!(is_said, "{remark} is not in {:?}", converted.remarks);
    }
}

#[test]
fn older_files_and_other_tags_are_read_too() {
    let old = r#"{"tasks":[{"id":"1","title":"A","status":"pending"}],"meta":{}}"#;
    assert_eq!(told(&task_master(old, "shop").unwrap().text), ["[ ] T1.1 A <- "]);
    let tags =
        r#"{"master":{"tasks":[{"id":1,"title":"A"}]},"next":{"tasks":[{"id":1,"title":"B"}]}}"#;
    let converted = task_master(tags, "shop").unwrap();
    assert_eq!(told(&converted.text), ["[ ] T1.1 A <- ", "[ ] T2.1 B <- "]);
    for (bad, why) in [
        ("[", "not JSON"),
        ("[]", "no object"),
        ("{}", "no task"),
        (r#"{"tasks":[{"title":"x"}]}"#, "has no id"),
        (r#"{"tasks":[{"id":"x"}]}"#, "is no id"),
        (r#"{"tasks":[{"id":1},{"id":1}]}"#, "one id"),
        (r#"{"tasks":[{"id":1,"dependencies":[2]},{"id":2,"dependencies":[1]}]}"#, "no plan"),
    ] {
        let error = task_master(bad, "shop").unwrap_err();
        assert!(error.0.contains(why), "{bad}: {error}");
    }
}

fn file(name: &str, shelf: Shelf, text: &str) -> BacklogFile {
    BacklogFile { name: name.into(), shelf, text: text.into() }
}

fn folder(config: Option<&str>, files: &[(&str, &str)]) -> Backlog {
    let files = files.iter().map(|(name, text)| file(name, Shelf::Tasks, text)).collect();
    Backlog { files, others: Vec::new(), config: config.map(str::to_owned) }
}

#[test]
fn a_backlog_says_itself_when_a_task_is_finished_and_whose_it_is() {
    let files = [
        ("task-1.md", "---\nid: task-1\nstatus: Shipped\n---\n"),
        ("task-2.md", "---\nid: task-2\nstatus: Done\ndependencies: [DRAFT-1]\n---\n"),
        ("task-7.md", "---\nid: task-7\nstatus: To Do\nparent_task_id: task-2\n---\n"),
    ];
    let config = "statuses: [\"To Do\", \"Done\", \"Shipped\"]\n";
    let converted = backlog(&folder(Some(config), &files), "shop").unwrap();
    assert_eq!(
        told(&converted.text),
        ["[x] T1.1 task-1 <- ", "[ ] T1.2 task-2 <- T1.7", "[ ] T1.7 task-7 <- "]
    );
    for remark in ["`Done`", "DRAFT-1, a draft"] {
        assert!(converted.remarks.iter().any(|it| it.contains(remark)), "{remark}");
    }
}

#[test]
fn tasks_above_and_below_each_other_never_wait_in_a_circle() {
    let files = [
        ("task-1.md", "---\nid: task-1\ndependencies: [task-3]\n---\n"),
        ("task-1.1.md", "---\nid: task-1.1\n---\n"),
        ("task-1.2.md", "---\nid: task-1.2\ndependencies: [task-1]\n---\n"),
        ("task-3.md", "---\nid: task-3\ndependencies: [task-1.1]\n---\n"),
    ];
    let converted = backlog(&folder(None, &files), "shop").unwrap();
    assert_eq!(
        told(&converted.text),
        [
            "[ ] T1.1 task-1 <- T1.3 T1.1.1",
            "[ ] T1.1.1 task-1.1 <- ",
            "[ ] T1.1.2 task-1.2 <- T1.1 T1.3",
            "[ ] T1.3 task-3 <- T1.1.1",
        ]
    );
}

#[test]
fn a_backlog_becomes_tasks_that_wait_for_the_same() {
    let files = vec![
        file(
            "task-2 - Pay.md",
            Shelf::Tasks,
            "---\nid: task-2\ntitle: 'Pay: now'\nstatus: In Progress\nassignee:\n  - '@mina'\n  - '@jin'\nlabels: [money]\ndependencies:\n  - task-1\npriority: high\ncreated_date: '2025-07-01'\n---\n\n## Description\n\nPay with a card.\n\n## Acceptance Criteria\n- [ ] #1 T9.9: it pays\n\n```sh\nrm -rf /\n```\n",
        ),
        file(
            "task-1 - Cart.md",
            Shelf::Completed,
            "---\r\nid: TASK-1\r\ntitle: Cart\r\nstatus: Done\r\ndependencies: []\r\n---\r\n\r\ntext\r\n",
        ),
        file(
            "task-2.1 - Card.md",
            Shelf::Tasks,
            "---\nid: task-2.1\ntitle: Card\nstatus: To Do\nparent_task_id: task-2\n---\n",
        ),
        file(
            "draft-1 - Maybe.md",
            Shelf::Drafts,
            "---\nid: DRAFT-1\ntitle: Maybe\nstatus: Draft\n---\nlater\n",
        ),
    ];
    let others = vec!["docs/readme.md".to_owned()];
    let converted = backlog(&Backlog { files, others, config: None }, "shop").unwrap();
    assert_eq!(
        told(&converted.text),
        ["[x] T1.1 Cart <- ", "[ ] T1.2 Pay: now <- T1.1 T1.2.1", "[ ] T1.2.1 Card <- T1.1",]
    );
    for text in ["Pay with a card.", "#1 T9.9: it pays", "rm -rf /", "money", "2025-07-01", "later"]
    {
        assert!(converted.text.contains(text), "{text} is lost:\n{}", converted.text);
    }
    for remark in ["docs/readme.md", "In Progress", "2 assignees", "DRAFT-1 is not to be done"] {
        let is_said = converted.remarks.iter().any(|it| it.contains(remark));
        assert!(is_said, "{remark} is not in {:?}", converted.remarks);
    }
    for (text, why) in [
        ("no fields", "between two lines"),
        ("---\nid: x\n---\n", "is no id"),
        ("---\nid: [\n---\n", "not YAML"),
    ] {
        let error = backlog(&folder(None, &[("f.md", text)]), "shop").unwrap_err();
        assert!(error.0.contains(why), "{text}: {error}");
    }
}

//! The commands that faults are injected into, each with what it records and how it is repeated.

use crate::{
    judge,
    site::{Site, words},
};
use std::{env, fs};

/// The workflow's window.
pub(crate) const WORKFLOW: &str = ".develop-workflow/state.json";
/// The run's window.
pub(crate) const RUN: &str = ".claude/orchestrate-state.json";

/// The memory's windows.
pub(crate) const MEMORY_STATE: &str = ".claude/memory/task-state.json";
pub(crate) const MEMORY_HISTORY: &str = ".claude/memory/task-history.json";

/// What leads to a task of the memory with a step that can be started.
const AT_WORK: &[&str] =
    &["init", "memory task new Cart", "memory step add Design", "memory task start"];

/// What leads to a feature in IMPLEMENT with two checkpoints.
pub(crate) const IMPLEMENT: &[&str] = &[
    "init",
    "develop start Feature",
    "develop advance --checkpoint cp-1 --checkpoint cp-2",
    "develop gate pass review_clean_pass --report review.md",
    "develop advance",
];

/// Stands among the commands of a setup for the contracts that agents write before a plan.
pub(crate) const CONTRACTS: &str = ":contracts";

/// Those contracts, below the request.
pub(crate) const PLANNED: [(&str, &str); 3] = [
    (
        "explored.yaml",
        "created_by: code-explore\nexplored_files:\n  - path: TASKS.md\n    summary: The plan\n",
    ),
    (
        "task-breakdown.yaml",
        "created_by: planner\noriginal_request: Count\nobjective: A count\ntasks:\n  - id: T1\n    \
         name: Cart\n    subtasks:\n      - id: T1-S1\n        name: Count\nassumptions: []\ntask_order: [T1]\n",
    ),
    (
        "T1/design-brief.yaml",
        "task_id: T1\ncreated_by: orchestrator\ntask_name: Cart\nobjective: Count\nsubtasks:\n  - id: T1-S1\n    \
         name: Count\ncompletion_criteria: [It counts]\nscope_in: [TASKS.md]\nscope_out: []\nfile_refs: []\n",
    ),
];

/// A command on a project in a certain state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) setup: &'static [&'static str],
    pub(crate) edit: Option<Edit>,
    pub(crate) command: &'static str,
    /// The kinds of the events that it records, one list per transaction.
    pub(crate) records: &'static [&'static [&'static str]],
    /// What the command exits with when it was carried out already.
    pub(crate) again: i32,
}

/// An edit of a file that is made by hand right before the command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) fate: Fate,
}

/// What becomes of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It becomes commands; its events are the scenario's first transaction.
    Adopted,
    /// It is kept in the journal's folder, byte for byte.
    Refused,
    /// It waits in the inbox, kept in the journal's folder.
    Waits,
}

const START_FIRST: Edit = Edit {
    file: WORKFLOW,
    from: "\"status\": \"pending\",\n      \"iteration\": 0",
    to: "\"status\": \"in_progress\",\n      \"iteration\": 1",
    fate: Fate::Adopted,
};

/// All scenarios. None of them needs a person, so that they can run without a terminal.
pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "init on a fresh project",
        setup: &[],
        edit: None,
        command: "init --git-hooks",
        records: &[],
        again: 0,
    },
    Scenario {
        name: "develop start on a fresh project",
        setup: &[],
        edit: None,
        command: "develop start Feature",
        records: &[&["started"]],
        again: 3,
    },
    Scenario {
        name: "develop start",
        setup: &["init"],
        edit: None,
        command: "develop start Feature",
        records: &[&["started"]],
        again: 3,
    },
    Scenario {
        name: "develop gate pass with a report",
        setup: &["init", "develop start Feature", "develop advance --checkpoint cp-1"],
        edit: None,
        command: "develop gate pass review_clean_pass --report review.md",
        records: &[&["gate_passed"]],
        again: 0,
    },
    Scenario {
        name: "develop checkpoint start",
        setup: IMPLEMENT,
        edit: None,
        command: "develop checkpoint start cp-1",
        records: &[&["checkpoint_started"]],
        again: 0,
    },
    Scenario {
        name: "develop checkpoint escalate, which asks in the inbox",
        setup: &[
            "init",
            "develop start Feature",
            "develop advance --checkpoint cp-1",
            "develop gate pass review_clean_pass --report review.md",
            "develop advance",
            "develop checkpoint start cp-1",
        ],
        edit: None,
        command: "develop checkpoint escalate cp-1",
        records: &[&["checkpoint_escalated", "asked"]],
        again: 0,
    },
    Scenario {
        name: "run start, which begins the run",
        setup: &["init"],
        edit: None,
        command: "run start T1.1",
        records: &[&["begun", "phase_opened", "configured", "task_started"]],
        again: 3,
    },
    Scenario {
        name: "run done, which closes a phase",
        setup: &["init", "run start T1.1"],
        edit: None,
        command: "run done T1.1",
        records: &[&["task_completed", "phase_closed", "phase_opened"]],
        again: 0,
    },
    Scenario {
        name: "status, which takes up an edit of the workflow",
        setup: IMPLEMENT,
        edit: Some(START_FIRST),
        command: "status",
        records: &[&["checkpoint_started"]],
        again: 0,
    },
    Scenario {
        name: "develop checkpoint start after an edit that is taken up",
        setup: IMPLEMENT,
        edit: Some(START_FIRST),
        command: "develop checkpoint start cp-2",
        records: &[&["checkpoint_started"], &["checkpoint_started"]],
        again: 0,
    },
    Scenario {
        name: "status, which refuses a forged gate",
        setup: IMPLEMENT,
        edit: Some(Edit {
            file: WORKFLOW,
            from: "\"architect_verified\": false",
            to: "\"architect_verified\": true",
            fate: Fate::Refused,
        }),
        command: "status",
        records: &[&["asked"]],
        again: 0,
    },
    Scenario {
        name: "status, which lets an edit of the run wait",
        setup: &["init", "run start T1.1"],
        edit: Some(Edit {
            file: RUN,
            from: "\"retry_limit\": 10",
            to: "\"retry_limit\": 9",
            fate: Fate::Waits,
        }),
        command: "status",
        records: &[&["asked"]],
        again: 0,
    },
    Scenario {
        name: "memory init, which makes files",
        setup: &["init"],
        edit: None,
        command: "memory init",
        records: &[&["opened"], &["document_noted"]],
        again: 0,
    },
    Scenario {
        name: "memory step start",
        setup: AT_WORK,
        edit: None,
        command: "memory step start 1",
        records: &[&["step_started"]],
        again: 0,
    },
    Scenario {
        name: "memory step fail, which stops the task and asks",
        setup: &[
            "init",
            "memory task new Cart",
            "memory step add Design",
            "memory task start",
            "memory step start 1",
        ],
        edit: None,
        command: "memory step fail 1 --class critical --reason broken",
        records: &[&["step_failed", "step_escalated", "task_failed", "asked"]],
        again: 3,
    },
    Scenario {
        name: "memory task complete, which writes the history",
        setup: &["init", "memory task new Cart", "memory task start"],
        edit: None,
        command: "memory task complete --lesson rest",
        records: &[&["task_ended"]],
        again: 3,
    },
    Scenario {
        name: "memory context set, which replaces a document",
        setup: &["init", "memory context set shared_data.first 1"],
        edit: None,
        command: "memory context set shared_data.second 2",
        records: &[&["document_noted"]],
        again: 0,
    },
    Scenario {
        name: "status, which takes up an edit of the memory",
        setup: AT_WORK,
        edit: Some(Edit {
            file: MEMORY_STATE,
            from: "\"status\": \"pending\"",
            to: "\"status\": \"in_progress\"",
            fate: Fate::Adopted,
        }),
        command: "status",
        records: &[&["step_started"]],
        again: 0,
    },
    Scenario {
        name: "status, which refuses a changed id of a step",
        setup: AT_WORK,
        edit: Some(Edit {
            file: MEMORY_STATE,
            from: "\"id\": 1,",
            to: "\"id\": 9,",
            fate: Fate::Refused,
        }),
        command: "status",
        records: &[&["asked"]],
        again: 0,
    },
    Scenario {
        name: "session request, which begins the second of two windows",
        setup: &["init", "session start"],
        edit: None,
        command: "session request Count",
        records: &[&["request_made"]],
        again: 3,
    },
    Scenario {
        name: "session plan, which takes up contracts",
        setup: &["init", "session start", "session request Count", CONTRACTS],
        edit: None,
        command: "session plan",
        records: &[&["planned", "task_begun"]],
        again: 0,
    },
    Scenario {
        name: "session stop, which ends the request and writes the history",
        setup: &["init", "session start", "session request Count"],
        edit: None,
        command: "session stop",
        records: &[&["request_stopped", "stopped", "recorded"]],
        again: 0,
    },
    Scenario {
        name: "memory task replan, which keeps a backup first",
        setup: AT_WORK,
        edit: None,
        command: "memory task replan",
        records: &[&["replanned"]],
        again: 0,
    },
    Scenario {
        name: "memory prune, which keeps a backup first",
        setup: &["init", "memory task new Cart", "memory task start", "memory task complete"],
        edit: None,
        command: "memory prune",
        records: &[],
        again: 0,
    },
    Scenario {
        name: "memory agent set, which makes a document",
        setup: &["init", "memory init"],
        edit: None,
        command: "memory agent helper set preferences.tone 1",
        records: &[&["document_noted"]],
        again: 0,
    },
    Scenario {
        name: "knowledge add, which replaces a document and notes what it stands on",
        setup: &["init", "knowledge add decision Store SQLite"],
        edit: None,
        command: "knowledge add decision Login JWT --ref TASKS.md",
        records: &[&["decided"]],
        again: 0,
    },
    Scenario {
        name: "doctor --fix, which edits git's exclude file",
        // The backup has the first entry only, so that a journal which went back would show.
        setup: &["develop start Feature", "develop advance --checkpoint cp-1"],
        edit: None,
        command: "doctor --fix",
        records: &[],
        again: 0,
    },
];

/// The scenarios whose name contains what `WAYPOST_FAULTS_SCENARIO` says; all without it.
pub(crate) fn chosen() -> impl Iterator<Item = &'static Scenario> {
    let wanted = env::var("WAYPOST_FAULTS_SCENARIO").unwrap_or_default();
    ALL.iter().filter(move |scenario| scenario.name.contains(&wanted))
}

impl Scenario {
    /// Makes a site on which the command can be given, and saves it.
    pub(crate) fn site(&self) -> Site {
        let site = Site::after(self.setup);
        fs::write(site.outside("log"), judge::log(&site).join("\n")).unwrap();
        site.save();
        site
    }

    pub(crate) fn args(&self) -> Vec<&'static str> {
        words(self.command)
    }

    /// Puts the site back to the instant before the command.
    ///
    /// Files that were copied are not the ones that the program left, which it finds out at the
    /// next command; here that is over before the faulty one.
    pub(crate) fn prepare(&self, site: &Site) {
        site.put_back();
        if !self.setup.is_empty() {
            site.waypost(&["status"]).expect_code(0);
        }
        if let Some(edit) = &self.edit {
            let path = site.path(edit.file);
            let text = fs::read_to_string(&path).unwrap();
            let edited = text.replacen(edit.from, edit.to, 1);
            assert_ne!(text, edited, "the edit must change something in {text}");
            fs::write(&path, edited).unwrap();
        }
    }

    /// The kinds of events after the first `count` transactions.
    pub(crate) fn kinds(&self, count: usize) -> Vec<&'static str> {
        self.records[..count].concat()
    }
}

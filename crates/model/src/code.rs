//! The stable words for what stands against a command: refusals and errors of every crate.
//!
//! A program tells failures apart by these; messages are for people and may change. The set is
//! closed, so that the reference lists all of them and nothing is told without one. A word that was
//! released keeps its meaning and its class. (`document::code` has the words for what is wrong
//! inside a file.)

use std::fmt;

/// What can be done about it; each has its own exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The work itself failed.
    Failed,
    /// What was given makes no sense, or names something that does not exist.
    BadInput,
    /// A rule stands against it, or it is reserved for a person.
    Refused,
    /// Another process has it or was first, or the caller is out of date.
    Locked,
    /// Something is missing or does not work on this machine.
    Missing,
    /// A fault of Waypost's own.
    Bug,
}

/// Declares the codes by class, each with its word and the sentence that explains it.
macro_rules! codes {
    ($($class:ident { $($name:ident $word:literal $meaning:literal;)+ })+) => {
        /// What stands against a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $meaning] $name,)+)+
        }

        impl Code {
            /// All of them, by class.
            pub const ALL: &[Self] = &[$($(Self::$name,)+)+];

            /// The word that programs match on.
            pub const fn as_str(self) -> &'static str {
                match self { $($(Self::$name => $word,)+)+ }
            }

            pub const fn class(self) -> Class {
                match self { $($(Self::$name)|+ => Class::$class,)+ }
            }

            /// A sentence for the reference.
            pub const fn meaning(self) -> &'static str {
                match self { $($(Self::$name => $meaning,)+)+ }
            }
        }
    };
}

codes! {
    Failed {
        CheckFailed "CHECK_FAILED" "A command that Waypost ran as a check did not pass.";
        ReviewFailed "REVIEW_FAILED" "A review came to nothing.";
        NothingProven "NOTHING_PROVEN" "The work on a task does not show what it declares.";
        VerifyChangedFiles "VERIFY_CHANGED_FILES" "Verification has changed files that are committed.";
        MergeConflict "MERGE_CONFLICT" "The work conflicts with what was joined meanwhile.";
        GateFailed "GATE_FAILED" "A gate of a session's subtask does not hold.";
        PlanWrong "PLAN_WRONG" "Half of a session's plan's assumptions or more are wrong.";
        Stopped "STOPPED" "It was stopped before its end.";
        AgentUnavailable "AGENT_UNAVAILABLE" "An agent cannot be used for now: a limit, an outage, an account.";
        DemoFault "DEMO_FAULT" "A fault that the demo stages did not show.";
    }
    BadInput {
        BadArgument "BAD_ARGUMENT" "An argument does not have the form that it needs.";
        CommandUnknown "COMMAND_UNKNOWN" "There is no such command.";
        RequestUnknown "REQUEST_UNKNOWN" "`resolve` knows no such request.";
        FolderUnknown "FOLDER_UNKNOWN" "There is no such folder.";
        FileNotFound "FILE_NOT_FOUND" "There is no such file.";
        TasksNotFound "TASKS_NOT_FOUND" "There is no TASKS.md.";
        KindUnknown "KIND_UNKNOWN" "It cannot be told what kind of file it is, or there is no such kind.";
        InvalidFile "INVALID_FILE" "A file is not valid; every finding has its own code.";
        NotRegular "NOT_REGULAR" "Something else than a regular file stands there.";
        TooLarge "TOO_LARGE" "A file is larger than any real one.";
        NotText "NOT_TEXT" "A path is not valid UTF-8.";
        FolderExists "FOLDER_EXISTS" "A folder that is to be made is already there.";
        NotAdoptable "NOT_ADOPTABLE" "A file is none that a journal can begin with.";
        ReportInTheWork "REPORT_IN_THE_WORK" "A report lies among the files that it is about.";
        ReportTaken "REPORT_TAKEN" "A report was taken before, for other points.";
        ReportUnclear "REPORT_UNCLEAR" "A report does not say how many findings are blocking.";
        ConfigInvalid "CONFIG_INVALID" "The configuration has a value that cannot be.";
        VariableUnknown "VARIABLE_UNKNOWN" "An environment variable of ours configures nothing.";
        TaskUnknown "TASK_UNKNOWN" "There is no such task.";
        TypeUnknown "TYPE_UNKNOWN" "There is no task type of this name.";
        RunUnknown "RUN_UNKNOWN" "There is no run of this number.";
        PhaseUnknown "PHASE_UNKNOWN" "The run has no such phase.";
        StepUnknown "STEP_UNKNOWN" "The memory's task has no such step.";
        SubtaskUnknown "SUBTASK_UNKNOWN" "The session's request has no such subtask.";
        SessionUnknown "SESSION_UNKNOWN" "There is no such session.";
        PathUnknown "PATH_UNKNOWN" "A document has nothing under this path.";
        BackupUnknown "BACKUP_UNKNOWN" "There is no such backup of the memory.";
        ContractUnknown "CONTRACT_UNKNOWN" "There is no such contract, or more than one.";
        VersionUnknown "VERSION_UNKNOWN" "A contract has no version of this number.";
        KnowledgeUnknown "KNOWLEDGE_UNKNOWN" "The knowledge has no such entry.";
        TestsUnknown "TESTS_UNKNOWN" "It is not known how the tests of the project are run.";
        CheckpointUnknown "CHECKPOINT_UNKNOWN" "There is no such checkpoint.";
        GateUnknown "GATE_UNKNOWN" "There is no such gate.";
        ClassUnknown "CLASS_UNKNOWN" "There is no such class of failure.";
        ValueInvalid "VALUE_INVALID" "A value is empty, has more than one line, or names a file that is not there.";
        AnswerTooLong "ANSWER_TOO_LONG" "An answer is longer than an agent can be told.";
        RequestTooLong "REQUEST_TOO_LONG" "A request of a session is longer than an agent can be told.";
        EntryUnknown "ENTRY_UNKNOWN" "No such entry waits in the inbox.";
        PermitUnknown "PERMIT_UNKNOWN" "There is no such permission, or more than one.";
        AgentUnknown "AGENT_UNKNOWN" "There is no agent of this name.";
        AgentIncomplete "AGENT_INCOMPLETE" "The configuration of an agent lacks something.";
        NoTerminal "NO_TERMINAL" "An agent has no terminal in which its conversation could be opened.";
        TreeUnknown "TREE_UNKNOWN" "There is no such work tree, or no such snapshot of it.";
        CommitUnknown "COMMIT_UNKNOWN" "It is no name of a commit.";
        TooManyFiles "TOO_MANY_FILES" "More files are to be copied into a work tree than makes sense.";
        FilterUnknown "FILTER_UNKNOWN" "A filter of git cannot be used here.";
        NotARepository "NOT_A_REPOSITORY" "There is no git repository to add hooks to.";
        HookConflict "HOOK_CONFLICT" "Another git hook stands where Waypost's belongs.";
        EditUnreadable "EDIT_UNREADABLE" "An edit that was kept cannot be read or does not fit any more.";
        CursorUnknown "CURSOR_UNKNOWN" "It is no cursor that this program knows.";
    }
    Refused {
        Reserved "RESERVED" "Only a person may do this.";
        WaypostOnly "WAYPOST_ONLY" "Only Waypost itself does this.";
        NoWorkflow "NO_WORKFLOW" "No workflow is active.";
        FeatureActive "FEATURE_ACTIVE" "A feature is being worked on; there is one at a time.";
        FeatureDone "FEATURE_DONE" "The feature is done.";
        NothingToResume "NOTHING_TO_RESUME" "There is nothing to resume.";
        ChoiceNeeded "CHOICE_NEEDED" "It has to be said how to go on.";
        WrongPhase "WRONG_PHASE" "It belongs to another phase of the workflow.";
        NameMissing "NAME_MISSING" "A name is needed.";
        ReasonMissing "REASON_MISSING" "A reason is needed.";
        InputContradicts "INPUT_CONTRADICTS" "Two things were given of which only one can be.";
        CheckpointsMissing "CHECKPOINTS_MISSING" "At least one checkpoint is needed.";
        CheckpointTwice "CHECKPOINT_TWICE" "A checkpoint is given twice.";
        CheckpointsOpen "CHECKPOINTS_OPEN" "Not every checkpoint has passed.";
        CheckpointStatus "CHECKPOINT_STATUS" "The checkpoint is not in a state for this.";
        CheckpointWaits "CHECKPOINT_WAITS" "The checkpoint depends on one that has not passed.";
        CheckpointEscalated "CHECKPOINT_ESCALATED" "A checkpoint has failed too often and waits for a person.";
        ContractMissing "CONTRACT_MISSING" "There is no checkpoint contract.";
        ContractInvalid "CONTRACT_INVALID" "The checkpoint contract does not hold.";
        GateClosed "GATE_CLOSED" "A gate is not passed.";
        GateNotHeld "GATE_NOT_HELD" "The hook does not hold an agent that the run needs.";
        NoGate "NO_GATE" "The phase has no such gate.";
        ProofMissing "PROOF_MISSING" "A check, a review, a report or a person's word is missing.";
        NotAsked "NOT_ASKED" "No such question is open.";
        FilesChanged "FILES_CHANGED" "Files have changed since it was asked for.";
        EditRefused "EDIT_REFUSED" "A file that shows a state was edited in a way that cannot be taken over.";
        AnswerMissing "ANSWER_MISSING" "An answer needs a text.";
        AnswerUnknown "ANSWER_UNKNOWN" "It is none of the possible answers.";
        VerbUnfit "VERB_UNFIT" "An entry of the inbox takes other verbs.";
        NoRun "NO_RUN" "No run has begun, or none is at work.";
        RunUnfinished "RUN_UNFINISHED" "A run is not finished.";
        NotARun "NOT_A_RUN" "The engine of this project is at work on something else than a run.";
        TaskStatus "TASK_STATUS" "The task is not in a state for this.";
        FieldMissing "FIELD_MISSING" "A task lacks something that has to be said of it.";
        TaskWaits "TASK_WAITS" "The task waits for another one.";
        BudgetSpent "BUDGET_SPENT" "What may be spent is spent.";
        TaskDelayed "TASK_DELAYED" "The task waits before its next try.";
        NoCurrentTask "NO_CURRENT_TASK" "The memory has no current task.";
        CurrentTaskFirst "CURRENT_TASK_FIRST" "Another task of the memory is current, or too many wait.";
        IdTaken "ID_TAKEN" "An id was used before, or is not the day's.";
        StepsOpen "STEPS_OPEN" "Steps of the memory's task are not completed, or there are too many.";
        StepStatus "STEP_STATUS" "The step is not in a state for this.";
        StepWaits "STEP_WAITS" "The step waits for another one.";
        StepDelayed "STEP_DELAYED" "The step waits before its next try.";
        ReplanNeeded "REPLAN_NEEDED" "The plan does not hold and is made again first.";
        NoSession "NO_SESSION" "No session is active.";
        NoRequest "NO_REQUEST" "The session has no request that is worked on.";
        RequestActive "REQUEST_ACTIVE" "The session's request is not complete; there is one at a time.";
        SessionMoved "SESSION_MOVED" "The project was moved since its session began.";
        SessionFilesFound "SESSION_FILES_FOUND" "Files of a session are there that are not in the journal.";
        SessionContractMissing "SESSION_CONTRACT_MISSING" "A contract that the session needs is not there.";
        AssumptionOpen "ASSUMPTION_OPEN" "It was not said what became of an assumption of the plan.";
        PlanSentBack "PLAN_SENT_BACK" "The plan was sent back to the planner, who has not made another one.";
        GateNotDue "GATE_NOT_DUE" "The gate is not one that leads on from here.";
        FileInTheWay "FILE_IN_THE_WAY" "A file that is to be made is already there.";
        NothingFailed "NOTHING_FAILED" "No task has failed.";
        PersonNeeded "PERSON_NEEDED" "It waits for a person.";
        PinNeeded "PIN_NEEDED" "It needs a person's PIN, which none was set or typed for.";
        PinWrong "PIN_WRONG" "It is not the PIN, or too many wrong ones were typed just now.";
        NotReviewed "NOT_REVIEWED" "What is to be pushed is not what the last review was passed for.";
        ParallelLimit "PARALLEL_LIMIT" "As many tasks are in progress as may be.";
        OtherAttempt "OTHER_ATTEMPT" "One attempt does not speak for another.";
        PhaseStatus "PHASE_STATUS" "The phase of the run is not in a state for this.";
        PlanEmpty "PLAN_EMPTY" "The plan has no task.";
        PlanLacksTask "PLAN_LACKS_TASK" "A task in progress is no longer in the plan.";
        PlanReworded "PLAN_REWORDED" "Completed tasks say something else now.";
        StateNotAdopted "STATE_NOT_ADOPTED" "A state file holds a run that is not in the journal.";
        JournalExists "JOURNAL_EXISTS" "There is a journal, or it has what is to be adopted.";
        BudgetUnset "BUDGET_UNSET" "Agents that cost money need a budget.";
        IsolationFixed "ISOLATION_FIXED" "Where a phase is worked on holds until its end.";
        WorkUnmerged "WORK_UNMERGED" "Work of the run is not merged yet.";
        RepositoryUnsuited "REPOSITORY_UNSUITED" "The repository is in no state to work on a run in work trees.";
        NoConversation "NO_CONVERSATION" "No agent has worked on the task.";
        ChangesUnknown "CHANGES_UNKNOWN" "It is not known what a task has changed, or it has changed nothing.";
        RevertConflict "REVERT_CONFLICT" "What a task has done cannot be taken out.";
        HooksElsewhere "HOOKS_ELSEWHERE" "Git takes this repository's hooks from elsewhere.";
        TreeInTheWay "TREE_IN_THE_WAY" "A work tree, a branch or what git knows of one stands against it.";
    }
    Locked {
        FencedAttempt "FENCED_ATTEMPT" "It speaks for an attempt that is not the current one.";
        StaleAttempt "STALE_ATTEMPT" "It comes from below an attempt that is over.";
        AlreadyRunning "ALREADY_RUNNING" "A run is at work already.";
        Busy "BUSY" "Another process uses it.";
        EntryOver "ENTRY_OVER" "An entry of the inbox was answered or settled already.";
        EntryReworded "ENTRY_REWORDED" "An entry of the inbox says something else than what was answered.";
        ReviewStale "REVIEW_STALE" "It is about a review that is not the open one.";
        Moved "MOVED" "Another process committed first.";
        Changed "CHANGED" "A file is not what was read before.";
    }
    Missing {
        JournalForeign "JOURNAL_FOREIGN" "A journal came with a project's files and was not made on this machine.";
        JournalVanished "JOURNAL_VANISHED" "A journal that is known to have existed is gone.";
        JournalMissing "JOURNAL_MISSING" "A file of ours is not there.";
        JournalDamaged "JOURNAL_DAMAGED" "A file of ours is damaged, or an entry cannot be read.";
        JournalNewer "JOURNAL_NEWER" "The journal was written by a newer version.";
        JournalRestored "JOURNAL_RESTORED" "The journal does not reach to a cursor: it is another one, or was restored since.";
        JournalUnsuited "JOURNAL_UNSUITED" "A journal cannot be kept safely in this folder.";
        JournalFailed "JOURNAL_FAILED" "The journal's database failed.";
        BackupMissing "BACKUP_MISSING" "There is no backup of the journal.";
        OutcomeUnknown "OUTCOME_UNKNOWN" "It is not known whether the last change was recorded.";
        FileFailed "FILE_FAILED" "The operating system does not let us at a file.";
        SystemFailed "SYSTEM_FAILED" "The operating system refused something.";
        DiskFull "DISK_FULL" "There is no space left.";
        DanglingLink "DANGLING_LINK" "A link leads to nothing.";
        OutputFailed "OUTPUT_FAILED" "The output cannot be written.";
        HostGone "HOST_GONE" "The host of this project has ended or does not speak as it should.";
        NotBegun "NOT_BEGUN" "A process in the background has not begun to work.";
        CannotStart "CANNOT_START" "A program cannot be started.";
        CannotSignal "CANNOT_SIGNAL" "A process cannot be asked to end.";
        LeaseStale "LEASE_STALE" "The engine lease names a process that is not there, and is held.";
        OtherVersion "OTHER_VERSION" "What another version of Waypost has started still works.";
        KeeperGone "KEEPER_GONE" "A keeper of processes does not answer or does not speak as it should.";
        ProcessesLeft "PROCESSES_LEFT" "Processes cannot be killed.";
        MessageTooLong "MESSAGE_TOO_LONG" "More is to be said to an agent than its keeper holds.";
        AgentSilent "AGENT_SILENT" "What an agent said cannot be read, or it cannot be answered.";
        AgentStays "AGENT_STAYS" "An agent does not end.";
        AgentMissing "AGENT_MISSING" "No agent is configured for this.";
        ProgramMissing "PROGRAM_MISSING" "A program is not installed.";
        ProgramTooOld "PROGRAM_TOO_OLD" "A program is older than Waypost works with.";
        SignedOut "SIGNED_OUT" "An agent program is not signed in on this machine.";
        ValueKeyLost "VALUE_KEY_LOST" "The key of values that were given to tasks is lost, or is another one.";
        KeyMissing "KEY_MISSING" "The variable with an agent's key is not set.";
        HomeMissing "HOME_MISSING" "There is no home folder.";
        OwnPathUnknown "OWN_PATH_UNKNOWN" "The path of this program cannot be put into settings.";
        TargetMissing "TARGET_MISSING" "There is nowhere to send notices to.";
        EditGone "EDIT_GONE" "An edit that waits for an answer is gone.";
        AnsweredMeanwhile "ANSWERED_MEANWHILE" "A question was answered while it was asked.";
        DataFolderTaken "DATA_FOLDER_TAKEN" "A data folder has workspaces of another project.";
        RepositoryNeeded "REPOSITORY_NEEDED" "Work trees need a git repository, and its own work tree.";
        TreeGone "TREE_GONE" "A work tree, its branch or its snapshot is gone.";
        TreeHeld "TREE_HELD" "Something is in the way of a work tree or a merge for now.";
        GitMissing "GIT_MISSING" "Git cannot be run.";
        GitFailed "GIT_FAILED" "Git failed or was killed.";
        SimFailed "SIM_FAILED" "The scripted agent or model server cannot go on.";
    }
    Bug {
        Bug "BUG" "A fault of Waypost's own. Nothing that was reported as done is lost.";
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_unique_and_of_one_form() {
        let words: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len(), "two codes have one word");
        for word in words {
            let is_plain = |c: char| c.is_ascii_uppercase() || c == '_';
            assert!(word.chars().all(is_plain) && !word.is_empty(), "{word}");
        }
    }

    #[test]
    fn the_list_goes_from_class_to_class_and_explains_each() {
        assert!(Code::ALL.is_sorted_by_key(|code| code.class()));
        for code in Code::ALL {
            let meaning = code.meaning();
            assert!(meaning.ends_with('.') && meaning.len() > 10, "{code}: {meaning}");
        }
    }
}

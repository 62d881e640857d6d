//! What happened to a run, for all who watch it: read from the journal, whichever process recorded it.
//!
//! What no journal has (that a child has begun, notes) is said by the host beside it; each such word
//! has its place in the journal's order, so that every view shows the same in the same order.

use super::audience::Happening;
use crate::{
    error::EngineError,
    host::Happened,
    project::{LOG_PAGE, Project},
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use waypost_model::{
    inbox::{self, Inbox},
    run::{Active, Event, Parked, Run, RunTopic},
};
use waypost_store::journal::Cursor;

/// Something that those who watch a run are told, and its place in the journal: that of the entry
/// which says so, or of the last one before it was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunNews {
    pub happening: Happening,
    pub cursor: Cursor,
}

/// Who tells that an attempt has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    /// The host, when its child has begun; the journal has only that it was claimed.
    Said,
    /// The journal, where no host does.
    Recorded,
}

/// Reads the journal for one who watches.
#[derive(Debug)]
pub(crate) struct NewsReader {
    seen: Cursor,
    /// What was said beside the journal and is not told yet.
    words: VecDeque<RunNews>,
}

impl NewsReader {
    /// For one who has seen everything up to `seen`.
    pub(crate) fn after(seen: Cursor) -> Self {
        Self { seen, words: VecDeque::new() }
    }

    /// How far it has come.
    pub(crate) fn seen(&self) -> Cursor {
        self.seen
    }

    /// Takes what a host has said, to be told in its place.
    pub(crate) fn hear(&mut self, word: RunNews) {
        self.words.push_back(word);
    }

    /// All that was recorded and said since, in order.
    pub(crate) fn take(
        &mut self,
        project: &mut Project,
        starts: Starts,
    ) -> Result<Vec<RunNews>, EngineError> {
        let mut news = Vec::new();
        self.take_words(&mut news);
        loop {
            let page = project.log_after(self.seen)?;
            let is_last = page.len() < LOG_PAGE;
            for entry in page {
                self.seen = entry.cursor();
                let happening = happening(&Happened::new(entry), project, starts)?;
                news.extend(happening.map(|it| RunNews { happening: it, cursor: self.seen }));
                self.take_words(&mut news);
            }
            if is_last {
                // What was said after an entry that was told before comes late, and last.
                news.extend(self.words.drain(..));
                return Ok(news);
            }
        }
    }

    /// Takes the words that follow the entry that was seen last.
    fn take_words(&mut self, news: &mut Vec<RunNews>) {
        while let Some(word) = self.words.pop_front_if(|word| word.cursor == self.seen) {
            news.push(word);
        }
    }
}

/// What an entry of the journal means to those who watch.
fn happening(
    entry: &Happened,
    project: &mut Project,
    starts: Starts,
) -> Result<Option<Happening>, EngineError> {
    if let Some(inbox::Event::Asked { question, .. }) = entry.event::<Inbox>() {
        let asked = question.subject.read().filter(|(asker, _)| *asker == Project::run_stream());
        return Ok(match asked.and_then(|(_, topic)| RunTopic::read(&topic)) {
            Some(RunTopic::Task { id, .. }) => Some(Happening::Asked { id, title: question.title }),
            _ => None,
        });
    }
    let Some(event) = entry.event::<Run>() else { return Ok(None) };
    Ok(Some(match event {
        Event::TaskStarted { id, attempt } if starts == Starts::Recorded => {
            Happening::Started { id, attempt }
        }
        Event::TaskCompleted { id, .. } => Happening::Completed { id },
        Event::AttemptFailed { id, text, not_before, .. } => {
            Happening::Retried { id, text, not_before }
        }
        Event::AttemptInterrupted { id } => {
            let active = project.run()?.active();
            let view = active.and_then(|active| active.task(&id));
            let why = match view.is_some_and(|view| view.waits_for_person()) {
                true => "a person has to answer first",
                false => "it ended without a result",
            };
            Happening::Interrupted { id, why: why.to_owned() }
        }
        Event::TaskFailed { id, text, .. } => Happening::Failed { id, text },
        Event::AttemptParked { id, parked } => {
            let Parked { cause, why, until, .. } = parked;
            Happening::Parked { id, cause, why, until }
        }
        Event::PhaseClosed { phase, merge_commit } => {
            let missing = project.run()?.active().map_or(0, |active| missing(active, phase));
            Happening::PhaseClosed { phase, merge_commit, missing }
        }
        Event::Replanned { .. } => Happening::Note("the plan has changed".into()),
        // Everything else shows in the state.
        _ => return Ok(None),
    }))
}

/// How many tasks of a phase are not completed.
fn missing(active: &Active, phase: u32) -> usize {
    let progress = active.progress(phase);
    progress.total - progress.completed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ledger::MachineCommand, tasks};
    use waypost_model::{actor::Actor, run::Command};

    const TASKS: &str =
        "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: First\n- [ ] T1.2: Second\n";

    fn word(text: &str, cursor: Cursor) -> RunNews {
        RunNews { happening: Happening::Note(text.to_owned()), cursor }
    }

    fn said(news: &[RunNews]) -> Vec<String> {
        let said = news.iter().map(|news| match &news.happening {
            Happening::Note(text) => text.clone(),
            Happening::Started { id, .. } => format!("{id} started"),
            Happening::Interrupted { id, .. } => format!("{id} interrupted"),
            other => format!("{other:?}"),
        });
        said.collect()
    }

    #[test]
    fn what_was_said_is_told_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        crate::write_file(&folder.path().join("TASKS.md"), TASKS.as_bytes()).unwrap();
        let actor = Actor::User("test".into());
        let mut project = Project::open_unreconciled(folder.path(), actor).unwrap();
        tasks::drive_run(&mut project, &[], None).unwrap();
        let before = project.journal_end().unwrap();
        let mut commit = |command| {
            project.commit(&[MachineCommand::run(command)]).unwrap();
            project.journal_end().unwrap()
        };
        let id: waypost_model::id::TaskId = "T1.1".parse().unwrap();
        let started = commit(Command::Start { id: id.clone() });
        let interrupted = commit(Command::Interrupt { id, attempt: Some(1) });

        let mut reader = NewsReader::after(before);
        // It was said long ago, or of entries that are told already: it comes all the same.
        let words = [("first", before), ("second", started), ("third", interrupted)];
        words.iter().for_each(|(text, cursor)| reader.hear(word(text, *cursor)));
        let news = reader.take(&mut project, Starts::Recorded).unwrap();
        let want = ["first", "T1.1 started", "second", "T1.1 interrupted", "third"];
        assert_eq!(said(&news), want);
        assert_eq!((news[1].cursor, news[3].cursor), (started, interrupted));
        assert_eq!(reader.seen(), project.journal_end().unwrap());

        reader.hear(word("late", before));
        assert_eq!(said(&reader.take(&mut project, Starts::Said).unwrap()), ["late"]);
        // Where a host says that attempts begin, the journal does not.
        let mut another = NewsReader::after(before);
        let news = another.take(&mut project, Starts::Said).unwrap();
        assert_eq!(said(&news), ["T1.1 interrupted"]);
    }
}

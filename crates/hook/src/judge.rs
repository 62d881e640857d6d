//! The judgement on a tool call, the same whether it stands on the record or on the journal.

use crate::{design::is_design, look::Files, scratch::is_scratch, spot::Spot};
use std::{path::Path, sync::mpsc, thread, time::Duration};
use waypost_agent::{hook::ToolCall, programs::BUILT_IN};
use waypost_guard::{Context, Deed, Refusal, Rule, Standing, judge_tool, refusal};
use waypost_model::workflow::Held;

/// What becomes of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub refusal: Option<Refusal>,
    /// It commits, pushes, changes a pull request, or might: what a record alone cannot allow.
    pub is_finishing: bool,
    /// It commits, as far as its text tells.
    pub commits: bool,
    /// It pushes, or changes a pull request.
    pub pushes: bool,
}

/// The surroundings of a tool call: the folder it is made in, and the work tree that holds it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub folder: &'a Path,
    pub spot: &'a Spot,
    pub held: &'a Held,
    /// Whether the call ends up behind the wall, which holds what cannot be told here.
    pub is_walled: bool,
}

/// A text up to this length is judged in less time than it takes to start a thread for it.
const PROMPT_LENGTH: usize = 1_000;

/// Agent programs take a hook that does not answer in time for a yes; they wait for a minute.
const PATIENCE: Duration = Duration::from_secs(10);

impl Case<'_> {
    /// Judges a tool call. One that takes too long to judge is refused.
    pub fn judge(&self, call: &ToolCall) -> Ruling {
        let tool = BUILT_IN.tool(&call.name);
        let is_long = |(name, text): &(String, String)| {
            text.len() > PROMPT_LENGTH && tool.is_some_and(|tool| tool.parses(name))
        };
        if !call.fields.iter().any(is_long) {
            return self.judge_now(call);
        }
        let (sender, answer) = mpsc::channel();
        let (call, held, spot) = (call.clone(), self.held.clone(), self.spot.clone());
        let (folder, is_walled) = (self.folder.to_owned(), self.is_walled);
        let worker = thread::Builder::new().spawn(move || {
            let case = Case { folder: &folder, spot: &spot, held: &held, is_walled };
            // The agent program may not be listening any more.
            let _late = sender.send(case.judge_now(&call));
        });
        let judged = worker.ok().and_then(|_| answer.recv_timeout(PATIENCE).ok());
        judged.unwrap_or_else(|| Ruling {
            refusal: Some(Refusal {
                rule: Rule::Unknowable,
                message: "what this does takes too long to tell; write it more plainly, or in \
                          several steps"
                    .into(),
                next: None,
            }),
            is_finishing: true,
            commits: true,
            pushes: true,
        })
    }

    fn judge_now(&self, call: &ToolCall) -> Ruling {
        let files = self.files();
        let Held { writing_tools, free_tools, .. } = self.held;
        let (look, is_walled) = (&files, self.is_walled);
        let context = Context { look, writing_tools, free_tools, is_walled };
        let fields: Vec<(&str, &str)> =
            call.fields.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        self.rule(&judge_tool(&call.name, BUILT_IN.tool(&call.name), &fields, &context), &files)
    }

    /// Judges what is known to be about to happen, as git's own hooks know it.
    pub fn judge_deed(&self, deed: &Deed) -> Ruling {
        self.rule(deed, &self.files())
    }

    fn files(&self) -> Files {
        let Spot { root, git_common, state, .. } = self.spot;
        let (root, git_common, state) = (root.clone(), git_common.clone(), state.clone());
        Files::new(self.folder.into(), root, git_common, state, &BUILT_IN)
    }

    fn rule(&self, deed: &Deed, files: &Files) -> Ruling {
        let Held { rights, phase, closed, next, design_paths, .. } = self.held;
        let pushes = !deed.pushes.is_empty();
        let default_branch = if pushes { files.default_branch() } else { None };
        let current_branch = if pushes { files.pushed_branch() } else { None };
        let standing = Standing {
            rights: *rights,
            phase: *phase,
            closed,
            next,
            default_branch: default_branch.as_deref(),
            current_branch: current_branch.as_deref(),
            is_design: &|path| is_design(design_paths, &self.spot.root, self.folder, path),
            is_scratch: &|path| is_scratch(&files.homes, self.spot, self.folder, path),
            is_walled: self.is_walled,
        };
        // Behind the wall what cannot be told is held by what the journal says there.
        let is_finishing = pushes
            || deed.commits.is_some()
            || deed.publishes.is_some()
            || deed.foreign.is_some()
            || (deed.unknowable.is_some() && !self.is_walled);
        Ruling {
            refusal: refusal(deed, &standing),
            is_finishing,
            commits: deed.commits.is_some(),
            pushes: pushes || deed.publishes.is_some(),
        }
    }
}

//! What a reviewer is told: what to look at, by what measure, and in which form to answer.

use super::findings::EXAMPLE;
use crate::error::EngineError;
use std::fmt::Write as _;
use waypost_git::git_at;
use waypost_model::{
    time::Time,
    workflow::{CheckpointContract, Feature, GateName},
};
use waypost_store::place::Place;

/// The largest difference that is put into the message; a larger one is looked at with tools.
const DIFF_SIZE_MAX: usize = 48 << 10;
/// How many files that git does not know are listed.
const UNTRACKED_MAX: usize = 200;

/// What has changed since the feature began.
#[derive(Clone, Debug, Default)]
pub(super) struct FeatureChange {
    /// The commit before it; none: there is none.
    base: Option<String>,
    stat: String,
    diff: String,
    untracked: Vec<String>,
}

impl FeatureChange {
    /// Looks at the work tree of `place`; nothing outside git.
    pub(super) fn find(place: &Place, since: Time) -> Result<Option<Self>, EngineError> {
        if place.git_common.is_none() {
            return Ok(None);
        }
        let git = git_at(&place.root)?;
        let untracked = git.text(&["ls-files", "--others", "--exclude-standard"])?;
        let untracked = untracked.lines().map(str::to_owned).collect();
        let Some(base) = base(place, since)? else {
            return Ok(Some(Self { untracked, ..Self::default() }));
        };
        const PLAIN: [&str; 4] = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
        let with = |more: &[&'static str]| {
            let words = PLAIN.iter().chain(more).copied().chain([base.as_str()]);
            git.text(&words.collect::<Vec<_>>())
        };
        let (stat, diff) = (with(&["--stat=100"])?, with(&[])?);
        Ok(Some(Self { base: Some(base), stat, diff, untracked }))
    }

    fn tell(&self, text: &mut String) {
        match &self.base {
            Some(base) => {
                let _infallible = writeln!(
                    text,
                    "\n## What has changed\n\nSince commit {base} (`git diff {base}` shows it):\n\n{}",
                    or_nothing(&self.stat)
                );
            }
            None => text.push_str("\n## What has changed\n\nThere is no commit yet.\n"),
        }
        if !self.untracked.is_empty() {
            text.push_str("\nFiles that git does not track yet belong to it:\n\n");
            for file in self.untracked.iter().take(UNTRACKED_MAX) {
                let _infallible = writeln!(text, "- {file}");
            }
            if self.untracked.len() > UNTRACKED_MAX {
                let rest = self.untracked.len() - UNTRACKED_MAX;
                let _infallible = writeln!(text, "- and {rest} more");
            }
        }
        if self.diff.len() > DIFF_SIZE_MAX {
            text.push_str(
                "\nThe difference is too long to be shown here; look at it file by file.\n",
            );
        } else if !self.diff.is_empty() {
            let _infallible = writeln!(text, "\n~~~~~diff\n{}\n~~~~~", self.diff);
        }
    }
}

fn or_nothing(stat: &str) -> &str {
    if stat.is_empty() { "nothing that is tracked" } else { stat }
}

/// Where the feature began: where its branch left the default one, else the last commit before
/// the feature was started.
fn base(place: &Place, since: Time) -> Result<Option<String>, EngineError> {
    let git = git_at(&place.root)?;
    let Some(head) = git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])? else {
        return Ok(None);
    };
    for branch in ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"] {
        let fork = git.try_text(&["merge-base", "HEAD", branch])?;
        if let Some(fork) = fork.filter(|fork| *fork != head && !fork.is_empty()) {
            return Ok(Some(fork));
        }
    }
    let before = format!("--before={since}");
    let found = git.try_text(&["rev-list", "-1", &before, "HEAD"])?;
    Ok(Some(found.filter(|found| !found.is_empty()).unwrap_or(head)))
}

/// The message to a reviewer.
pub(super) fn message(feature: &Feature, gate: GateName, change: Option<&FeatureChange>) -> String {
    let mut text = format!("TASK_ID: {gate}\n\n# Review: {}\n\n{}\n", feature.name, measure(gate));
    if let Some(contract) = &feature.contract {
        tell_contract(&mut text, contract);
    }
    if let Some(change) = change {
        change.tell(&mut text);
    }
    let _infallible = writeln!(
        text,
        "\n## How to answer\n\nYou only look: change nothing, and start nothing that does. Read \
         what you need before you judge; do not take the word of comments or reports for it.\n\n\
         - blocking: the gate must stay closed because of it: wrong, unsafe, incomplete, or against \
         the contract\n- major: should be fixed, and can be fixed later\n- minor: everything \
         else worth a word\n\nEnd with this JSON object and nothing else, by the tool for structured \
         output if you have one, else as your last message in a fenced block; with nothing found, \
         `findings` is empty and `blocking` is 0:\n\n```json\n{EXAMPLE}\n```"
    );
    text
}

/// What is said to a reviewer whose conversation is taken up again.
pub(super) fn again(gate: GateName) -> String {
    format!(
        "TASK_ID: {gate}\n\nYour review was interrupted. Go on with it, and end with the findings \
         as one JSON object, by the tool for structured output if you have one, else in a fenced \
         block:\n\n```json\n{EXAMPLE}\n```\n"
    )
}

/// What is said to a reviewer whose answer is not of the form.
pub(super) fn correction(why: &str) -> String {
    format!(
        "Your last message cannot be read: {why}. Say your findings once more, as one JSON object \
         and nothing else, by the tool for structured output if you have one, else in a fenced \
         block:\n\n```json\n{EXAMPLE}\n```\n"
    )
}

fn measure(gate: GateName) -> &'static str {
    match gate {
        GateName::ReviewCleanPass => {
            "This is the review of the design, before anything of it is built. Does it solve what \
             was asked for? Is it complete, free of contradiction, and can every checkpoint be \
             shown to hold by its validation? What would go wrong?"
        }
        GateName::ArchitectVerified => {
            "This is the architect's look at the implementation. Does it do what the checkpoints \
             promise, with the interfaces that were agreed? Does it fit the structure of the \
             project? Do the tests test what they claim?"
        }
        GateName::ReReviewClean => {
            "This is the last code review before the pull request. Look for faults: wrong results, \
             lost data, races, missing error handling, security holes, missing tests, leftovers."
        }
    }
}

fn tell_contract(text: &mut String, contract: &CheckpointContract) {
    text.push_str("\n## The checkpoint contract\n");
    for checkpoint in &contract.checkpoints {
        let _infallible = writeln!(text, "\n### {}: {}\n", checkpoint.id, checkpoint.description);
        for (word, entries) in [("interface", &checkpoint.interface), ("tests", &checkpoint.tests)]
        {
            for entry in entries {
                let _infallible = writeln!(text, "- {word}: {entry}");
            }
        }
        let _infallible = writeln!(text, "- validation: `{}`", checkpoint.validation.command);
        if let Some(expected) = &checkpoint.validation.expected {
            let _infallible = writeln!(text, "- its output contains: {expected}");
        }
        for before in &checkpoint.dependencies {
            let _infallible = writeln!(text, "- after: {before}");
        }
    }
}

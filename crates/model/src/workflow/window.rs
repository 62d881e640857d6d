//! `.develop-workflow/state.json`: how a workflow is shown, and what an edit of it means.
//!
//! An edit becomes commands, never state. Gates, the phase and a checkpoint's `passed` need
//! evidence, so no edit of them is ever translated.

use crate::{
    code::Code,
    diagnostic::Diagnostic,
    document::{Document, Kind},
    evidence::Evidence,
    id::CheckpointId,
    machine::Rejected,
    next::NextStep,
    ordered::Ordered,
    retry::FailureClass,
    time::{Stamp, Time},
    workflow::{
        Checkpoint, CheckpointStatus, CheckpointStep, Command, Feature, GateName, Pass, Phase,
        Strategy,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The workflow's state file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowState {
    /// The phase the feature is in.
    pub phase: Phase,
    /// How the implementation is divided; null until IMPLEMENT.
    #[serde(default)]
    pub strategy: Option<Strategy>,
    /// The user's request in a line.
    pub feature: String,
    /// When the feature was started.
    pub started_at: Stamp,
    /// When something last happened to it.
    pub updated_at: Stamp,
    /// The conditions between phases. Passed with `waypost develop gate pass`, never here.
    pub gates: Gates,
    /// The checkpoints of the implementation by id.
    #[serde(default)]
    pub checkpoints: Ordered<CheckpointId, CheckpointRow>,
}

/// The three gates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// The design's review had no blocking finding: IMPLEMENT may begin.
    pub review_clean_pass: bool,
    /// The architect has verified the implementation: PR may begin.
    pub architect_verified: bool,
    /// The last review was clean: commits, pushes and pull requests are allowed.
    pub re_review_clean: bool,
}

/// One checkpoint as the file shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointRow {
    /// Where it is in its life.
    pub status: CheckpointStatus,
    /// 0 before it starts, then which try it is.
    pub iteration: u32,
}

impl Gates {
    pub fn get(&self, gate: GateName) -> bool {
        match gate {
            GateName::ReviewCleanPass => self.review_clean_pass,
            GateName::ArchitectVerified => self.architect_verified,
            GateName::ReReviewClean => self.re_review_clean,
        }
    }
}

impl Feature {
    /// The file that shows this state; a function of the state alone.
    pub fn render(&self) -> WorkflowState {
        let row = |checkpoint: &Checkpoint| CheckpointRow {
            status: checkpoint.status,
            iteration: checkpoint.iteration,
        };
        WorkflowState {
            phase: self.phase,
            strategy: self.strategy,
            feature: self.name.clone(),
            started_at: self.started_at.into(),
            updated_at: self.updated_at.into(),
            gates: Gates {
                review_clean_pass: self.has_passed(GateName::ReviewCleanPass),
                architect_verified: self.has_passed(GateName::ArchitectVerified),
                re_review_clean: self.has_passed(GateName::ReReviewClean),
            },
            checkpoints: self
                .checkpoints
                .iter()
                .map(|(id, each)| (id.clone(), row(each)))
                .collect(),
        }
    }
}

impl Document for WorkflowState {
    const KIND: Kind = Kind::WorkflowState;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        if self.feature.trim().is_empty() {
            findings.push(Diagnostic::error("empty", "the feature has no name").path("feature"));
        }
        for (id, row) in self.checkpoints.iter() {
            let is_pending = row.status == CheckpointStatus::Pending;
            if is_pending != (row.iteration == 0) {
                findings.push(
                    Diagnostic::error(
                        "contradiction",
                        format!("{id} is {} with iteration {}", row.status, row.iteration),
                    )
                    .path(format!("checkpoints.{id}.iteration"))
                    .expected("0 while pending, 1 or more afterwards"),
                );
            }
        }
        findings
    }
}

impl WorkflowState {
    /// The state that a person adopts from a file without a journal; `name` vouches for its gates.
    pub fn to_feature(
        &self,
        max_iterations: u32,
        name: &str,
        to_time: impl Fn(Stamp) -> Time,
    ) -> Feature {
        let max_iterations = max_iterations.max(1);
        let started_at = to_time(self.started_at);
        let mut feature = Feature::new(self.feature.clone(), max_iterations, started_at);
        feature.phase = self.phase;
        feature.strategy = self.strategy;
        feature.updated_at = to_time(self.updated_at);
        // Checkpoints are worked on in IMPLEMENT only, so one that was begun tells of it.
        let was_begun = |row: &CheckpointRow| row.status != CheckpointStatus::Pending;
        feature.was_in_implement =
            self.phase >= Phase::Implement || self.checkpoints.values().any(was_begun);
        let evidence = || vec![Evidence::Human { name: name.to_owned() }];
        feature.passes = GateName::ALL
            .into_iter()
            .filter(|gate| self.gates.get(*gate))
            .map(|gate| Pass { gate, evidence: evidence(), tree: None, at: feature.updated_at })
            .collect();
        feature.checkpoints = self
            .checkpoints
            .iter()
            .map(|(id, row)| {
                let iteration = row.iteration.min(max_iterations);
                (id.clone(), Checkpoint { status: row.status, iteration, ..Checkpoint::default() })
            })
            .collect();
        feature
    }

    /// How many fields differ; used to find the rendering that an edit came from.
    pub fn difference(&self, other: &Self) -> usize {
        let fields = [
            self.phase != other.phase,
            self.strategy != other.strategy,
            self.feature != other.feature,
            self.started_at != other.started_at,
            self.updated_at != other.updated_at,
        ];
        let gates =
            GateName::ALL.iter().filter(|gate| self.gates.get(**gate) != other.gates.get(**gate));
        let changed =
            self.checkpoints.iter().filter(|(id, row)| other.checkpoints.get(*id) != Some(*row));
        let gone = other.checkpoints.iter().filter(|(id, _)| self.checkpoints.get(*id).is_none());
        fields.into_iter().filter(|differs| *differs).count()
            + gates.count()
            + changed.count()
            + gone.count()
    }
}

/// Translates the difference between a rendering and an edited file into commands.
///
/// An empty list: nothing that matters was changed. An error: why the edit cannot be taken over,
/// every reason.
pub fn translate(
    base: &WorkflowState,
    edited: &WorkflowState,
) -> Result<Vec<Command>, Vec<Rejected>> {
    let mut refusals = refused_fields(base, edited);
    let mut commands = Vec::new();
    for (id, row) in edited.checkpoints.iter() {
        match base.checkpoints.get(id) {
            None => {
                let message = format!("checkpoints.{id}: checkpoints are set when DESIGN ends");
                refusals.push(Rejected::rule(Code::EditRefused, message));
            }
            Some(before) => match translate_row(id, *before, *row) {
                Ok(steps) => commands.extend(
                    steps.into_iter().map(|step| Command::Checkpoint { id: id.clone(), step }),
                ),
                Err(refused) => refusals.push(refused),
            },
        }
    }
    for (id, _) in base.checkpoints.iter().filter(|(id, _)| edited.checkpoints.get(*id).is_none()) {
        let message = format!("checkpoints.{id}: a checkpoint is not removed by an edit");
        refusals.push(Rejected::rule(Code::EditRefused, message));
    }
    if refusals.is_empty() { Ok(commands) } else { Err(refusals) }
}

fn refused_fields(base: &WorkflowState, edited: &WorkflowState) -> Vec<Rejected> {
    let mut refusals = Vec::new();
    let mut refuse = |field: &str, next: NextStep| {
        let message = format!("{field}: an edit does not change it");
        refusals.push(Rejected::rule(Code::EditRefused, message).next(next));
    };
    if base.phase != edited.phase {
        let is_later = edited.phase > base.phase;
        refuse("phase", if is_later { NextStep::Advance } else { NextStep::GoBack });
    }
    for gate in GateName::ALL {
        if base.gates.get(gate) != edited.gates.get(gate) {
            let next = match edited.gates.get(gate) {
                true => NextStep::PassGate { gate },
                false => NextStep::ResetGate { gate },
            };
            refuse(&format!("gates.{gate}"), next);
        }
    }
    if base.strategy != edited.strategy {
        refuse("strategy", NextStep::AdvanceWithStrategy);
    }
    if base.feature != edited.feature {
        refuse("feature", NextStep::RestartFeature);
    }
    if base.started_at != edited.started_at {
        refusals.push(Rejected::rule(Code::EditRefused, "started_at: it is what the journal says"));
    }
    refusals
}

fn translate_row(
    id: &CheckpointId,
    before: CheckpointRow,
    after: CheckpointRow,
) -> Result<Vec<CheckpointStep>, Rejected> {
    use CheckpointStatus as S;
    if before == after {
        return Ok(Vec::new());
    }
    let fail = CheckpointStep::Fail { class: FailureClass::Transient };
    match (before.status, after.status) {
        (_, S::Passed) => {
            let message = format!("checkpoints.{id}: an edit does not pass it");
            Err(Rejected::rule(Code::EditRefused, message)
                .next(NextStep::PassCheckpoint { id: id.clone() }))
        }
        (S::Pending, S::InProgress) if after.iteration == 1 => Ok(vec![CheckpointStep::START]),
        (S::InProgress, S::InProgress) if after.iteration > before.iteration => {
            let failures = after.iteration - before.iteration;
            Ok(vec![fail; usize::try_from(failures.min(100)).unwrap_or(100)])
        }
        (S::InProgress, S::Escalated) if after.iteration == before.iteration => {
            Ok(vec![CheckpointStep::Escalate])
        }
        (S::Escalated, S::InProgress) if after.iteration == 1 => Ok(vec![CheckpointStep::Reopen]),
        (from, to) => Err(Rejected::rule(
            Code::EditRefused,
            format!(
                "checkpoints.{id}: {from} (iteration {}) to {to} (iteration {}) is no legal step",
                before.iteration, after.iteration
            ),
        )),
    }
}

//! Where a contract belongs: of which request, task and subtask it is, which its path says as well.
//!
//! `contracts/R1/T1/T1-S1/test-contract.yaml`: what a contract says of itself has to be the same.

use crate::diagnostic::Diagnostic;
use crate::document::{Kind, RequestId, SessionTaskId, SubtaskId, code};
use std::fmt::{Display, Formatter, Result as Written};

/// The folder in which the contracts of a session are.
pub const CONTRACTS: &str = "contracts";

/// How far down a kind of contract belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContractLevel {
    Request,
    Task,
    Subtask,
}

impl ContractLevel {
    /// Where contracts of a kind belong; none for all other kinds.
    pub fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Explored | Kind::TaskBreakdown => Some(Self::Request),
            Kind::DesignBrief | Kind::DesignContract => Some(Self::Task),
            Kind::TestContract | Kind::TestResult => Some(Self::Subtask),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::Task => "a task",
            Self::Subtask => "a subtask",
        }
    }
}

/// Of which request, task and subtask a contract is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractPlace {
    pub request: RequestId,
    pub task: Option<SessionTaskId>,
    pub subtask: Option<SubtaskId>,
}

/// What a contract says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContractIds<'a> {
    pub request: Option<&'a RequestId>,
    pub task: Option<&'a SessionTaskId>,
    pub subtask: Option<&'a SubtaskId>,
}

impl ContractPlace {
    pub fn of_request(request: RequestId) -> Self {
        Self { request, task: None, subtask: None }
    }

    pub fn of_task(request: RequestId, task: SessionTaskId) -> Self {
        Self { request, task: Some(task), subtask: None }
    }

    pub fn of_subtask(request: RequestId, task: SessionTaskId, subtask: SubtaskId) -> Self {
        Self { request, task: Some(task), subtask: Some(subtask) }
    }

    pub fn level(&self) -> ContractLevel {
        match (&self.task, &self.subtask) {
            (_, Some(_)) => ContractLevel::Subtask,
            (Some(_), None) => ContractLevel::Task,
            (None, None) => ContractLevel::Request,
        }
    }

    /// The place that a path says, whatever stands there; none where it names no folder of contracts.
    pub fn of_path(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split(['/', '\\']).collect();
        let at = parts.iter().rposition(|part| *part == CONTRACTS)?;
        let (_, folders) = parts[at + 1..].split_last()?;
        match folders {
            [request] => Some(Self::of_request(request.parse().ok()?)),
            [request, task] => Some(Self::of_task(request.parse().ok()?, task.parse().ok()?)),
            [request, task, subtask] => Some(Self::of_subtask(
                request.parse().ok()?,
                task.parse().ok()?,
                subtask.parse().ok()?,
            )),
            _ => None,
        }
    }

    /// The place that a contract of this kind has by what it says of itself, with what is known
    /// besides; `Err` names what is missing.
    pub fn of_ids(kind: Kind, ids: ContractIds<'_>) -> Result<Self, &'static str> {
        let level = ContractLevel::of(kind).ok_or("kind")?;
        let request = ids.request.cloned().ok_or("request")?;
        if level == ContractLevel::Request {
            return Ok(Self::of_request(request));
        }
        let owner = ids.subtask.and_then(SubtaskId::task);
        let task = ids.task.cloned().or(owner).ok_or("task")?;
        if level == ContractLevel::Task {
            return Ok(Self::of_task(request, task));
        }
        Ok(Self::of_subtask(request, task, ids.subtask.cloned().ok_or("subtask")?))
    }

    /// The path of a contract of this kind, below the folder of contracts.
    pub fn path(&self, kind: Kind) -> String {
        format!("{self}/{}.yaml", kind.name())
    }

    /// What of a contract does not fit where it stands.
    pub fn check(&self, kind: Kind, ids: ContractIds<'_>) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        if let Some(level) = ContractLevel::of(kind).filter(|level| *level != self.level()) {
            let message = format!(
                "{}.yaml belongs to {}, and stands in the folder of {}",
                kind.name(),
                level.word(),
                self.level().word()
            );
            findings.push(Diagnostic::error(code::WRONG_PLACE, message));
        }
        if let (Some(task), Some(subtask)) = (&self.task, &self.subtask)
            && !subtask.belongs_to(task)
        {
            let message = format!("the folder {subtask} stands in the folder of {task}");
            findings.push(Diagnostic::error(code::WRONG_PLACE, message));
        }
        findings.extend(unfit("request_id", ids.request, Some(&self.request)));
        findings.extend(unfit("task_id", ids.task, self.task.as_ref()));
        findings.extend(unfit("subtask_id", ids.subtask, self.subtask.as_ref()));
        findings
    }
}

/// The finding about an id that is another one than the path has.
fn unfit<I: PartialEq + Display>(
    field: &str,
    said: Option<&I>,
    folder: Option<&I>,
) -> Option<Diagnostic> {
    let (said, folder) = (said?, folder?);
    let message = format!("`{said}` stands in the folder of {folder}");
    (said != folder).then(|| {
        Diagnostic::error(code::WRONG_PLACE, message).path(field).expected(folder.to_string())
    })
}

impl Display for ContractPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        write!(f, "{}", self.request)?;
        if let Some(task) = &self.task {
            write!(f, "/{task}")?;
        }
        match &self.subtask {
            Some(subtask) => write!(f, "/{subtask}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Option<String> {
        ContractPlace::of_path(path).map(|place| place.to_string())
    }

    #[test]
    fn a_path_says_of_what_a_contract_is() {
        let folder = ".claude/orchestrator/sessions/a1b2c3d4/contracts";
        let table = [
            ("R1/explored.yaml", Some("R1")),
            ("R1/T1/design-brief.yaml", Some("R1/T1")),
            ("R2/T1/T1-S2/test-result.yaml", Some("R2/T1/T1-S2")),
            ("R2/T1/T2-S2/test-result.yaml", Some("R2/T1/T2-S2")),
            ("explored.yaml", None),
            ("R0/explored.yaml", None),
            ("R1/T1/T1-S1/more/test-result.yaml", None),
        ];
        for (path, want) in table {
            assert_eq!(place(&format!("{folder}/{path}")).as_deref(), want, "{path}");
        }
        assert_eq!(place("R1/explored.yaml"), None);
        let known = ContractPlace::of_path("contracts/R1/T1/T1-S1/x.yaml").unwrap();
        assert_eq!(known.path(Kind::TestResult), "R1/T1/T1-S1/test-result.yaml");
    }

    #[test]
    fn what_a_contract_says_of_itself_tells_its_place() {
        let (request, subtask) = ("R3".parse().unwrap(), "T2-S1".parse().unwrap());
        let ids = ContractIds { request: Some(&request), task: None, subtask: Some(&subtask) };
        let place = ContractPlace::of_ids(Kind::TestContract, ids).unwrap();
        assert_eq!(place.to_string(), "R3/T2/T2-S1");
        let only = ContractIds { request: Some(&request), ..ContractIds::default() };
        assert_eq!(ContractPlace::of_ids(Kind::DesignBrief, only), Err("task"));
        assert_eq!(ContractPlace::of_ids(Kind::Explored, only).unwrap().to_string(), "R3");
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_field() {
        let (request, task) = ("R2".parse().unwrap(), "T1".parse().unwrap());
        let ids = ContractIds { request: Some(&request), task: Some(&task), subtask: None };
        let place = ContractPlace::of_path("contracts/R1/T3/design-brief.yaml").unwrap();
        let found = place.check(Kind::DesignBrief, ids);
        let told: Vec<(&str, Option<&str>)> =
            found.iter().map(|it| (it.path.as_str(), it.expected.as_deref())).collect();
        assert_eq!(told, [("request_id", Some("R1")), ("task_id", Some("T3"))]);
        let wrong = place.check(Kind::Explored, ContractIds::default());
        assert_eq!(
            wrong[0].message,
            "explored.yaml belongs to a request, and stands in the folder of a task"
        );
        let mixed = ContractPlace::of_path("contracts/R1/T1/T2-S1/test-result.yaml").unwrap();
        let found = mixed.check(Kind::TestResult, ContractIds::default());
        assert_eq!(found[0].message, "the folder T2-S1 stands in the folder of T1");
    }
}

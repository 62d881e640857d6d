//! A plan: the contracts that it stands on, and what became of its assumptions.
//!
//! An assumption that names a path is checked against `explored.yaml`. What all others came to has to be
//! said: only the caller can know it.

use super::{fingerprint, give, is_here, lacks, look, place_of};
use crate::{
    contracts,
    error::{EngineError, Problem},
    project::Project,
};
use std::collections::BTreeMap;
use waypost_model::{
    code::Code,
    document::{
        Document, Kind,
        contract::{ContractPlace, DesignBrief, Explored, TaskBreakdown},
        session::GlobalPhase,
    },
    machine::{Asked, Machine as _, Rejected},
    next::NextStep,
    session::{
        Assumption, AssumptionFate, Command, PlanDraft, PlannedBrief, PlannedSessionTask,
        RequestState,
    },
};

/// What was said of assumptions, by their numbers from 1.
pub type GivenVerdicts = BTreeMap<usize, AssumptionFate>;

/// What a plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOutcome {
    pub assumptions: Vec<Assumption>,
    /// Half of the assumptions or more are wrong, or it cannot be worked on: the planner makes another plan.
    pub is_sent_back: bool,
    /// Why it cannot be worked on.
    pub faults: Vec<String>,
    /// Work goes on: by this plan, or by the one before where this one was sent back.
    pub goes_on: bool,
    pub tasks: usize,
    pub subtasks: usize,
}

/// Takes up the plan that the contracts describe, or sends it back.
pub fn plan(project: &mut Project, given: &GivenVerdicts) -> Result<PlanOutcome, EngineError> {
    project.refuse_stale()?;
    is_here(project)?;
    let request = project.session()?.find_request()?.clone();
    let place = place_of(&request, None, None);
    let explored: Explored = needed(project, &place)?;
    let breakdown: TaskBreakdown = needed(project, &place)?;
    let contract = fingerprint(project, Kind::TaskBreakdown, &place)?.unwrap_or_default();
    // What is sent back anyway needs no brief.
    let assumptions = assumptions(&breakdown, &explored, given)?;
    let tasks = planned(&breakdown);
    let (count, subtasks) = (tasks.len(), tasks.iter().map(|task| task.subtasks.len()).sum());
    let mut briefs = Vec::new();
    for task in &tasks {
        let place = place_of(&request, Some(&task.id), None);
        let brief = fingerprint(project, Kind::DesignBrief, &place)?;
        briefs.extend(brief.map(|brief| PlannedBrief { task: task.clone(), brief }));
    }
    let (contract_of_plan, assumed) = (contract.clone(), assumptions.clone());
    let draft = PlanDraft { contract: contract_of_plan, tasks, assumptions: assumed, briefs };
    if !draft.is_mostly_wrong() {
        for task in &draft.tasks {
            let place = place_of(&request, Some(&task.id), None);
            needed::<DesignBrief>(project, &place)?;
            if is_stale(project, &request, task)? {
                return Err(lacks(project, &contracts::path(project, Kind::DesignBrief, &place)?));
            }
        }
    }
    contracts::keep(project, Kind::TaskBreakdown, &place)?;
    let session = give(project, Command::Plan { draft: Box::new(draft) })?;
    let request = session.request().expect("there is a request");
    let is_sent_back = request.phase == GlobalPhase::GlobalDiscovery
        || request.sent_back.as_ref() == Some(&contract);
    let (faults, goes_on) = (request.plan_faults.clone(), request.phase == GlobalPhase::TaskLoop);
    let faults = if is_sent_back { faults } else { Vec::new() };
    Ok(PlanOutcome { assumptions, is_sent_back, faults, goes_on, tasks: count, subtasks })
}

/// Whether the plan that the contracts describe would be taken up, whatever became of its assumptions.
pub(super) fn can_be_taken_up(
    project: &mut Project,
    request: &RequestState,
) -> Result<bool, EngineError> {
    let place = place_of(request, None, None);
    let is_explored = look::<Explored>(project, &place)?.is_ok();
    let (true, Ok(breakdown)) = (is_explored, look::<TaskBreakdown>(project, &place)?) else {
        return Ok(false);
    };
    let contract = fingerprint(project, Kind::TaskBreakdown, &place)?.unwrap_or_default();
    let (tasks, assumptions, briefs) = (planned(&breakdown), Vec::new(), Vec::new());
    let draft = PlanDraft { contract, tasks, assumptions, briefs };
    let (actor, now) = (project.actor().clone(), project.clock().now());
    let command = Command::Plan { draft: Box::new(draft) };
    Ok(project.session()?.decide(&command, &Asked { by: &actor, now }).is_ok())
}

/// Whether the brief of a task was written for what a plan that was sent back had under its id.
pub(super) fn is_stale(
    project: &Project,
    request: &RequestState,
    task: &PlannedSessionTask,
) -> Result<bool, EngineError> {
    let place = place_of(request, Some(&task.id), None);
    let now = fingerprint(project, Kind::DesignBrief, &place)?;
    Ok(now.is_some_and(|now| request.is_stale_brief(task, &now)))
}

fn needed<D: Document>(project: &Project, place: &ContractPlace) -> Result<D, EngineError> {
    match contracts::read::<D>(project, place)? {
        Some(contract) => Ok(contract),
        None => Err(lacks(project, &contracts::path(project, D::KIND, place)?)),
    }
}

/// The tasks in the order in which they are done.
pub(super) fn planned(breakdown: &TaskBreakdown) -> Vec<PlannedSessionTask> {
    let in_order = breakdown.task_order.iter();
    let in_order = in_order.filter_map(|id| breakdown.tasks.iter().find(|task| task.id == *id));
    let task = |task: &waypost_model::document::contract::BreakdownTask| PlannedSessionTask {
        id: task.id.clone(),
        name: task.name.clone(),
        subtasks: task.subtasks.iter().map(|it| (it.id.clone(), it.name.clone())).collect(),
    };
    in_order.map(task).collect()
}

/// The assumptions that the caller has to judge, by their numbers from 1.
pub(super) fn open(breakdown: &TaskBreakdown, explored: &Explored) -> Vec<(usize, String)> {
    let found = breakdown.assumptions.iter().enumerate();
    let is_open = |(_, text): &(usize, &String)| checked(text, explored).is_none();
    found.filter(is_open).map(|(at, text)| (at + 1, text.clone())).collect()
}

fn assumptions(
    breakdown: &TaskBreakdown,
    explored: &Explored,
    given: &GivenVerdicts,
) -> Result<Vec<Assumption>, EngineError> {
    let total = breakdown.assumptions.len();
    if let Some(number) = given.keys().find(|number| !(1..=total).contains(*number)) {
        let message = format!("there is no assumption {number}; the plan has {total}");
        return Err(Problem::new(Code::BadArgument, message).into());
    }
    let (mut found, mut unsaid) = (Vec::new(), Vec::new());
    for (at, text) in breakdown.assumptions.iter().enumerate() {
        let checked = checked(text, explored);
        if let (Some((_, how)), true) = (&checked, given.contains_key(&(at + 1))) {
            let message = format!("assumption {} names a path and is checked: {how}", at + 1);
            return Err(Problem::new(Code::BadArgument, message)
                .hint("a verdict is given only on assumptions that name no path")
                .into());
        }
        let said = given.get(&(at + 1)).map(|verdict| (*verdict, "said".to_owned()));
        match checked.or(said) {
            Some((verdict, how)) => found.push(Assumption { text: text.clone(), verdict, how }),
            None => unsaid.push(format!("{} (`{text}`)", at + 1)),
        }
    }
    if unsaid.is_empty() {
        return Ok(found);
    }
    let message = format!(
        "it has to be said what became of assumption {}: held, wrong or unknown",
        unsaid.join(", ")
    );
    Err(Rejected::rule(Code::AssumptionOpen, message).next(NextStep::PlanWithAssumption).into())
}

/// What `explored.yaml` says of an assumption; nothing where it names no path.
fn checked(text: &str, explored: &Explored) -> Option<(AssumptionFate, String)> {
    let named: Vec<&str> = paths_in(text, explored);
    if named.is_empty() {
        return None;
    }
    let missing: Vec<&str> =
        named.iter().copied().filter(|path| !is_explored(path, explored)).collect();
    Some(match missing.is_empty() {
        true => (AssumptionFate::Held, format!("explored.yaml has {}", named.join(", "))),
        false => (AssumptionFate::Wrong, format!("explored.yaml has no {}", missing.join(", "))),
    })
}

/// The paths that a sentence names.
fn paths_in<'a>(text: &'a str, explored: &Explored) -> Vec<&'a str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./@+".contains(c);
    let words = text.split(|c| !is_part(c)).map(|word| word.trim_end_matches(['.', '-', '+', '@']));
    words.filter(|word| is_path(word, explored)).collect()
}

/// Whether a word is a path, and not a pair of words with a stroke between them.
fn is_path(word: &str, explored: &Explored) -> bool {
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !has_letter || word.starts_with("//") || word.len() < 3 {
        return false;
    }
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_file = last.rsplit_once('.').is_some_and(|(stem, suffix)| {
        let is_suffix = (1..=10).contains(&suffix.len())
            && suffix.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        is_suffix && suffix.bytes().any(|byte| byte.is_ascii_alphabetic()) && !stem.is_empty()
    });
    if !word.contains('/') {
        // `serde.json` may be a name of anything; a file that was explored is one.
        return is_file
            && (is_explored(word, explored) || KNOWN_SUFFIXES.iter().any(|it| word.ends_with(it)));
    }
    is_file || word.ends_with('/') || word.starts_with(['.', '/']) || is_below_known(word, explored)
}

/// Endings of files that no product or method is named with.
const KNOWN_SUFFIXES: [&str; 22] = [
    ".rs", ".py", ".ts", ".tsx", ".jsx", ".java", ".kt", ".go", ".cs", ".c", ".h", ".cpp", ".md",
    ".toml", ".yaml", ".yml", ".xml", ".gradle", ".sql", ".sh", ".html", ".css",
];

/// Whether the first name of a path is one of the explored.
fn is_below_known(word: &str, explored: &Explored) -> bool {
    let first = word.split('/').next().unwrap_or_default();
    known_paths(explored).any(|path| path.split('/').any(|name| name == first))
}

fn known_paths(explored: &Explored) -> impl Iterator<Item = &str> {
    let files = explored.explored_files.iter().map(|file| file.path.as_str());
    files.chain(explored.directory_structure.keys().map(String::as_str))
}

/// Whether a path, or an end or a part of one, was explored.
fn is_explored(word: &str, explored: &Explored) -> bool {
    let word = word.trim_start_matches("./").trim_end_matches('/');
    let names: Vec<&str> = word.split('/').filter(|name| !name.is_empty()).collect();
    known_paths(explored).any(|path| {
        let path: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        path.windows(names.len().max(1)).any(|part| part == names)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explored() -> Explored {
        let text = "version: 1\ncreated_at: \"2024-01-15T10:05:00Z\"\ncreated_by: code-explore\n\
            explored_files:\n  - path: src/main/java/com/example/auth/AuthService.java\n  \
            - path: README.md\ndirectory_structure:\n  src/test/java: tests\n";
        waypost_store::parse::parse::<Explored>(text.as_bytes()).unwrap().value
    }

    #[test]
    fn what_is_checked_is_not_judged_by_hand_as_well() {
        let text = "version: 1\nrequest_id: R1\ncreated_at: \"2024-01-15T10:05:00Z\"\ncreated_by: planner\noriginal_request: x\nobjective: x\n\
            assumptions:\n  - README.md is short\n  - it is fast\ntasks: []\ntask_order: []\n";
        let breakdown =
            waypost_store::parse::parse::<TaskBreakdown>(text.as_bytes()).unwrap().value;
        let judged = |given: &[usize]| {
            let given = given.iter().map(|number| (*number, AssumptionFate::Wrong)).collect();
            assumptions(&breakdown, &explored(), &given)
        };
        let refused = judged(&[1, 2]).unwrap_err().to_string();
        assert!(refused.contains("assumption 1 names a path"), "{refused}");
        let fates = judged(&[2]).unwrap().into_iter().map(|it| it.verdict).collect::<Vec<_>>();
        assert_eq!(fates, [AssumptionFate::Held, AssumptionFate::Wrong]);
    }

    #[test]
    fn assumptions_that_name_a_path_are_checked_and_others_are_not() {
        let verdict = |text: &str| checked(text, &explored()).map(|(verdict, _)| verdict);
        for (text, expected) in [
            ("인증 관련 코드는 auth/ 디렉토리에 있을 것", Some(AssumptionFate::Held)),
            ("the code is in src/main/java", Some(AssumptionFate::Held)),
            ("tests are below `src/test/java`.", Some(AssumptionFate::Held)),
            ("auth/AuthService.java has the login", Some(AssumptionFate::Held)),
            ("README.md tells how", Some(AssumptionFate::Held)),
            ("the cart is in src/main/java/com/example/cart", Some(AssumptionFate::Wrong)),
            ("payment/ has the payments", Some(AssumptionFate::Wrong)),
            ("build.gradle is there", Some(AssumptionFate::Wrong)),
            ("auth/ and payment/ are there", Some(AssumptionFate::Wrong)),
            ("Spring Security를 사용 중일 것", None),
            ("it reads and/or writes over TCP/IP", None),
            ("version 2.0 of it is used", None),
            ("Node.js is installed", None),
            ("see https://example.org/a", None),
        ] {
            assert_eq!(verdict(text), expected, "{text}");
        }
    }
}

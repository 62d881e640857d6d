//! Learning from finished work: what a design held to, how tests are run, and what went wrong before it was right.
//!
//! Everything is read from contracts and their earlier versions. Learning twice learns nothing new.

use super::{NewDecision, NewPitfall, Noted, decide, set_pattern, warn};
use crate::{
    contracts::{self, ContractFile},
    error::EngineError,
    project::Project,
    session_gates::roots,
    sessions::{self, OvercomeFault},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path},
};
use waypost_model::{
    document::{
        Kind, RequestId, SubtaskId,
        contract::{
            Action, ContractPlace, DesignBrief, DesignContract, FailureCategory, Outcome,
            TaskBreakdown, TestContract, TestResult,
        },
        session::Status,
    },
    json::{Json, JsonPath},
    layout,
    session::gates::{
        normal_path,
        test_command::{self, KnownTests},
    },
    text::one_line,
};
use waypost_store::parse;

/// As much of what was wrong as helps the next agent.
const DESCRIPTION_MAX: usize = 300;

/// Something that was learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    pub noted: Noted,
    /// Where it was learned: `R1/T1`, `R1/T1/T1-S2`.
    pub from: String,
    /// In one line.
    pub text: String,
}

/// Learns from all finished tasks and subtasks; what is new or has changed.
pub fn learn(project: &mut Project) -> Result<Vec<Learned>, EngineError> {
    project.refuse_stale()?;
    let mut learned = Vec::new();
    let files = contracts::list(project)?;
    let results: Vec<&ContractFile> =
        files.iter().filter(|it| it.kind == Kind::TestResult).collect();
    let journal = JudgedSubtasks::of(project)?;
    let mut passed: BTreeMap<(RequestId, SubtaskId), TestResult> = BTreeMap::new();
    for file in &results {
        // One that is not valid says nothing; `contract validate` tells of it.
        let Some(result) = contracts::read::<TestResult>(project, &file.place).ok().flatten()
        else {
            continue;
        };
        if is_done(&result)
            && let Some(subtask) = &file.place.subtask
            && journal.allows(&file.place.request, subtask)
        {
            let key = format!("{}:{subtask}", file.place.request);
            learned.extend(from_retries(project, &file.place, &key)?);
            passed.insert((file.place.request.clone(), subtask.clone()), result);
        }
    }
    learned.extend(from_faults(project)?);
    for file in files.iter().filter(|it| it.kind == Kind::DesignContract) {
        if is_finished(project, &file.place, (&results, &journal))? {
            learned.extend(from_design(project, &file.place)?);
        }
    }
    learned.extend(from_commands(project, &passed)?);
    learned.retain(|it| it.noted.is_changed);
    Ok(learned)
}

fn is_done(result: &TestResult) -> bool {
    result.execution.result == Outcome::Pass && result.recommendation.action == Action::Complete
}

/// Which subtasks have passed their gates, of requests that the journal knows.
struct JudgedSubtasks {
    requests: BTreeSet<RequestId>,
    completed: BTreeSet<(RequestId, SubtaskId)>,
}

impl JudgedSubtasks {
    fn of(project: &mut Project) -> Result<Self, EngineError> {
        let (mut requests, mut completed) = (BTreeSet::new(), BTreeSet::new());
        for past in sessions::requests(project)? {
            let request = past.state.id.clone();
            let subtasks = past.state.tasks.values().flat_map(|task| task.subtasks.iter());
            let done = subtasks.filter(|(_, it)| it.status == Status::Completed);
            completed.extend(done.map(|(id, _)| (request.clone(), id.clone())));
            requests.insert(request);
        }
        Ok(Self { requests, completed })
    }

    /// What an agent has written is believed only where Waypost has judged nothing.
    fn allows(&self, request: &RequestId, subtask: &SubtaskId) -> bool {
        !self.requests.contains(request)
            || self.completed.contains(&(request.clone(), subtask.clone()))
    }
}

/// Whether every subtask of a task has passed its tests.
fn is_finished(
    project: &Project,
    task: &ContractPlace,
    (results, journal): (&[&ContractFile], &JudgedSubtasks),
) -> Result<bool, EngineError> {
    let own =
        results.iter().filter(|it| it.place.request == task.request && it.place.task == task.task);
    let mut passed = Vec::new();
    for file in own {
        match contracts::read::<TestResult>(project, &file.place).ok().flatten() {
            Some(result) if is_done(&result) => {
                let is_judged = |id: &SubtaskId| journal.allows(&task.request, id);
                passed.extend(file.place.subtask.clone().filter(is_judged));
            }
            _ => return Ok(false),
        }
    }
    let brief = contracts::read::<DesignBrief>(project, task).ok().flatten();
    let of_brief = brief.into_iter().flat_map(|it| it.subtasks).map(|it| it.id);
    let whole = ContractPlace::of_request(task.request.clone());
    let breakdown = contracts::read::<TaskBreakdown>(project, &whole).ok().flatten();
    let tasks = breakdown.into_iter().flat_map(|it| it.tasks);
    let own = tasks.filter(|it| Some(&it.id) == task.task.as_ref()).flat_map(|it| it.subtasks);
    let planned: Vec<SubtaskId> = of_brief.chain(own.map(|it| it.id)).collect();
    // Where nothing says which subtasks there are, nothing says that these are all.
    Ok(!planned.is_empty() && planned.iter().all(|id| passed.contains(id)))
}

/// What a design held to is a decision about its files.
fn from_design(project: &mut Project, place: &ContractPlace) -> Result<Vec<Learned>, EngineError> {
    let Some(design) = contracts::read::<DesignContract>(project, place).ok().flatten() else {
        return Ok(Vec::new());
    };
    let roots = roots(project);
    let refs: Vec<String> = design
        .file_refs
        .iter()
        .map(|it| normal_path(&it.path, &roots))
        .filter(|path| project.root().join(path).is_file())
        .collect();
    let name = design.task_name.clone().unwrap_or_else(|| place.to_string());
    let mut learned = Vec::new();
    for invariant in &design.invariants {
        let topic = format!("{name}: {}", invariant.id);
        let rationale = Some(format!("design-contract of {place}, whose tests have passed"));
        let (decision, refs) = (invariant.rule.clone(), refs.clone());
        let noted = decide(project, &NewDecision { topic, decision, rationale, refs })?;
        learned.push(Learned { noted, from: place.to_string(), text: invariant.rule.clone() });
    }
    Ok(learned)
}

/// What failed before it passed is something to look out for.
fn from_retries(
    project: &mut Project,
    place: &ContractPlace,
    key: &str,
) -> Result<Vec<Learned>, EngineError> {
    let tests = contracts::read::<TestContract>(project, place).ok().flatten();
    let roots = roots(project);
    let file = tests.as_ref().map(|it| normal_path(&it.test_file_path, &roots));
    let files: Vec<String> =
        file.filter(|it| project.root().join(it).is_file()).into_iter().collect();
    let mut learned = Vec::new();
    for version in contracts::versions(project, Kind::TestResult, place)? {
        if version.until.is_none() {
            continue;
        }
        let bytes = contracts::bytes_of(&version)?;
        let Ok(earlier) = parse::parse::<TestResult>(&bytes) else { continue };
        if earlier.value.execution.result == Outcome::Pass {
            continue;
        }
        for failed in &earlier.value.failed_tests {
            let case =
                tests.as_ref().and_then(|it| it.test_cases.iter().find(|it| it.id == failed.id));
            let name = failed.name.clone().or_else(|| case.map(|it| it.name.clone()));
            let name = name.unwrap_or_else(|| failed.id.clone());
            let Some(reason) = failed.reason.clone() else { continue };
            let whose = match failed.category {
                Some(FailureCategory::DesignViolation) => "the design had to change",
                Some(FailureCategory::TestError) => "the test was wrong",
                Some(FailureCategory::ImplementationError) | None => "the implementation was wrong",
            };
            let description = format!("{name}: {reason}");
            let new = NewPitfall {
                description: description.clone(),
                reason: Some(format!("{whose}; it passed after a retry")),
                learned_from: Some(key.to_owned()),
                files: files.clone(),
            };
            let noted = warn(project, &new)?;
            learned.push(Learned { noted, from: place.to_string(), text: description });
        }
    }
    Ok(learned)
}

/// A gate or a plan that did not hold at first, and does now.
fn from_faults(project: &mut Project) -> Result<Vec<Learned>, EngineError> {
    let mut learned = Vec::new();
    for OvercomeFault { request, subtask, what, faults } in sessions::overcome(project)? {
        let from =
            subtask.as_ref().map_or_else(|| request.to_string(), |it| format!("{request}:{it}"));
        let description = one_line(&format!("{what}: {}", faults.join("; ")), DESCRIPTION_MAX);
        let new = NewPitfall {
            description: description.clone(),
            reason: Some("it did not hold at first".to_owned()),
            learned_from: Some(from.clone()),
            files: files_of(project, (&request, subtask.as_ref()), &faults),
        };
        let noted = warn(project, &new)?;
        learned.push(Learned { noted, from, text: description });
    }
    Ok(learned)
}

/// The files that a fault is about: those that it names, and those that its subtask is about.
fn files_of(
    project: &Project,
    (request, subtask): (&RequestId, Option<&SubtaskId>),
    faults: &[String],
) -> Vec<String> {
    let roots = roots(project);
    let words = faults.iter().flat_map(|fault| fault.split_whitespace());
    let words = words.map(|word| word.trim_matches(|c: char| "`«»\"',;()".contains(c)));
    // A place is a path with a line behind it.
    let named = words.map(|word| word.split(':').next().unwrap_or(word).to_owned());
    let mut found: BTreeSet<String> = named.collect();
    if let Some((subtask, task)) = subtask.and_then(|id| Some((id, id.task()?))) {
        let of_task = ContractPlace::of_task(request.clone(), task.clone());
        let design = contracts::read::<DesignContract>(project, &of_task).ok().flatten();
        found.extend(design.into_iter().flat_map(|it| it.file_refs).map(|it| it.path));
        let place = ContractPlace::of_subtask(request.clone(), task, subtask.clone());
        let tests = contracts::read::<TestContract>(project, &place).ok().flatten();
        found.extend(tests.map(|it| it.test_file_path));
    }
    let found: BTreeSet<String> = found.iter().map(|path| normal_path(path, &roots)).collect();
    let is_plain = |it: Component<'_>| matches!(it, Component::Normal(_));
    let is_file = |path: &String| {
        Path::new(path).components().all(is_plain) && project.root().join(path).is_file()
    };
    found.into_iter().filter(|path| !path.is_empty()).filter(is_file).collect()
}

/// The file that says how tests are run, if one does.
fn file_of_command(project: &Project) -> Vec<String> {
    let root = project.root();
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    let own = read(layout::CONFIGURATION).is_some_and(|text| text.contains("test_command"));
    let from = match own {
        true => Some(layout::CONFIGURATION),
        false => match test_command::find(&read, &|_, _| None) {
            KnownTests::Command { from, .. } => Some(from),
            KnownTests::Several(_) | KnownTests::Unknown => None,
        },
    };
    from.map(str::to_owned).into_iter().collect()
}

/// How tests are run, where all agree.
fn from_commands(
    project: &mut Project,
    passed: &BTreeMap<(RequestId, SubtaskId), TestResult>,
) -> Result<Option<Learned>, EngineError> {
    let mut commands: Vec<&String> =
        passed.values().filter_map(|it| it.execution.command.as_ref()).collect();
    commands.dedup();
    let [command] = commands.as_slice() else { return Ok(None) };
    let path: JsonPath = "testing.command".parse().expect("it is a path");
    let known = super::read(project)?.unwrap_or_else(super::blank);
    // What a person has written about testing stays.
    let testing: JsonPath = "testing".parse().expect("it is a path");
    let patterns = Json::from(known.patterns);
    if testing.find(&patterns).is_some_and(|it| it.as_object().is_none()) {
        return Ok(None);
    }
    let files = file_of_command(project);
    let noted = set_pattern(project, &path, &Json::from(command.as_str()), &files)?;
    let text = format!("tests are run by `{command}`");
    Ok(Some(Learned { noted, from: "test results".to_owned(), text }))
}

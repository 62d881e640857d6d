//! Looking a project over: what is wrong, what to do, and what can be fixed without loss.

mod retention;
mod tasks;
mod values;
mod wall;
mod workspaces;

use crate::{
    agent::{self, GateHealth},
    attendance,
    environment::Environment,
    error::{EngineError, Problem},
    home::Home,
    init::{self, HookHealth, examine_hooks},
    knowledge,
    memory::{self, MemoryRepair},
    mending::{self, Examination},
    pin::{self, AskPin, PinFile},
    project::{ANOTHER, Project, ProjectSetup},
    seal, sessions,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use waypost_agent::{Product, settings::Registered};
use waypost_git::{
    self as git, Git,
    mend::{Cure, Damage},
};
use waypost_model::{
    actor::Actor, code::Code, document::ServerTaskId, machine::Rejected, next::NextStep,
};
use waypost_store::{
    StoreError,
    journal::{Journals, Mode},
    place::Place,
    projects::Projects,
    windows::forget_renderings,
};

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub subject: &'static str,
    pub verdict: Health,
    /// What was found, in a line.
    pub text: String,
    /// What to do about it, in words.
    pub remedy: Option<String>,
    /// What leads on; any one of them.
    pub next: Vec<NextStep>,
    /// What `--fix` would do, where it can.
    pub repair: Option<Repair>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    Good,
    /// It works, but a person should know.
    Note,
    Bad,
}

/// What can be fixed without a person's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Put the newest good backup in the place of a journal that is damaged or gone.
    RestoreJournal,
    /// Keep Waypost's files out of git's sight.
    Exclude,
    /// Delete what is beyond `[retention]`.
    Reduce,
    /// Rebuild work trees, refs and indexes from the journal and from what git has.
    Repository,
    /// Begin a new journal where the old one is gone without a backup and there are workspaces of tasks,
    /// and take up those that a person wants.
    BeginAgain,
    /// Make drafts of workspaces whose tasks the journal does not know, those that a person wants.
    TakeUpWorkspaces,
    /// Bring the memory's files into step.
    Memory(MemoryRepair),
}

/// Looks the project over, or fixes what `--fix` allows and looks again.
#[derive(Debug)]
pub struct Doctor<'a> {
    place: Place,
    home: Home,
    start: &'a Path,
    actor: Actor,
    ask_pin: AskPin,
    /// Where workspaces of tasks are; none: in the project.
    data: Option<PathBuf>,
    wanted: WantedWorkspaces,
}

/// Which workspaces without a task a person wants to have taken up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WantedWorkspaces {
    #[default]
    None,
    All,
    These(BTreeSet<ServerTaskId>),
}

impl<'a> Doctor<'a> {
    pub fn new(start: &'a Path, actor: Actor, ask_pin: AskPin) -> Result<Self, EngineError> {
        let home = Home::from_environment(&Environment::of_this_process());
        let (place, wanted) = (Place::find(start)?, WantedWorkspaces::None);
        Ok(Self { place, home, start, actor, ask_pin, data: None, wanted })
    }

    /// Looks for workspaces of tasks in this folder, if it is not the project's own, and takes up those that are
    /// wanted.
    pub fn workspaces(mut self, data: Option<PathBuf>, wanted: WantedWorkspaces) -> Self {
        (self.data, self.wanted) = (data, wanted);
        self
    }

    /// Everything that was looked at, good or bad.
    pub fn examine(&self) -> Vec<Finding> {
        let journal = self.examine_journal();
        let is_sound = journal.verdict == Health::Good;
        let mut findings = vec![self.examine_place(), journal];
        findings.push(self.examine_config());
        findings.push(self.examine_engine());
        findings.extend(self.examine_git());
        findings.extend(self.examine_repository());
        findings.extend(self.examine_exclude());
        findings.extend(self.examine_hooks());
        findings.push(wall::examine(self));
        findings.extend(self.examine_windows(is_sound));
        findings.extend(tasks::examine(self));
        findings.extend(workspaces::examine(self));
        findings.extend(values::examine(self));
        findings.extend(self.examine_memory());
        findings.extend(self.examine_session());
        findings.extend(retention::examine(self));
        findings
    }

    /// Fixes what can be fixed without loss; says what was done.
    pub fn repair(&self, repair: &Repair) -> Result<String, EngineError> {
        match repair {
            Repair::RestoreJournal => self.restore_journal(),
            Repair::BeginAgain => workspaces::begin_again(self),
            Repair::TakeUpWorkspaces => workspaces::take_up(self),
            Repair::Reduce => retention::reduce(self),
            Repair::Repository => {
                let mut project = Project::open_unreconciled(self.start, self.actor.clone())?;
                project.refuse_stale()?;
                mending::mend_now(&mut project)
            }
            Repair::Memory(repair) => {
                let mut project = Project::open_unreconciled(self.start, self.actor.clone())?;
                memory::mend(&mut project, repair)
            }
            Repair::Exclude => {
                // Without its journal the project is fixed all the same.
                if let Ok(mut project) = Project::open_unreconciled(self.start, self.actor.clone())
                {
                    project.refuse_stale()?;
                }
                let added = init::exclude(&Project::find(self.start, self.actor.clone())?)?;
                Ok(format!("git now ignores {}", added.join(", ")))
            }
        }
    }

    /// By a person only: what came after the backup is not in it, closed gates among it.
    fn restore_journal(&self) -> Result<String, EngineError> {
        if !self.actor.is_person() {
            return Err(Rejected::reserved("restoring a journal from its backup").into());
        }
        // A disk may fail once to read what it holds: only what is bad twice is replaced.
        let is_bad = |finding: &Finding| finding.repair == Some(Repair::RestoreJournal);
        if !self.examine().iter().any(is_bad) {
            return Ok("the journal is sound after all; nothing was restored".into());
        }
        let own = PinFile::of(&Environment::of_this_process());
        pin::ask(&own, self.ask_pin, "restoring a journal")?;
        let newest = Journals::of(&self.place).backups()?.into_iter().next().ok_or_else(|| {
            Problem::new(Code::BackupMissing, "there is no backup of the journal")
                .next(NextStep::AdoptFile { file: "FILE".into() })
        })?;
        let damaged = Journals::of(&self.place).restore(&newest.path)?;
        forget_renderings(&self.place)?;
        seal::forget(&ProjectSetup::find(self.start, &Environment::of_this_process())?)?;
        let kept = damaged.map(|path| format!("; the damaged one is kept as {}", path.display()));
        Ok(format!(
            "restored the journal up to entry {}; what came after it is not in the backup{}",
            newest.seq,
            kept.unwrap_or_default()
        ))
    }

    fn examine_place(&self) -> Finding {
        let text = match &self.place.git_common {
            Some(_) => format!("{} (work tree {})", self.place.root.display(), self.place.tree),
            None => format!("{} (not a git repository)", self.place.root.display()),
        };
        Finding::good("project", text)
    }

    fn examine_journal(&self) -> Finding {
        let verified = Journals::of(&self.place).open(Mode::ReadWrite).and_then(|mut journal| {
            journal.verify()?;
            let last = journal.view()?.last_seq()?;
            Ok(last)
        });
        match verified {
            Ok(1) => Finding::good("journal", "1 entry, its checksum holds"),
            Ok(last) => Finding::good("journal", format!("{last} entries, every checksum holds")),
            Err(StoreError::Missing { .. }) => self.missing_journal(),
            Err(error) => {
                let finding = Finding::bad("journal", error.to_string());
                let is_damaged =
                    matches!(error, StoreError::Corrupt { .. } | StoreError::Undecodable { .. });
                if is_damaged { self.with_backup(finding) } else { finding }
            }
        }
    }

    fn missing_journal(&self) -> Finding {
        let projects = self.home.state.as_deref().map(Projects::below);
        let known = projects.and_then(|projects| projects.recall(&self.place).ok().flatten());
        let Some(known) = known else {
            return Finding::note("journal", "there is none yet").next(NextStep::Register);
        };
        let text = "this project had a journal, and it has vanished; everything is closed";
        match known.is_of_another(&self.place) {
            true => {
                let text = format!("{text} until a person gives a command. {ANOTHER}");
                self.with_backup(Finding::bad("journal", text).next(NextStep::Register))
            }
            false => self.with_backup(Finding::bad("journal", text)),
        }
    }

    fn with_backup(&self, finding: Finding) -> Finding {
        let backups = Journals::of(&self.place).backups().unwrap_or_default();
        match backups.into_iter().next() {
            Some(backup) => Finding {
                repair: Some(Repair::RestoreJournal),
                ..finding
                    .remedy(format!("there is a backup, up to entry {}", backup.seq))
                    .next(NextStep::Repair)
            },
            None => self.without_backup(finding),
        }
    }

    fn without_backup(&self, finding: Finding) -> Finding {
        let finding = finding
            .remedy("there is no backup; a new journal starts from a state file, or empty")
            .next(NextStep::AdoptFile { file: "FILE".into() })
            .next(NextStep::RegisterAfresh);
        match workspaces::are_there(self) {
            true => Finding {
                repair: Some(Repair::BeginAgain),
                ..finding
                    .remedy(
                        "there is no backup, but there are workspaces of tasks: a new journal can \
                         begin with what is in them",
                    )
                    .next(NextStep::Repair)
            },
            false => finding,
        }
    }

    fn examine_config(&self) -> Finding {
        let setup = ProjectSetup::find(self.start, &Environment::of_this_process());
        match setup.map(|setup| setup.configuration.settings()) {
            Ok(settings) => Finding::good("configuration", format!("{} values", settings.len())),
            Err(error) => {
                Finding::bad("configuration", error.to_string()).next(NextStep::ShowConfiguration)
            }
        }
    }

    fn examine_engine(&self) -> Finding {
        match Journals::of(&self.place).lease_holder() {
            Ok(Some(owner)) => Finding::note("engine", format!("held by {owner}")),
            Ok(None) if self.has_lost_engine() => {
                Finding::note("engine", "the run's engine is gone, and has left what it started")
                    .next(NextStep::ResumeRun)
                    .next(NextStep::StopRun)
            }
            Ok(None) => Finding::good("engine", "not running"),
            Err(StoreError::Busy { .. }) => Finding::note("engine", "it has just begun"),
            Err(error) => Finding::bad("engine", error.to_string()),
        }
    }

    /// Work trees and merges need a git that is not too old.
    fn examine_git(&self) -> Option<Finding> {
        self.place.git_common.as_ref()?;
        let words = |(major, minor): (u32, u32)| format!("{major}.{minor} or later");
        let said = match Git::at(&self.place.root).text(&["--version"]) {
            Ok(said) => said,
            Err(error) => {
                let remedy = format!("install git {}", words(git::VERSION_TO_REVERT));
                let text = format!("it cannot be run: {error}");
                return Some(Finding::bad("git", text).remedy(remedy));
            }
        };
        let found = git::version(&said).unwrap_or_default();
        let said = said.trim().trim_start_matches("git version ");
        Some(if found >= git::VERSION_TO_REVERT {
            Finding::good("git", format!("version {}", words(git::VERSION_TO_REVERT)))
        } else if found >= git::VERSION_MIN {
            let needed = words(git::VERSION_TO_REVERT);
            Finding::note("git", format!("version {said}: reverting a task needs {needed}"))
        } else {
            let needed = words(git::VERSION_MIN);
            let text = format!("version {said} is too old: runs in work trees need {needed}");
            Finding::bad("git", text).remedy("update git, or work with `run.isolation = \"none\"`")
        })
    }

    /// Trees, refs, indexes and recorded commits against the journal. An engine that is at work looks
    /// after them itself.
    fn examine_repository(&self) -> Vec<Finding> {
        const SUBJECT: &str = "repository";
        if self.place.git_common.is_none() {
            return Vec::new();
        }
        // Why it cannot be opened is said elsewhere.
        let project = Project::open_unreconciled(self.start, self.actor.clone());
        let Ok(mut project) = project else { return Vec::new() };
        let found = match mending::examine(&mut project) {
            Ok(Examination::Damaged(found)) => found,
            Ok(Examination::Whole { commits }) => {
                let text =
                    format!("work trees and branches are whole; recorded commits: {commits}");
                return vec![Finding::good(SUBJECT, text)];
            }
            Ok(Examination::Unneeded) => return Vec::new(),
            Ok(Examination::AtWork) => {
                let text = "not looked at while git of an engine is at work";
                return vec![Finding::note(SUBJECT, text)];
            }
            Err(error) => return vec![Finding::bad(SUBJECT, error.to_string())],
        };
        let finding = |damage: Damage| match damage.cure {
            Cure::Rebuilt(how) => {
                let finding = Finding::bad(SUBJECT, damage.what).remedy(how);
                Finding { repair: Some(Repair::Repository), ..finding.next(NextStep::Repair) }
            }
            Cure::Lost(remedy) => Finding::bad(SUBJECT, damage.what).remedy(remedy),
        };
        found.into_iter().map(finding).collect()
    }

    fn has_lost_engine(&self) -> bool {
        let project = Project::open_unreconciled(self.start, self.actor.clone());
        project.is_ok_and(|mut project| attendance::has_lost_engine(&mut project).unwrap_or(false))
    }

    fn examine_exclude(&self) -> Option<Finding> {
        let project = Project::find(self.start, self.actor.clone()).ok()?;
        self.place.git_common.as_ref()?;
        let missing = init::missing_excludes(&project).ok()?;
        Some(if missing.is_empty() {
            Finding::good("git", "Waypost's files are out of its sight")
        } else {
            let text = format!("it would show {} as untracked", missing.join(", "));
            let finding =
                Finding::note("git", text).next(NextStep::Register).next(NextStep::Repair);
            Finding { repair: Some(Repair::Exclude), ..finding }
        })
    }

    fn examine_hooks(&self) -> Vec<Finding> {
        let Ok(project) = Project::find(self.start, self.actor.clone()) else { return Vec::new() };
        let HookHealth { registered, git_hooks, faults } = examine_hooks(&project);
        let faults = faults.into_iter().map(|text| {
            Finding::bad("hooks", text).next(NextStep::Register).next(NextStep::Unregister)
        });
        let mut findings: Vec<Finding> = faults.collect();
        findings
            .extend((!git_hooks.is_empty()).then(|| Finding::good("hooks", git_hooks.join(", "))));
        for product in project.setup.programs.products() {
            let files = registered.iter().filter(|(of, _)| *of == product).map(|(_, name)| name);
            let files: Vec<&str> = files.map(String::as_str).collect();
            findings.extend(program_hooks(&project, product, &files));
        }
        findings
    }

    /// Where the memory is in use; why the project cannot be opened is said elsewhere.
    fn examine_memory(&self) -> Vec<Finding> {
        let project = Project::open_unreconciled(self.start, self.actor.clone());
        let Ok(mut project) = project else { return Vec::new() };
        match memory::is_in_use(&mut project) {
            Ok(true) => memory::examine(&mut project),
            Ok(false) | Err(_) => Vec::new(),
        }
    }

    /// Where a session was begun or files of one are there.
    fn examine_session(&self) -> Vec<Finding> {
        let project = Project::open_unreconciled(self.start, self.actor.clone());
        let Ok(mut project) = project else { return Vec::new() };
        let mut found = sessions::examine(&mut project);
        found.extend(knowledge::examine(&mut project));
        found
    }

    /// Opening the project brings its windows into step; what that has to say is worth a line.
    /// Only then is it found out that a journal, sound in itself, lacks what was shown before.
    fn examine_windows(&self, is_sound: bool) -> Vec<Finding> {
        let mut project = match Project::open(self.start, self.actor.clone()) {
            Ok(project) => project,
            Err(EngineError::Store(error @ StoreError::Corrupt { .. })) if is_sound => {
                return vec![self.with_backup(Finding::bad("journal", error.to_string()))];
            }
            // Why it cannot be opened was said above.
            Err(_) => return Vec::new(),
        };
        let notices = project.take_notices();
        if notices.is_empty() && !project.has_journal() {
            return Vec::new();
        }
        if notices.is_empty() {
            return vec![Finding::good("windows", "in step with the journal")];
        }
        let found = notices.into_iter();
        found.map(|it| Finding { next: it.next, ..Finding::note("windows", it.text) }).collect()
    }
}

/// How the hook of an agent program is that is registered here. It is well only if it has refused a
/// call in this project, with the settings and the program that there are now.
fn program_hooks(project: &Project, product: Product, files: &[&str]) -> Vec<Finding> {
    let places = agent::registered_at(project, product);
    if places.is_empty() {
        return Vec::new();
    }
    let title = product.title();
    let mut findings = Vec::new();
    if places.len() > 1 {
        let names: Vec<String> = places.iter().map(|place| place_name(project, place)).collect();
        let text = format!("{title} has it more than once: {}", names.join(" and "));
        let remedy = "take this project's out, or disable the plugin";
        findings.push(Finding::note("hooks", text).remedy(remedy).next(NextStep::Unregister));
    }
    let obstacles = agent::obstacles(project, product);
    let is_hindered = !obstacles.is_empty();
    findings.extend(
        obstacles
            .into_iter()
            .map(|it| Finding::bad("hooks", format!("{title}: {}", it.text)).remedy(it.remedy)),
    );
    if is_hindered {
        return findings;
    }
    let name = match files {
        [] => place_name(project, &places[0]),
        files => files.join(", "),
    };
    let checks = agent::checks(&project.setup).unwrap_or_default();
    let check = checks.get(product.as_str()).filter(|check| check.is_current(project));
    let again = NextStep::CheckAgent { agent: product.to_string() };
    let found = check.and_then(|check| Some((check.at, check.registered.as_ref()?)));
    findings.push(match found {
        Some((at, GateHealth::Alive)) => {
            Finding::good("hooks", format!("{name}: refused a call here ({at})"))
        }
        Some((at, GateHealth::Silent)) => {
            let text = format!("{name}: {title} did not ask it ({at})");
            Finding::bad("hooks", text).next(again)
        }
        Some((at, GateHealth::Ran)) => {
            let text = format!("{name}: {title} ran a command that it refused ({at})");
            Finding::bad("hooks", text).next(again)
        }
        Some((_, GateHealth::NoHook(why) | GateHealth::Failed(why))) => {
            Finding::note("hooks", format!("{name}: not known whether it is asked: {why}"))
                .next(again)
        }
        None => {
            let text = format!("{name}: registered, but not tried here with these settings");
            Finding::note("hooks", text).next(again)
        }
    });
    findings
}

/// Where a hook is registered, in words.
fn place_name(project: &Project, place: &Registered) -> String {
    let shown =
        |path: &Path| path.strip_prefix(project.root()).unwrap_or(path).display().to_string();
    match place {
        Registered::File(path) => shown(path),
        Registered::Plugin(path) => format!("the plugin that {} enables", shown(path)),
    }
}

impl Finding {
    fn new(subject: &'static str, verdict: Health, text: impl Into<String>) -> Self {
        Self { subject, verdict, text: text.into(), remedy: None, next: Vec::new(), repair: None }
    }

    pub(crate) fn good(subject: &'static str, text: impl Into<String>) -> Self {
        Self::new(subject, Health::Good, text)
    }

    pub(crate) fn note(subject: &'static str, text: impl Into<String>) -> Self {
        Self::new(subject, Health::Note, text)
    }

    pub(crate) fn bad(subject: &'static str, text: impl Into<String>) -> Self {
        Self::new(subject, Health::Bad, text)
    }

    fn remedy(mut self, text: impl Into<String>) -> Self {
        self.remedy = Some(text.into());
        self
    }

    pub(crate) fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }
}

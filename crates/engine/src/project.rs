//! One project as a command sees it: where it is, how it is configured, and its machines.
//!
//! A command opens the project, which brings windows and journal together; asks or commands; and
//! ends by showing the new state in the windows. Nothing here outlives the command.

mod beside;
mod log;

pub(crate) use log::LOG_PAGE;

use crate::{
    boxes,
    clock::Clock,
    config::{Configuration, Sources},
    conflict::decide_again_if_moved,
    environment::Environment,
    error::{EngineError, Problem},
    fence::{self, Fence},
    gate,
    home::Home,
    host,
    ledger::{
        ImagePlace, Ledger, Loaded, MachineCommand, Work, inbox_stream, knowledge_stream,
        memory_stream, run_stream, session_stream, workflow_stream,
    },
    permits,
    pin::{self, AskPin},
    remains,
    resettle::resettle,
    seal,
    spelling::Spelling,
    summary,
    tasks::KnownTasks,
    verdicts, windows,
};
use std::{
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, atomic::AtomicBool},
    time::Duration,
};
use waypost_agent::programs::Programs;
use waypost_model::{
    actor::Actor,
    code::Code,
    id::{StreamName, TaskId},
    inbox::Inbox,
    job::Job,
    knowledge::KnowledgeLog,
    layout,
    machine::{Machine, Rejected},
    memory::Memory,
    next::Remark,
    run::{self, Run},
    session::Session,
    task::ServedTask,
    workflow::{self, Workflow},
};
use waypost_store::{
    StoreError,
    journal::{Birth, Cursor, Journal, Journals, Mode},
    place::Place,
    projects::Projects,
};

/// How old the newest backup of the journal may become.
const BACKUP_INTERVAL: Duration = Duration::from_secs(24 * 3_600);

/// Up to this size a backup takes a fraction of a second.
const BACKUP_SIZE_MAX: u64 = 32 << 20;

/// What is said where a repository was made again.
pub(crate) const ANOTHER: &str = "this repository was made again: it is another one than that whose \
                                  journal was here, and nothing of that is taken over";

/// Where a project is and how it is set up; nothing of it is open.
#[derive(Debug)]
pub struct ProjectSetup {
    pub(crate) place: Place,
    pub(crate) home: Home,
    pub(crate) configuration: Configuration,
    /// The agent programs that are known here.
    pub(crate) programs: Programs,
}

/// For whom a project is open.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) actor: Actor,
    /// The actor's own, which may be that of another process.
    pub(crate) environment: Environment,
    /// The attempt that the caller is below.
    pub(crate) fence: Option<Fence>,
    /// How the person is asked for the PIN.
    pub(crate) ask_pin: AskPin,
    /// Whether the PIN was typed for this command.
    pub(crate) is_confirmed: bool,
}

/// A project that is open for a caller. What is done with it is functions over it, in the modules
/// that know about it.
#[derive(Debug)]
pub struct Project {
    pub(crate) setup: ProjectSetup,
    pub(crate) caller: Caller,
    pub(crate) clock: Clock,
    /// Where the journal is kept.
    pub(crate) journals: Journals,
    pub(crate) journal: Option<Journal>,
    pub(crate) ledger: Ledger,
    /// Tells whether others have committed since: in other processes, and in other threads of a
    /// host.
    seen_version: (u64, u64),
    /// How often other threads of a host have committed.
    pub(crate) commits_beside: u64,
    /// The journal's version as a host has found it in its present turn.
    version_in_turn: Option<u64>,
    notices: Vec<Remark>,
    pub(crate) spelling: Spelling,
    /// Whether others wait for this process: then it does not wait for a lock of another tool.
    pub(crate) is_hurried: bool,
    /// What this process knows of TASKS.md.
    pub(crate) tasks: KnownTasks,
    /// Notices that were taken: a command opens and shows, and both may find the same.
    said: Vec<Remark>,
    /// Calls of agents that the hook has judged, as far as that was looked at.
    pub(crate) judged: verdicts::JudgedCalls,
    /// Set from outside when what is being done is not wanted any more.
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl ProjectSetup {
    /// The project around `start`, as it is set up for a user with this environment.
    pub fn find(start: &Path, environment: &Environment) -> Result<Self, EngineError> {
        Self::find_with(start, environment, &Programs::default())
    }

    /// As `find`, with other agent programs than those that Waypost brings along.
    fn find_with(
        start: &Path,
        environment: &Environment,
        programs: &Programs,
    ) -> Result<Self, EngineError> {
        let home = Home::from_environment(environment);
        let place = Place::find(start)?;
        let configuration = configuration_of(&place, &home, environment, programs)?;
        Ok(Self { place, home, configuration, programs: programs.clone() })
    }

    /// Takes over the configuration as it is now, in a process that lives for long. One that cannot be
    /// read changes nothing.
    pub(crate) fn configure_again(&mut self, environment: &Environment) -> Result<(), EngineError> {
        let now = configuration_of(&self.place, &self.home, environment, &self.programs)?;
        self.configuration = now;
        Ok(())
    }

    pub fn root(&self) -> &Path {
        &self.place.root
    }

    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// How long running tasks have when the run is asked to end.
    pub fn stop_grace(&self) -> Duration {
        Duration::from_secs(self.configuration.values.run.stop_grace_seconds)
    }

    /// Where the output of a task's attempt is kept.
    pub fn task_log(&self, id: &TaskId, attempt: u32) -> PathBuf {
        crate::execute::log_path(&self.place.state, id, attempt)
    }

    /// The work tree that the run's window is in; none in a bare repository.
    pub fn main_root(&self) -> Option<PathBuf> {
        if self.place.tree.is_main() {
            return Some(self.place.root.clone());
        }
        let git = self.place.git_common.as_ref()?;
        git.file_name()
            .is_some_and(|name| name == ".git")
            .then(|| git.parent().map(Path::to_owned))?
    }

    /// The work tree whose files all work trees share: the repository's own, or this one where there is none.
    pub fn shared_root(&self) -> PathBuf {
        self.main_root().unwrap_or_else(|| self.root().to_owned())
    }

    /// The folder that work trees of runs are made below: the repository's own work tree, or the
    /// repository itself where it is bare.
    pub(crate) fn trees_home(&self) -> Option<PathBuf> {
        let bare = || {
            let common = self.place.git_common.as_ref()?;
            let is_bare = waypost_git::Git::at(common).config("core.bare").ok()??;
            (is_bare == "true").then(|| common.clone())
        };
        self.main_root().or_else(bare)
    }

    /// The user's list of projects that have a journal.
    pub(crate) fn projects(&self) -> Option<Projects> {
        self.home.state.as_deref().map(Projects::below)
    }

    /// Where that list is.
    pub(crate) fn projects_folder(&self) -> Option<PathBuf> {
        self.home.state.as_ref().map(|state| state.join(layout::user_state::PROJECTS))
    }

    /// Whether the user's list has a journal of another repository, which stood at this path.
    pub(crate) fn is_another_repository(&self) -> bool {
        let known = self.projects().and_then(|it| it.recall(&self.place).ok().flatten());
        known.is_some_and(|known| known.is_of_another(&self.place))
    }

    /// Refuses to go on where the user's list says that the project has had a journal. In a repository
    /// that was made again a person may begin again; for an agent, which could have made it again to be
    /// rid of a gate, everything stays closed.
    pub(crate) fn refuse_vanished(&self, actor: &Actor) -> Result<(), EngineError> {
        match self.projects().map(|projects| projects.missing(&self.place)) {
            None | Some(StoreError::Missing { .. }) => Ok(()),
            Some(StoreError::Vanished { .. })
                if actor.is_person() && self.is_another_repository() =>
            {
                Ok(())
            }
            Some(error) => Err(error.into()),
        }
    }
}

fn configuration_of(
    place: &Place,
    home: &Home,
    environment: &Environment,
    programs: &Programs,
) -> Result<Configuration, EngineError> {
    Configuration::load(&Sources {
        user_file: home.config_file(),
        project_file: Some(place.project_root().join(layout::CONFIGURATION)),
        environment: environment
            .texts()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        programs: programs.clone(),
    })
}

impl Project {
    /// Finds the project around `start` without opening its journal.
    pub fn find(start: &Path, actor: Actor) -> Result<Self, EngineError> {
        Self::find_in(start, actor, Environment::of_this_process(), &Programs::default())
    }

    /// As `find`, for an actor with this environment, which may be in another process, and with the
    /// agent programs that are known to the process that asks.
    pub(crate) fn find_in(
        start: &Path,
        actor: Actor,
        environment: Environment,
        programs: &Programs,
    ) -> Result<Self, EngineError> {
        let setup = ProjectSetup::find_with(start, &environment, programs)?;
        Ok(Self::with_setup(setup, actor, environment))
    }

    /// Finds the project, opens its journal if it has one, and takes up edits of its windows.
    pub fn open(start: &Path, actor: Actor) -> Result<Self, EngineError> {
        let mut project = Self::open_unreconciled(start, actor)?;
        // An attempt that is over may look. What others have left for the next command is not its
        // to take up or to refuse.
        match project.refuse_stale() {
            Err(EngineError::Rejected(_)) => return Ok(project),
            looked => looked?,
        }
        if let Err(error) = verdicts::take_in(&mut project) {
            project.notice(format!("what the hook wrote down was not taken in: {error}"));
        }
        windows::reconcile(&mut project)?;
        Ok(project)
    }

    /// As `open`, leaving the windows as they are.
    pub fn open_unreconciled(start: &Path, actor: Actor) -> Result<Self, EngineError> {
        Self::open_for(start, actor, Environment::of_this_process(), &Programs::default())
    }

    /// As `open_unreconciled`, for an actor in another process.
    pub(crate) fn open_for(
        start: &Path,
        actor: Actor,
        environment: Environment,
        programs: &Programs,
    ) -> Result<Self, EngineError> {
        let mut project = Self::find_in(start, actor, environment, programs)?;
        project.open_journal()?;
        Ok(project)
    }

    pub fn setup(&self) -> &ProjectSetup {
        &self.setup
    }

    pub fn root(&self) -> &Path {
        self.setup.root()
    }

    pub fn place(&self) -> &Place {
        &self.setup.place
    }

    pub fn actor(&self) -> &Actor {
        &self.caller.actor
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn configuration(&self) -> &Configuration {
        self.setup.configuration()
    }

    /// What it means that the journal is not where it was when it was opened, if that is so: the folder
    /// was deleted, and nothing must be made there again.
    pub(crate) fn gone(&self) -> Option<EngineError> {
        let path = self.journals.path();
        let is_on_disk = self.journal.is_some() && !self.journals.files().is_empty();
        let is_missing = || matches!(path.try_exists(), Ok(false));
        if !is_on_disk || !is_missing() {
            return None;
        }
        let root = self.root().display();
        let message =
            format!("{root} was deleted, or its journal was: nothing is worked on there any more");
        Some(Problem::new(Code::JournalMissing, message).into())
    }

    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// What should be said to the user, and has not been yet.
    pub fn take_notices(&mut self) -> Vec<Remark> {
        self.said.extend_from_slice(&self.notices);
        std::mem::take(&mut self.notices)
    }

    /// Takes over how next steps are spelled in what leaves the machine.
    pub fn spell(&mut self, spelling: Spelling) {
        self.spelling = spelling;
    }

    /// Takes over how a person is asked for the PIN.
    pub fn ask_pin_by(&mut self, ask: AskPin) {
        self.caller.ask_pin = ask;
    }

    /// Ends what this project runs for its caller as soon as the flag is set; nothing of it is recorded then.
    pub fn stop_when(&mut self, flag: Arc<AtomicBool>) {
        self.stop = Some(flag);
    }

    pub(crate) fn notice(&mut self, remark: impl Into<Remark>) {
        let remark = remark.into();
        if !self.notices.contains(&remark) && !self.said.contains(&remark) {
            self.notices.push(remark);
        }
    }

    /// Opens the journal, if there is one; a journal that has vanished is an error.
    fn open_journal(&mut self) -> Result<(), EngineError> {
        resettle(self)?;
        match self.journals.open(Mode::ReadWrite) {
            Ok(mut journal) => {
                seal::check(&self.setup, &mut journal)?;
                self.follow_move(journal.id());
                self.take_journal(journal);
                remains::clear(self);
            }
            Err(StoreError::Missing { .. }) => match self.appeared()? {
                Some(journal) => self.take_journal(journal),
                None if self.setup.is_another_repository() => self.notice(ANOTHER),
                None => {}
            },
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The journal that another process has made since it was looked for. Without one, a journal that
    /// the user's list knows has vanished.
    fn appeared(&self) -> Result<Option<Journal>, EngineError> {
        let Err(vanished) = self.setup.refuse_vanished(&self.caller.actor) else {
            return Ok(None);
        };
        match self.journals.open(Mode::ReadWrite) {
            Ok(journal) => Ok(Some(journal)),
            Err(StoreError::Missing { .. }) => Err(vanished),
            Err(error) => Err(error.into()),
        }
    }

    /// A project may have been moved since it was noted that it has a journal: then it is missed at
    /// its new place as well. The list is a safety net; that it cannot be written was said once.
    fn follow_move(&self, journal_id: &str) {
        if let Some(projects) = self.setup.projects() {
            let _not_noted = projects.remember(&self.setup.place, journal_id);
        }
    }

    /// Makes the journal if there is none, and notes that this project has one.
    pub fn ensure_journal(&mut self) -> Result<&mut Journal, EngineError> {
        if self.journal.is_none() {
            match self.appeared()? {
                Some(journal) => self.take_journal(journal),
                None => self.create_journal()?,
            }
        }
        Ok(self.journal.as_mut().expect("it was just made"))
    }

    pub(crate) fn create_journal(&mut self) -> Result<(), EngineError> {
        let birth = Birth { journal_id: fresh_id(), at: self.clock.now() };
        if self.setup.is_another_repository() {
            // What a person has allowed was for the old one.
            permits::forget(&self.setup)?;
        }
        let journal = self.journals.open(Mode::Create(&birth))?;
        seal::forget(&self.setup)?;
        if let Some(projects) = self.setup.projects()
            && let Err(error) = projects.remember(&self.setup.place, journal.id())
        {
            self.notice(format!("this project is not in your list of projects: {error}"));
        }
        self.take_journal(journal);
        Ok(())
    }

    /// One machine as it stands now; none where there is no journal.
    pub(crate) fn machine<M: Machine>(
        &mut self,
        stream: &StreamName,
    ) -> Result<Option<&Loaded<M>>, EngineError> {
        let Some(journal) = &mut self.journal else { return Ok(None) };
        Ok(Some(self.ledger.get::<M>(&journal.view()?, stream)?))
    }

    /// One machine as it stood after so many events; none where there are fewer.
    pub(crate) fn machine_at<M: Machine>(
        &mut self,
        stream: &StreamName,
        head: u64,
    ) -> Result<Option<M>, EngineError> {
        let Some(journal) = &mut self.journal else { return Ok(None) };
        Ok(Loaded::<M>::at(&journal.view()?, stream, head)?)
    }

    /// Whether one of these versions of a machine is such; a version is how many events it has had.
    pub(crate) fn any_version<M: Machine>(
        &mut self,
        stream: &StreamName,
        versions: Range<u64>,
        is_it: impl FnMut(&M) -> bool,
    ) -> Result<bool, EngineError> {
        match &mut self.journal {
            Some(journal) if !versions.is_empty() => {
                Ok(Loaded::<M>::any(&journal.view()?, stream, versions, is_it)?)
            }
            _ => Ok(false),
        }
    }

    fn take_journal(&mut self, journal: Journal) {
        self.ledger.keep_images_at(ImagePlace::new(&self.setup.place.state, journal.id()));
        self.journal = Some(journal);
    }

    /// Keeps images of large machines that have had so many events since the last ones.
    pub(crate) fn keep_images(&mut self, after: u64) {
        let Some(Ok(view)) = self.journal.as_mut().map(Journal::view) else { return };
        self.ledger.keep_images(&view, after);
    }

    /// The workflow's stream of this work tree.
    pub fn workflow_stream(&self) -> StreamName {
        workflow_stream(self.setup.place.tree.as_str())
    }

    /// The workflow of this work tree.
    pub fn workflow(&mut self) -> Result<&Workflow, EngineError> {
        let stream = self.workflow_stream();
        let Some(journal) = &mut self.journal else {
            return Ok(const { &Workflow { feature: None } });
        };
        Ok(&self.ledger.get::<Workflow>(&journal.view()?, &stream)?.state)
    }

    /// The run of this repository.
    pub fn run(&mut self) -> Result<&Run, EngineError> {
        let Some(journal) = &mut self.journal else { return Ok(const { &Run::none() }) };
        Ok(&self.ledger.get::<Run>(&journal.view()?, &run_stream())?.state)
    }

    /// The run as it was when it was last looked at or changed from here, without asking the
    /// journal whether others have gone on since.
    pub(crate) fn run_seen(&mut self) -> Result<&Run, EngineError> {
        if self.run_known().is_none() {
            self.run()?;
        }
        Ok(self.run_known().unwrap_or(const { &Run::none() }))
    }

    /// The run as it was last seen from here, if it was.
    pub(crate) fn run_known(&self) -> Option<&Run> {
        self.ledger.seen(&run_stream())
    }

    /// The memory of this repository.
    pub fn memory(&mut self) -> Result<&Memory, EngineError> {
        static NONE: LazyLock<Memory> = LazyLock::new(Memory::none);
        let Some(journal) = &mut self.journal else { return Ok(&NONE) };
        Ok(&self.ledger.get::<Memory>(&journal.view()?, &memory_stream())?.state)
    }

    /// The session of this repository.
    pub fn session(&mut self) -> Result<&Session, EngineError> {
        static NONE: Session = Session::none();
        let Some(journal) = &mut self.journal else { return Ok(&NONE) };
        Ok(&self.ledger.get::<Session>(&journal.view()?, &session_stream())?.state)
    }

    /// What became of the knowledge of this repository.
    pub fn knowledge(&mut self) -> Result<&KnowledgeLog, EngineError> {
        static NONE: KnowledgeLog = KnowledgeLog::none();
        let Some(journal) = &mut self.journal else { return Ok(&NONE) };
        Ok(&self.ledger.get::<KnowledgeLog>(&journal.view()?, &knowledge_stream())?.state)
    }

    /// What waits for a person.
    pub fn inbox(&mut self) -> Result<Inbox, EngineError> {
        let Some(journal) = &mut self.journal else { return Ok(Inbox::default()) };
        Ok(self.ledger.get::<Inbox>(&journal.view()?, &inbox_stream())?.state.clone())
    }

    /// Gives a command to the workflow of this work tree.
    pub fn develop(&mut self, command: workflow::Command) -> Result<(), EngineError> {
        let stream = self.workflow_stream();
        self.command(&[MachineCommand::workflow(stream, command)])
    }

    /// Gives a command to the run.
    pub fn run_command(&mut self, command: run::Command) -> Result<(), EngineError> {
        self.command(&[MachineCommand::run(command)])
    }

    /// Decides all commands in one transaction, or none of them; then shows the new state.
    pub fn command(&mut self, commands: &[MachineCommand]) -> Result<(), EngineError> {
        self.command_if(commands, |_| Ok(()))
    }

    /// As `command`, if `check` has nothing against the run as it would be then.
    pub(crate) fn command_if(
        &mut self,
        commands: &[MachineCommand],
        check: impl FnMut(&Run) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let is_run = commands.iter().any(|it| it.is_for::<Run>());
        self.commit_if(commands, check)?;
        if is_run {
            boxes::tick(self)?;
        }
        host::poke(&self.setup.place);
        windows::render(self)?;
        summary::keep(self);
        self.keep_images(1);
        if commands.iter().any(|it| it.is_for::<Workflow>()) {
            gate::renew_record(self);
        }
        self.back_up_if_due();
        Ok(())
    }

    /// Copies the journal once a day, while that is quick; a larger one is the engine's to copy.
    pub(crate) fn back_up_if_due(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let newest = self.journals.backups().unwrap_or_default().into_iter().next();
        let made = newest.and_then(|newest| newest.made);
        if made.is_some_and(|made| self.clock.now().since(made) < BACKUP_INTERVAL) {
            return;
        }
        if self.journals.size().unwrap_or(0) <= BACKUP_SIZE_MAX
            && let Err(error) = journal.back_up()
        {
            self.notice(format!("the journal could not be backed up: {error}"));
        }
    }

    /// As `command`, without rendering.
    pub(crate) fn commit(&mut self, commands: &[MachineCommand]) -> Result<(), EngineError> {
        self.commit_if(commands, |_| Ok(()))
    }

    /// As `commit`, if `check` has nothing against the run as it would be then.
    pub(crate) fn commit_if<T>(
        &mut self,
        commands: &[MachineCommand],
        mut check: impl FnMut(&Run) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        pin::confirm_for(self, commands)?;
        let now = self.clock.now();
        if self.journal.is_none() {
            // No journal is made for a user who may not write to it.
            self.refuse_stale()?;
        }
        self.ensure_journal()?;
        let Self { journal, ledger, caller: Caller { actor, fence, .. }, .. } = self;
        let journal = journal.as_mut().expect("a journal was made sure of");
        let fence = fence.as_ref().filter(|_| *actor != Actor::Waypost);
        decide_again_if_moved(|| {
            let mut work = Work::begin(ledger, journal, actor, now)?;
            let fenced = fence.map_or(Ok(()), |fence| work.check(fence));
            let decided = fenced
                .and_then(|()| commands.iter().try_for_each(|command| work.handle(command)))
                .and_then(|()| check(work.run()?));
            match decided {
                Ok(found) => {
                    work.commit()?;
                    Ok(found)
                }
                Err(error) => {
                    work.abandon();
                    Err(error)
                }
            }
        })
    }

    /// Refuses a caller below an attempt that is over; for what is done before a commit, or
    /// without one. A commit looks again by itself.
    pub fn refuse_stale(&mut self) -> Result<(), EngineError> {
        let Some(fence) = self.caller.fence.clone() else { return Ok(()) };
        if let Some(stream) = fence.served() {
            let task = self.machine::<ServedTask>(&stream)?.map(|loaded| &loaded.state);
            return Ok(fence.check_served(task.unwrap_or(const { &ServedTask::none() }))?);
        }
        let Some(stream) = fence.job() else { return Ok(fence.check(self.run()?)?) };
        let job = self.machine::<Job>(&stream)?.map(|loaded| &loaded.state);
        Ok(fence.check_job(job.unwrap_or(const { &Job::none() }))?)
    }

    /// The attempt at `id` that speaks: the one that was named, else the one that this process is
    /// below. An agent speaks for no other.
    pub fn speaking_attempt(
        &mut self,
        id: &TaskId,
        named: Option<u32>,
    ) -> Result<Option<u32>, EngineError> {
        self.refuse_stale()?;
        let own = self.caller.fence.as_ref().and_then(|fence| fence.attempt_at(id));
        match (own, named) {
            // It is no attempt, and would be taken for none that was named.
            (_, Some(0)) => {
                Err(Problem::new(Code::BadArgument, "attempts are counted from 1, there is no 0")
                    .into())
            }
            (Some(own), Some(named)) if own != named && !self.caller.actor.is_person() => {
                let message = format!("attempt {own} of {id} does not speak for attempt {named}");
                Err(Rejected::rule(Code::OtherAttempt, message).into())
            }
            _ => Ok(named.or(own).or_else(fence::lone_attempt)),
        }
    }

    /// Whether this process is below an attempt of this project's run.
    pub fn is_in_attempt(&self) -> bool {
        self.caller.fence.as_ref().is_some_and(Fence::is_attempt)
    }

    /// Decides each command by itself in one transaction, and then those that follow from how the
    /// run stands after them: a refusal of one leaves the others. What was refused is returned in
    /// words. Nothing is rendered.
    pub(crate) fn commit_each(
        &mut self,
        by: &Actor,
        commands: &[MachineCommand],
        mut follow: impl FnMut(&Run) -> Vec<MachineCommand>,
    ) -> Result<Vec<Rejected>, EngineError> {
        let now = self.clock.now();
        self.ensure_journal()?;
        let Self { journal, ledger, .. } = self;
        let journal = journal.as_mut().expect("a journal was made sure of");
        decide_again_if_moved(|| {
            let mut work = Work::begin(ledger, journal, by, now)?;
            let mut refused = Vec::new();
            let decided = work
                .handle_each(commands, &mut refused)
                .and_then(|()| Ok(follow(work.run()?)))
                .and_then(|commands| work.handle_each(&commands, &mut refused));
            if let Err(error) = decided {
                work.abandon();
                return Err(error);
            }
            work.commit()?;
            Ok(refused)
        })
    }

    /// Who runs the engine of this project, in words, if a process does.
    pub fn engine_holder(&self) -> Result<Option<String>, EngineError> {
        match self.journals.lease_holder() {
            Ok(owner) => Ok(owner.map(|owner| owner.to_string())),
            // It holds the lock and has not written its name yet.
            Err(StoreError::Busy { .. }) => Ok(Some("a process that has just begun".into())),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether another process, or another thread of the host, has committed since this was last
    /// asked.
    pub(crate) fn others_committed(&mut self) -> bool {
        let before = self.seen_version;
        self.seen_version = (self.journal_version().unwrap_or(before.0), self.commits_beside);
        self.seen_version != before
    }

    /// A number that is another one after each commit of another process; within a turn of a host, as it
    /// was found last.
    pub(crate) fn journal_version(&self) -> Option<u64> {
        let asked = || self.journal.as_ref().and_then(|journal| journal.data_version().ok());
        self.version_in_turn.or_else(asked)
    }

    /// Looks for commits of other processes, for a host: all that it carries would ask one by one. Says
    /// whether there were any since it looked last.
    pub(crate) fn look_for_commits(&mut self) -> bool {
        let before = self.version_in_turn.take();
        self.version_in_turn = self.journal_version();
        self.version_in_turn != before
    }

    /// From here on the journal is asked each time.
    pub(crate) fn end_turns(&mut self) {
        self.version_in_turn = None;
    }

    /// How far the journal goes, whichever process has written it.
    pub(crate) fn journal_end(&mut self) -> Result<Cursor, EngineError> {
        match &mut self.journal {
            Some(journal) => Ok(journal.view()?.end()?),
            None => Ok(Cursor::START),
        }
    }
}

/// A name that no other journal has.
fn fresh_id() -> String {
    let part = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", part(), part())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_another_process_has_just_made_has_not_vanished() {
        let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let find = || {
            let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
            project.setup.home = Home { config: None, state: Some(home.path().to_owned()) };
            project
        };
        let (mut one, mut other) = (find(), find());
        let made = other.ensure_journal().unwrap().id().to_owned();
        assert_eq!(one.ensure_journal().unwrap().id(), made);
    }
}

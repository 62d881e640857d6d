//! The program `waypost-shell`: one shell call of an agent's, behind the wall.
//!
//! `waypost-shell TEXT` runs the text as the agent program would have: same streams, same folder,
//! same exit code. Where no workflow is active and no attempt is under way it becomes the shell and
//! nothing else. Otherwise it finds out the rights of the moment, builds the enclosure
//! that follows from them, and stays as the parent of the call for as long as that runs.
//!
//! Always: if it is not sure, the strictest rights count; where the wall cannot be built, the call
//! is not made. What an agent program may take for an answer is the call's own exit code; 126 says
//! that nothing was run.

mod agent;
mod answer;
mod around;
mod client;
mod gate;
mod inside;
mod nested;
mod server;
mod why;

use crate::{fence, folders, folders::folders_of_call};
use answer::Answer;
pub(crate) use around::on_path;
pub use client::ask_outside;
use gate::Gate;
use rustix::process::Signal;
use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};
use waypost_agent::programs::BUILT_IN;
use waypost_model::layout::{self, user_state, variable};
use waypost_wall::{
    Attendant, Broker, Call, Enclosure, GitViews, Level, MOUNT, RealDisk, Surroundings, Tools,
    WallError, Watch, close_git, credentials, finish, plan, usable,
};

/// The name of the program.
pub const SHELL: &str = "waypost-shell";

/// Says that what follows is a whole agent.
const AGENT: &str = "--agent";

/// Says that the call ends with the process that made it, however that ends.
const WITH_PARENT: &str = "--with-parent";

/// As shells say it: the command was found and not run.
const NOT_RUN: u8 = 126;

/// What is called: a program and its arguments.
struct Wanted {
    program: OsString,
    arguments: Vec<OsString>,
    /// Whether it is a whole agent that Waypost starts, and not one of its calls.
    is_agent: bool,
    /// The program that Waypost takes an agent for.
    known_as: Option<String>,
}

impl Wanted {
    fn call(program: OsString, arguments: Vec<OsString>) -> Self {
        Self { program, arguments, is_agent: false, known_as: None }
    }

    /// The text of a shell call.
    fn text(&self) -> Option<&OsStr> {
        match self.arguments.as_slice() {
            [option, text] if option == "-c" => Some(text),
            _ => None,
        }
    }
}

/// Makes one call: the whole of the program.
pub fn run() -> ExitCode {
    if let Some(name) = client::name() {
        return client::run(name);
    }
    if env::args_os().nth(1).is_some_and(|word| word == MOUNT) {
        return inside::begin(env::args_os().skip(2));
    }
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == WITH_PARENT) {
        words.remove(0);
        // Where that cannot be had, the call ends by itself.
        let _unbound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
    let wanted = match client::shell() {
        Some(program) if env::var_os(variable::CALL).is_some() => {
            return Wanted::call(program, words).become_it();
        }
        Some(program) => Wanted::call(program, words),
        None => match wanted(words) {
            Some(wanted) => wanted,
            None => {
                say("usage: waypost-shell TEXT, or waypost-shell -- PROGRAM ARGUMENTS");
                return ExitCode::from(NOT_RUN);
            }
        },
    };
    if !wanted.is_agent
        && let Some(reason) = fence::over()
    {
        say(&reason);
        return ExitCode::from(NOT_RUN);
    }
    let is_attempt = wanted.is_agent || env::var_os(variable::ATTEMPT).is_some();
    // What Waypost has sent obeys its own rules, wherever its tree stands.
    let is_sent = is_attempt || env::var_os(variable::JOB).is_some();
    let folders = if is_sent { folders(None) } else { folders_of_call() };
    if !is_attempt && !folders.iter().any(|folder| is_near(folder)) {
        return wanted.become_it();
    }
    // One way, and before anything else: whatever is below is an agent's.
    let marked = rustix::thread::set_no_new_privs(true);
    let answer = Answer::ask(&folders);
    if answer.projects.is_empty() && !is_attempt {
        return wanted.become_it();
    }
    if marked.is_err() {
        say("this process cannot be marked as an agent's; nothing was run");
        return ExitCode::from(NOT_RUN);
    }
    match walled(wanted, &answer) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("the wall cannot be built, so nothing was run: {}", told(&error)));
            ExitCode::from(NOT_RUN)
        }
    }
}

/// The text of a shell, or a program with its arguments.
fn wanted(mut words: Vec<OsString>) -> Option<Wanted> {
    let first = words.first()?.to_str().unwrap_or_default().to_owned();
    let known_as = first.strip_prefix(AGENT).and_then(|rest| rest.strip_prefix('='));
    let is_agent = first == AGENT || known_as.is_some();
    if is_agent {
        words.remove(0);
    }
    if words.first().is_some_and(|word| word == "--") && words.len() > 1 {
        let arguments = words.split_off(2);
        let known_as = known_as.map(str::to_owned);
        return Some(Wanted { program: words.swap_remove(1), arguments, is_agent, known_as });
    }
    let text = match words.as_slice() {
        [text] => text.clone(),
        [option, text] if option == "-c" || option == "-lc" => text.clone(),
        _ => return None,
    };
    Some(Wanted::call(shell(), vec!["-c".into(), text]))
}

/// The shell that agent programs use: the user's, if it is one of those that they know.
fn shell() -> OsString {
    let own = env::var_os("SHELL").map(PathBuf::from);
    let is_known = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        path.is_absolute() && matches!(name, Some("bash" | "zsh" | "sh" | "dash")) && path.is_file()
    };
    let usual = || ["/bin/bash", "/usr/bin/bash"].map(PathBuf::from).into_iter().find(is_known);
    own.filter(is_known).or_else(usual).map_or_else(|| "/bin/sh".into(), PathBuf::into_os_string)
}

/// Whether a journal may be around a folder.
fn is_near(folder: &Path) -> bool {
    folder.ancestors().any(|folder| {
        folder.join(layout::STATE_OUTSIDE_GIT).symlink_metadata().is_ok()
            || folder.join(".git").join(layout::STATE_IN_GIT).symlink_metadata().is_ok()
            || folder.join(".git").is_file()
            || folder.join(layout::STATE_IN_GIT).join(layout::state::JOURNAL).is_file()
    })
}

impl Wanted {
    /// Becomes the call itself.
    fn become_it(self) -> ExitCode {
        become_it(&self.program, self.arguments.into_iter(), None)
    }
}

/// Becomes a program, with other variables than those of this process if there are any.
#[expect(clippy::disallowed_methods, reason = "this program becomes the other one")]
fn become_it(
    program: &OsStr,
    arguments: impl Iterator<Item = OsString>,
    variables: Option<Vec<(OsString, OsString)>>,
) -> ExitCode {
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(variables) = variables {
        command.env_clear().envs(variables);
    }
    let error = command.exec();
    say(&format!("{} cannot be run: {error}", program.display()));
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { NOT_RUN })
}

fn walled(wanted: Wanted, answer: &Answer) -> Result<ExitCode, WallError> {
    let homes = around::UserFolders::find();
    if waypost_wall::broker::is_inside() {
        let around = around::surroundings(answer, &homes, Level::C);
        return nested::call(wanted, &around);
    }
    let tools = Tools { bubblewrap: on_path("bwrap"), mounter: env::current_exe().ok() };
    let (level, tools) = usable(tools, homes.state.as_deref());
    if !level.is_enough(answer.require) {
        say(&format!(
            "the wall here is of level {level}, and `wall.require` wants {}; nothing was run. \
             `waypost doctor` says what is missing",
            answer.require.as_str()
        ));
        return Ok(ExitCode::from(NOT_RUN));
    }
    if level == Level::None {
        // The guide has judged the call, strictly.
        return Ok(wanted.become_it());
    }
    let is_agent = wanted.is_agent;
    let code = held(wanted, answer, &homes, (level, tools))?;
    // Now that nothing of it is left.
    if is_agent {
        die_as(code);
    }
    Ok(ExitCode::from(code))
}

/// Makes the call behind a wall of this level, from its beginning to its end; its exit code.
fn held(
    wanted: Wanted,
    answer: &Answer,
    homes: &around::UserFolders,
    (level, tools): (Level, Tools),
) -> Result<u8, WallError> {
    let surroundings = around::surroundings(answer, homes, level);
    around::make_build_folders(&surroundings);
    around::make_window_folder(&surroundings);
    let mut enclosure = plan(&surroundings, &RealDisk);
    let known = wanted.known_as.as_deref();
    // Its copies go when the call is over.
    let admitted = match wanted.is_agent {
        true => Some(agent::admit((&wanted.program, known), homes, level, &mut enclosure)?),
        false => None,
    };
    let mut views = views(&surroundings, level, &mut enclosure)?;
    let mut watches = watches(&surroundings, &enclosure);
    watches.extend(admitted.iter().filter_map(|it| watch_settings(it, &surroundings)));
    let mut gate = Gate::begin(answer, wanted.is_agent);
    let by_name = known.and_then(|it| BUILT_IN.program(it)).and_then(|it| it.shell_by_name);
    let held = answer.projects.iter().map(|it| it.spot.state.clone()).collect();
    let broker = broker(homes, level, by_name, &mut enclosure)?;
    let mut broker = broker.map(|it| it.made_for(held));
    let said = if wanted.is_agent && level == Level::B { Level::A } else { level };
    enclosure.variables.push((variable::WALL.to_owned(), said.as_str().to_owned()));
    let server = wanted.text().and_then(|text| server::find(text, answer, homes));
    let is_server = server.is_some();
    let text = wanted.text().filter(|_| !is_server).map(OsStr::to_owned);
    let call = Call {
        variables: match (wanted.is_agent, server) {
            (true, _) => env::vars_os().filter(|it| !is_elsewhere(it)).collect(),
            (false, Some(server)) => variables(&server.variables),
            (false, None) => variables(&[]),
        },
        program: wanted.program,
        arguments: wanted.arguments,
        folder: folder(),
        level,
        enclosure,
        tools,
        is_quiet: false,
    };
    let walled = call.start()?;
    let mut attendants: Vec<&mut dyn Attendant> = Vec::new();
    attendants.extend(views.iter_mut().map(|it| it as &mut dyn Attendant));
    attendants.extend(watches.iter_mut().map(|it| it as &mut dyn Attendant));
    // After the views: what the call has committed is outside before the broker looks there.
    attendants.extend(broker.iter_mut().map(|it| it as &mut dyn Attendant));
    // A server of tools lives as long as its conversation, with the rights of its start.
    if !is_server {
        attendants.push(&mut gate);
    }
    let code = finish(walled, &mut attendants, &say)?;
    explain(text.as_deref(), code, level, &surroundings);
    Ok(code)
}

/// Tells the one who made a shell call what may have stopped it.
fn explain(text: Option<&OsStr>, code: u8, level: Level, around: &Surroundings) {
    let roots: Vec<&Path> = around.projects.iter().map(|it| it.root.as_path()).collect();
    if let Some(text) = text.and_then(OsStr::to_str)
        && let Some(sentence) = why::told(text, code, level, around.rights, &roots)
    {
        say(&sentence);
    }
}

/// Ends as what was called has ended: a keeper tells a signal from an exit code.
fn die_as(code: u8) {
    if let Some(signal) = code.checked_sub(128).filter(|signal| *signal > 0) {
        // One that ends nothing leaves the code.
        let _alive = signal_hook::low_level::emulate_default_handler(i32::from(signal));
    }
}

/// The broker of a call; none for a user without a folder of states.
fn broker(
    homes: &around::UserFolders,
    level: Level,
    shell: Option<&str>,
    enclosure: &mut Enclosure,
) -> Result<Option<Broker>, WallError> {
    let Some(state) = &homes.state else { return Ok(None) };
    let told = client::told().into_iter().map(str::to_owned).collect();
    Broker::open(&state.join(user_state::CALLS), level, enclosure, told, shell).map(Some)
}

/// What git folders look like inside. Without namespaces they look as they are.
fn views(
    surroundings: &Surroundings,
    level: Level,
    enclosure: &mut Enclosure,
) -> Result<Vec<GitViews>, WallError> {
    let mut views = Vec::new();
    if level >= Level::B {
        for project in &surroundings.projects {
            views.extend(GitViews::make(project, surroundings.rights, enclosure)?);
        }
    } else {
        let hidden = surroundings.projects.iter().filter_map(|it| close_git(it, enclosure));
        for config in hidden {
            say(&format!(
                "{} has a password in it, so git cannot be used here; a person can move it to a \
                 credential helper",
                config.display()
            ));
        }
    }
    for home in &surroundings.homes {
        for name in [".gitconfig", ".config/git/config"] {
            let config = home.join(name);
            match views.first_mut() {
                Some(view) => view.show(&config, enclosure)?,
                None => around::show_if_harmless(&config, enclosure),
            }
        }
        for name in credentials::MIXED_IN_HOME {
            around::hide_unless_harmless(&home.join(name), enclosure);
        }
    }
    Ok(views)
}

fn watches(around: &Surroundings, enclosure: &Enclosure) -> Vec<Watch> {
    let mut watches = Vec::new();
    for project in &around.projects {
        let is_its = |name: &&PathBuf| name.parent() == Some(project.root.as_path());
        let names: Vec<PathBuf> = enclosure.watched.iter().filter(is_its).cloned().collect();
        let aside = project.state.join(layout::state::MISPLACED);
        watches.push(Watch::begin(&names, aside));
    }
    watches
}

/// Watches the settings that an agent's program has below the user's home.
fn watch_settings(admitted: &agent::Admitted, around: &Surroundings) -> Option<Watch> {
    let project = around.projects.first().filter(|_| !admitted.watched.is_empty())?;
    let aside = project.state.join(layout::state::MISPLACED);
    Some(Watch::begin(&admitted.watched, aside).of_an_agent())
}

/// The environment inside: what is no secret, and what is kept all the same.
fn variables(kept: &[String]) -> Vec<(OsString, OsString)> {
    let is_open = |variable: &(OsString, OsString)| {
        let is_kept = |name: &str| kept.iter().any(|kept| kept == name);
        variable.0.to_str().is_some_and(|name| !credentials::is_secret(name) || is_kept(name))
            && !is_elsewhere(variable)
    };
    env::vars_os().filter(is_open).collect()
}

/// Whether a variable names a folder for temporary files that is not writable inside.
fn is_elsewhere((name, value): &(OsString, OsString)) -> bool {
    name == "TMPDIR" && !value.as_bytes().starts_with(b"/tmp")
}

fn folder() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

/// Tells the one who made the call, where its own errors go.
fn say(text: &str) {
    let _unheard = writeln!(io::stderr(), "waypost: {text}");
}

fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The user's own folder of states, where levels and other things of ours are.
pub(crate) fn user_folders(homes: &around::UserFolders) -> Vec<PathBuf> {
    let below = user_state::PROJECTS.split('/').next().unwrap_or("waypost");
    [&homes.config, &homes.state].into_iter().flatten().map(|it| it.join(below)).collect()
}

//! A host and what it tells, on a real journal.

use super::{
    guests::{Admission, Left},
    protocol::GuestKind,
    *,
};
use crate::{
    bell::Bell,
    clock::Clock,
    guest::{Attended, Guest, Waits},
};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::{
    collections::BTreeMap,
    os::fd::{AsFd as _, OwnedFd},
    sync::mpsc::{Receiver, sync_channel},
    time::Duration,
};
use tempfile::TempDir;
use waypost_model::{
    id::TaskId,
    run::{self, Command, Depends, Event, Plan, PlannedTask, Priority, Run, Settings},
    time::Time,
};

/// Much longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(folder: &TempDir) -> Project {
    Project::open_unreconciled(folder.path(), Actor::User("test".into())).unwrap()
}

/// A project with a run of so many tasks.
fn project(tasks: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".waypost")).unwrap();
    let task = |at| PlannedTask {
        id: id(at),
        title: String::new(),
        phase: 1,
        depends: Depends::On(Vec::new()),
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: None,
    };
    let plan = Plan::new("demo".into(), BTreeMap::new(), (0..tasks).map(task).collect()).unwrap();
    let begin = Command::Begin { plan, settings: Settings::default() };
    open(&folder).run_command(begin).unwrap();
    folder
}

fn id(at: usize) -> TaskId {
    format!("T1.{}", at + 1).parse().unwrap()
}

fn start(at: usize) -> MachineCommand {
    MachineCommand::run(Command::Start { id: id(at) })
}

fn next_start(subscription: &mut Subscription) -> TaskId {
    loop {
        match subscription.next(PATIENCE) {
            News::Happened(happened) => {
                if let Some(Event::TaskStarted { id, .. }) = happened.event::<Run>() {
                    return id;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_subscriber_hears_this_host_and_every_other_process() {
    let folder = project(3);
    let host = Host::start(open(&folder), "test").unwrap();
    let mut subscription = host.handle().subscribe(Cursor::START).unwrap();
    host.handle().command(Actor::Waypost, vec![start(0)]).unwrap();
    assert_eq!(next_start(&mut subscription), id(0));
    // Committed beside the host; nothing but the journal tells of it.
    open(&folder).commit(&[start(1)]).unwrap();
    assert_eq!(next_start(&mut subscription), id(1));
    open(&folder).command(&[start(2)]).unwrap();
    assert_eq!(next_start(&mut subscription), id(2));
    assert!(host.stop().is_some());
    assert!(matches!(subscription.next(PATIENCE), News::Over { .. }));
}

#[test]
fn one_that_was_away_goes_on_where_it_was() {
    let folder = project(3);
    let host = Host::start(open(&folder), "test").unwrap();
    let handle = host.handle();
    let mut first = handle.subscribe(Cursor::START).unwrap();
    handle.command(Actor::Waypost, vec![start(0)]).unwrap();
    assert_eq!(next_start(&mut first), id(0));
    let seen = first.cursor();
    drop(first);
    handle.command(Actor::Waypost, vec![start(1)]).unwrap();
    handle.command(Actor::Waypost, vec![start(2)]).unwrap();
    let mut second = handle.subscribe(seen).unwrap();
    assert_eq!([next_start(&mut second), next_start(&mut second)], [id(1), id(2)]);
}

#[test]
fn a_command_that_comes_while_the_seat_is_taken_wakes_the_host() {
    let folder = project(1);
    let mut project = open(&folder);
    project.ensure_journal().unwrap();
    let owner = Owner::this_process("test", project.clock.now());
    let desk = Arc::new(Desk::new(Seat::new(project, owner)).unwrap());
    let taken = desk.seat();
    let asking = Arc::clone(&desk);
    let asking = thread::spawn(move || asking.command(Actor::Waypost, vec![start(0)]));
    while !desk.is_asked() {
        thread::yield_now();
    }
    drop(taken);
    assert!(is_readable(&desk.bell()), "the host sleeps on, and the command waits");
    // What the host's own thread does when it is woken.
    desk.close();
    let handed_back = desk.carry();
    asking.join().unwrap().unwrap();
    assert!(handed_back.is_some());
}

fn is_readable(bell: &Bell) -> bool {
    let mut polled = [PollFd::new(bell, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).unwrap() == 1
}

#[test]
fn a_question_is_answered_between_two_commits() {
    let folder = project(1);
    let host = Host::start(open(&folder), "test").unwrap();
    let handle = host.handle();
    let attempts = |project: &mut Project| {
        let view = project.run()?.active().and_then(|active| active.task(&id(0)));
        Ok(view.map(|view| view.attempts))
    };
    assert_eq!(handle.query(attempts).unwrap(), Some(0));
    handle.command(Actor::Waypost, vec![start(0)]).unwrap();
    assert_eq!(handle.query(attempts).unwrap(), Some(1));
    drop(host);
    assert!(handle.query(attempts).is_err());
    assert!(handle.command(Actor::Waypost, vec![start(0)]).is_err());
}

#[test]
fn several_projects_are_open_in_one_process() {
    let folders = [project(1), project(1)];
    let hosts = folders.each_ref().map(|folder| Host::start(open(folder), "test").unwrap());
    assert!(Host::start(open(&folders[0]), "second").is_err());
    for host in &hosts {
        host.handle().command(Actor::Waypost, vec![start(0)]).unwrap();
    }
    for host in hosts {
        let mut project = host.stop().unwrap();
        let active = project.run().unwrap().active().unwrap();
        assert_eq!(active.count(run::TaskStatus::InProgress), 1);
    }
}

/// A guest that is over when its condition holds.
struct Toy {
    bell: Arc<OwnedFd>,
    until: Option<Time>,
    is_over: fn(&Self, &mut Project, Time) -> bool,
}

impl Toy {
    fn new(is_over: fn(&Self, &mut Project, Time) -> bool) -> Self {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        Self { bell: Arc::new(bell), until: None, is_over }
    }
}

impl Guest for Toy {
    type End = &'static str;

    fn waits<'a>(&'a self, waits: &mut Waits<'a>) {
        waits.readable(self.bell.as_fd());
        self.until.into_iter().for_each(|time| waits.until(time));
    }

    fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<&'static str>, EngineError> {
        Ok(match (self.is_over)(self, project, now) {
            true => Attended::Over("well"),
            false => Attended::GoesOn,
        })
    }
}

fn is_first_started(_: &Toy, project: &mut Project, _: Time) -> bool {
    let active = project.run().unwrap().active().unwrap();
    active.task(&id(0)).unwrap().attempts > 0
}

/// Brings a guest; how it ended comes back.
fn admit(host: &Host, toy: Toy) -> Receiver<Result<&'static str, String>> {
    let (tell, told) = sync_channel(1);
    let begin = move |_: &mut Project| Ok(toy);
    let leave = move |left: Left<Toy>| {
        let told = match left {
            Left::Over(_, end) => Ok(end),
            Left::LetGo(_) => Ok("let go"),
            Left::Failed(error) => Err(error.to_string()),
        };
        tell.send(told).unwrap();
    };
    host.handle().desk.admit(Admission::new(GuestKind::Run, begin, leave)).unwrap();
    told
}

#[test]
fn a_guest_is_woken_by_what_it_waits_for() {
    let folder = project(2);
    let host = Host::start(open(&folder), "test").unwrap();

    let is_rung = |toy: &Toy, _: &mut Project, _| {
        rustix::io::read(&toy.bell, &mut [0; 8]).is_ok_and(|count| count > 0)
    };
    let toy = Toy::new(is_rung);
    let bell = Arc::clone(&toy.bell);
    let ended = admit(&host, toy);
    rustix::io::write(&bell, &1u64.to_ne_bytes()).unwrap();
    assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), Ok("well"));

    let mut toy = Toy::new(|toy, _, now| toy.until.is_some_and(|until| now >= until));
    toy.until = Some(Clock.now().plus(Duration::from_millis(20)));
    assert_eq!(admit(&host, toy).recv_timeout(PATIENCE).unwrap(), Ok("well"));

    // Another process, without a word to the host, and another thread of it.
    let ended = admit(&host, Toy::new(is_first_started));
    open(&folder).commit(&[start(0)]).unwrap();
    assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), Ok("well"));
    let ended = admit(&host, Toy::new(|_, project, _| project.others_committed()));
    host.handle().command(Actor::Waypost, vec![start(1)]).unwrap();
    assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), Ok("well"));
}

#[test]
fn there_is_one_run_at_a_time_and_the_host_outlives_it() {
    let folder = project(1);
    let host = Host::start(open(&folder), "test").unwrap();
    let first = admit(&host, Toy::new(is_first_started));
    let second = admit(&host, Toy::new(|_, _, _| true));
    let refused = second.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert!(refused.starts_with("already running"), "{refused}");
    host.handle().command(Actor::Waypost, vec![start(0)]).unwrap();
    assert_eq!(first.recv_timeout(PATIENCE).unwrap(), Ok("well"));
    let third = admit(&host, Toy::new(|_, _, _| true));
    assert_eq!(third.recv_timeout(PATIENCE).unwrap(), Ok("well"));
    assert!(host.stop().is_some());
}

#[test]
fn a_run_and_any_number_of_jobs_are_carried_side_by_side() {
    let folder = project(2);
    let host = Host::start(open(&folder), "test").unwrap();
    let hears_of_start = |toy: &Toy, project: &mut Project, now| {
        project.others_committed() && is_first_started(toy, project, now)
    };
    let run = admit(&host, Toy::new(hears_of_start));
    let first = host.handle();
    let waiting =
        thread::spawn(move || first.work(GuestKind::Job, |_| Ok(Toy::new(is_first_started))));
    let carried = || {
        let kinds = host.handle().desk.guests.present().into_iter().map(|guest| guest.kind);
        kinds.filter(|kind| *kind == GuestKind::Job).count()
    };
    while carried() < 1 {
        thread::yield_now();
    }
    // What a job records in the project that they share wakes the others.
    let starts = |_: &Toy, project: &mut Project, _| project.commit(&[start(0)]).is_ok();
    assert_eq!(host.handle().work(GuestKind::Job, move |_| Ok(Toy::new(starts))).unwrap(), "well");
    assert_eq!(waiting.join().unwrap().unwrap(), "well");
    assert_eq!(run.recv_timeout(PATIENCE).unwrap(), Ok("well"));
    let refused = host.handle().work(GuestKind::Job, |_| Err::<Toy, _>(desk::closed()));
    assert!(refused.is_err());
    assert_eq!(carried(), 0);
}

//! Commands of an agent that wants what it must not have: none of them has an effect.

use crate::{
    picture::{Picture, TOPICS},
    sample, server,
    site::{CANARY, Phase, Site, User, Wall},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

/// So many commands of each wall and phase are run with the ordinary tests.
const SAMPLE: usize = 30;

struct Hostile {
    class: String,
    text: String,
}

fn rows(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_once('\t').unwrap()).collect()
}

/// Each of these is a deed of its own.
const DEEDS: [&str; 4] = [
    include_str!("hostile.txt"),
    include_str!("hostile-git.txt"),
    include_str!("hostile-files.txt"),
    include_str!("hostile-system.txt"),
];

/// Every command as it is, and those of the first list in another spelling as well.
fn commands() -> Vec<Hostile> {
    let row = |(class, text): (&str, &str)| Hostile { class: class.into(), text: text.into() };
    let mut commands: Vec<Hostile> = DEEDS.into_iter().flat_map(rows).map(row).collect();
    let spellings = rows(include_str!("spellings.txt"));
    for (number, (class, deed)) in rows(DEEDS[0]).into_iter().enumerate() {
        let quoted = format!("'{}'", deed.replace('\'', "'\\''"));
        let (_, spelling) = spellings[(number * 5) % spellings.len()];
        commands.push(row((class, &spelling.replace("{}", &quoted))));
    }
    commands
}

#[test]
fn there_are_enough_different_commands() {
    let deeds: BTreeSet<(&str, &str)> = DEEDS.into_iter().flat_map(rows).collect();
    assert!(deeds.len() >= 600, "{}", deeds.len());
    let commands = commands();
    let texts: BTreeSet<&str> = commands.iter().map(|it| it.text.as_str()).collect();
    let classes: BTreeSet<&str> = commands.iter().map(|it| it.class.as_str()).collect();
    assert_eq!(texts.len(), commands.len());
    assert_eq!(classes.len(), 11, "{classes:?}");
}

/// What a command of the workflow changes: its window, the journal, and what is kept of that for the user.
const OF_COMMANDS: [&str; 3] = ["settings", "journal", "kept"];

/// What a command has done that it must not.
fn effects(
    site: &mut Site,
    persons: usize,
    (before, after): (&Picture, &Picture),
    output: &[u8],
) -> Vec<&'static str> {
    let is_open = |topic: &str| match topic {
        "committed" => site.phase.commits(),
        "written" => site.phase.writes(),
        // What was reviewed may be pushed then, under any name.
        "pushed" => site.phase == Phase::Open && has_only_reviewed(site),
        _ => false,
    };
    let mut found: Vec<&'static str> = TOPICS
        .into_iter()
        .filter(|topic| !is_open(topic) && seen(before, topic) != seen(after, topic))
        .collect();
    // An agent may pass gates and go on by Waypost's own commands; the machine says when.
    if found.iter().all(|topic| OF_COMMANDS.contains(topic))
        && site.acts_of_persons() == Some(persons)
    {
        found.clear();
    }
    let text = String::from_utf8_lossy(output);
    let encoded = server::base64(CANARY.as_bytes());
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    if [CANARY, &encoded[..10], &hex].iter().any(|it| text.contains(it)) {
        found.push("credential read");
    }
    if site.abstract_heard.swap(false, Ordering::SeqCst) {
        found.push("abstract socket reached");
    }
    // Without namespaces sockets of files can be reached, and processes stay, restricted.
    let is_path_heard = site.path_heard.swap(false, Ordering::SeqCst);
    let left = left(site);
    if site.wall.has_namespaces() {
        found.extend(is_path_heard.then_some("socket reached"));
        found.extend((!left.is_empty()).then_some("process left"));
    }
    for pid in left {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    if !site.canary_lives() {
        found.push("process outside ended");
    }
    found
}

/// What counts of a topic. The person's own git keeps a password that has worked, outside.
fn seen<'a>(picture: &'a Picture, topic: &str) -> Vec<&'a str> {
    picture[topic].lines().filter(|line| !line.contains("/home/.git-credentials ")).collect()
}

/// Whether all that the remotes have are the files of commits that were there before.
fn has_only_reviewed(site: &Site) -> bool {
    let tree = |commit: &str| site.git(&site.root(), &["rev-parse", &format!("{commit}^{{tree}}")]);
    let known = [tree(&site.base), tree(&site.child)];
    ["remote.git", "served/repository.git"].iter().all(|remote| {
        let trees = site.git(&site.path(remote), &["for-each-ref", "--format=%(tree)%(*tree)"]);
        trees.lines().all(|tree| known.iter().any(|it| it == tree))
    })
}

/// Processes of the call. Where they go with it, they may take a moment for that.
fn left(site: &Site) -> Vec<u32> {
    let mut left = site.left();
    for _ in 0..200 {
        if left.is_empty() || !site.wall.has_namespaces() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
        left = site.left();
    }
    left
}

fn difference(before: &Picture, after: &Picture) -> String {
    let mut text = String::new();
    for topic in TOPICS {
        let lines = |picture: &Picture| -> BTreeSet<String> {
            picture[topic].lines().map(str::to_owned).collect()
        };
        let (old, new) = (lines(before), lines(after));
        for line in old.symmetric_difference(&new).take(4) {
            let _infallible = write!(text, "\n    {topic}: {line}");
        }
    }
    text
}

fn nothing_happens(wall: Wall, phase: Phase) {
    nothing_happens_to(User::Own, wall, phase);
}

fn nothing_happens_to(user: User, wall: Wall, phase: Phase) {
    let Some(mut site) = Site::of(user, wall, phase) else { return };
    // By the test itself, where one sits at its terminal.
    let persons = site.acts_of_persons().unwrap();
    let mut failures = Vec::new();
    let name = format!("hostile {user:?} {wall:?} {phase:?}");
    let all = sample::of(&name, commands(), SAMPLE, |it| it.class.clone());
    let count = all.len();
    for Hostile { class, text } in all {
        let text = site.filled(&text);
        let before = site.picture();
        if sample::is_full() {
            println!("{class}: {text}");
        }
        let output = site.call(&text);
        let after = site.picture();
        let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let effects = effects(&mut site, persons, (&before, &after), &said);
        if !effects.is_empty() {
            let difference = difference(&before, &after);
            let failure = format!("{class}: {text}\n  {}{difference}", effects.join(", "));
            println!("an effect of {failure}");
            failures.push(failure);
            // What was broken would be found again with every command that follows.
            let Some(fresh) = Site::of(user, wall, phase) else { break };
            site = fresh;
        } else if OF_COMMANDS.iter().any(|topic| seen(&before, topic) != seen(&after, topic)) {
            // The workflow has gone on, and the next command is for this phase.
            let Some(fresh) = Site::of(user, wall, phase) else { break };
            site = fresh;
        } else if before != after || phase == Phase::Open {
            // With all open, Waypost itself closes the last gate for any change that stays.
            site.restore();
        }
    }
    println!("{count} commands at {wall:?} with {phase:?}: {} with an effect", failures.len());
    // What is kept of levels changes by itself, so it is not compared, but it still says the truth.
    assert_eq!(site.level(), wall.word());
    assert!(failures.is_empty(), "{} effects:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn nothing_happens_to_another_user_in_namespaces_while_writes_are_closed() {
    nothing_happens_to(User::Other, Wall::B, Phase::WritesClosed);
}

#[test]
fn nothing_happens_to_another_user_in_namespaces_while_pushes_are_closed() {
    nothing_happens_to(User::Other, Wall::B, Phase::PushesClosed);
}

#[test]
fn nothing_happens_to_another_user_by_landlock_while_writes_are_closed() {
    nothing_happens_to(User::Other, Wall::C, Phase::WritesClosed);
}

#[test]
fn nothing_happens_to_another_user_by_landlock_while_pushes_are_closed() {
    nothing_happens_to(User::Other, Wall::C, Phase::PushesClosed);
}

#[test]
fn nothing_happens_in_an_agents_wall_while_writes_are_closed() {
    nothing_happens(Wall::A, Phase::WritesClosed);
}

#[test]
fn nothing_happens_in_an_agents_wall_while_commits_are_closed() {
    nothing_happens(Wall::A, Phase::CommitsClosed);
}

#[test]
fn nothing_happens_in_an_agents_wall_while_pushes_are_closed() {
    nothing_happens(Wall::A, Phase::PushesClosed);
}

#[test]
fn nothing_happens_in_an_agents_wall_while_all_is_open() {
    nothing_happens(Wall::A, Phase::Open);
}

#[test]
fn nothing_happens_in_namespaces_while_writes_are_closed() {
    nothing_happens(Wall::B, Phase::WritesClosed);
}

#[test]
fn nothing_happens_in_namespaces_while_commits_are_closed() {
    nothing_happens(Wall::B, Phase::CommitsClosed);
}

#[test]
fn nothing_happens_in_namespaces_while_pushes_are_closed() {
    nothing_happens(Wall::B, Phase::PushesClosed);
}

#[test]
fn nothing_happens_in_namespaces_while_all_is_open() {
    nothing_happens(Wall::B, Phase::Open);
}

#[test]
fn nothing_happens_by_landlock_while_writes_are_closed() {
    nothing_happens(Wall::C, Phase::WritesClosed);
}

#[test]
fn nothing_happens_by_landlock_while_commits_are_closed() {
    nothing_happens(Wall::C, Phase::CommitsClosed);
}

#[test]
fn nothing_happens_by_landlock_while_pushes_are_closed() {
    nothing_happens(Wall::C, Phase::PushesClosed);
}

#[test]
fn nothing_happens_by_landlock_while_all_is_open() {
    nothing_happens(Wall::C, Phase::Open);
}

/// How many commands of a class the guide lets pass where there is no wall, while writes are closed, while commits
/// are closed, while pushes are closed, and while all is open. It asks what a command plainly writes and publishes:
/// what is read, which process is ended, and what other programs do in their own way is not told by a text, and
/// what is closed in the journal is refused by Waypost itself. These numbers may fall.
const PASSED: [(&str, [usize; 4]); 11] = [
    ("commit", [53, 70, 0, 0]),
    ("credential", [102, 118, 118, 146]),
    ("journal", [14, 21, 21, 58]),
    ("outside", [44, 74, 74, 89]),
    ("process", [35, 39, 39, 54]),
    ("push", [9, 17, 25, 0]),
    ("settings", [26, 64, 64, 99]),
    ("signal", [25, 37, 37, 45]),
    ("socket", [1, 10, 10, 11]),
    ("socket-path", [3, 11, 11, 15]),
    ("write", [24, 0, 0, 0]),
];

/// Asks the hook about every command, as on a machine without any wall, and obeys it as agent programs do: what is
/// refused is not run. What passes is not run here either, because nothing would hold it; it is counted.
fn what_is_told_is_refused(phase: Phase) {
    let site = Site::new(Wall::None, phase).unwrap();
    let is_open = |class: &str| match class {
        "commit" => phase.commits(),
        "write" => phase.writes(),
        "push" => phase == Phase::Open,
        _ => false,
    };
    let before = site.picture();
    let mut passed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Hostile { class, text } in commands() {
        if !is_open(&class) && site.lets_pass(&site.filled(&text)) {
            passed.entry(class).or_default().push(text);
        }
    }
    assert_eq!(difference(&before, &site.picture()), "");
    for (class, most) in PASSED {
        let texts = passed.remove(class).unwrap_or_default();
        let most = most[phase as usize];
        println!("{} of class {class} pass without a wall with {phase:?}", texts.len());
        assert!(texts.len() <= most, "{class}: {} pass:\n{}", texts.len(), texts.join("\n"));
    }
    assert!(passed.is_empty(), "{passed:?}");
}

#[test]
fn without_a_wall_what_is_told_is_refused_while_writes_are_closed() {
    what_is_told_is_refused(Phase::WritesClosed);
}

#[test]
fn without_a_wall_what_is_told_is_refused_while_commits_are_closed() {
    what_is_told_is_refused(Phase::CommitsClosed);
}

#[test]
fn without_a_wall_what_is_told_is_refused_while_pushes_are_closed() {
    what_is_told_is_refused(Phase::PushesClosed);
}

#[test]
fn without_a_wall_what_is_told_is_refused_while_all_is_open() {
    what_is_told_is_refused(Phase::Open);
}

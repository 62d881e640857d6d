//! A whole task from its first question to its last review, with kills of everything at every point that
//! it waits at: the result is the same, each thing happens once, and the secret that it is given is nowhere.
//!
//! The ordinary run takes one victim at each point; `WAYPOST_FAULTS=full` takes each of them at each.

use crate::{
    canary::Canary,
    execute::{alive, comes_within, kill_all},
    shop::{QUESTION, Shop, complete, deliverables, say, steps, verdict, write},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env, fs,
    io::{Read as _, Write as _},
    path::Path,
};

/// What may be killed where the task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    None,
    Host,
    Keeper,
    Agent,
}

const VALUE: &str = "[DEPENDENCY_REQUEST]\ntype: api_key\nname: SHOP_KEY\ndescription: for the till\n\
                     required: true\n[/DEPENDENCY_REQUEST]";

/// Prints the value in ways that a shell has at hand.
const TELL: &str = "printf '%s\\n' \"$SHOP_KEY\"; printf 'user:%s' \"$SHOP_KEY\" | base64 -w0; \
                    printf '%s' \"$SHOP_KEY\" | od -An -v -tx1 | tr -d ' \\n'; echo";

/// A file of the workspace into which the agent writes the value.
const KEPT_SECRET: &str = "till.env";

/// A link that the agent makes, to something that is not its own.
const LINK: &str = "docs/passwd";

/// What the note says that a person wanted.
const PRICES: &str = "A cup of tea is cheap, a pot is cheaper.";

/// What a person wants to be changed.
const CHANGES: &str = "say more about prices";

fn when(condition: &Value, then: &[Value], otherwise: &[Value]) -> Value {
    json!({"when": condition, "then": then, "else": otherwise})
}

fn when_told(text: &str, then: &[Value]) -> Value {
    when(&json!({"told": text}), then, &[])
}

fn unless_there(file: &str, otherwise: &[Value]) -> Value {
    when(&json!({"file": file}), &[], otherwise)
}

/// Met once, whichever process meets it.
fn once(file: &str, step: Value) -> Value {
    unless_there(file, &[write(file, "met"), step])
}

/// What the agent does from a phase on; it goes by what it is told and finds, because it may be another
/// process that begins there.
fn from_phase(phase: u32) -> Vec<Value> {
    let end = json!({"turn_end": true});
    let answered = write(".answered", "green");
    let note = write("docs/planning/10_prices.md", PRICES);
    let mut all = Vec::new();
    for phase in phase..=4 {
        match phase {
            1 => all.extend([
                when_told("green", std::slice::from_ref(&answered)),
                when_told(CHANGES, std::slice::from_ref(&note)),
                unless_there(
                    ".answered",
                    &[
                        say(QUESTION),
                        end.clone(),
                        when_told("green", std::slice::from_ref(&answered)),
                    ],
                ),
                when(&json!({"variable": "SHOP_KEY"}), &[], &[say(VALUE), end.clone()]),
                json!({"run": TELL}),
                json!({"run": format!("printf 'key=%s' \"$SHOP_KEY\" > {KEPT_SECRET}; ln -sf /etc/passwd {LINK}")}),
            ]),
            2 => all.push(once(".limited", json!({"limit": {"resets_in_s": 2}}))),
            3 => all.push(once(".outage", json!({"unavailable": "outage"}))),
            _ => {}
        }
        all.extend(deliverables(phase));
        all.extend([complete(phase), end.clone()]);
        if phase == 1 {
            all.push(when_told(CHANGES, &[note.clone(), complete(1), end.clone()]));
        }
    }
    all
}

/// The story of one task, with a kill at each point.
struct Story {
    shop: Shop,
    id: String,
    canary: Canary,
    /// Who is killed at the next point, and at those that follow.
    victims: Vec<Victim>,
}

impl Story {
    fn begin(adapter: &str, mut victims: Vec<Victim>) -> Self {
        let mut shop = Shop::speaking(adapter, &json!({}));
        let id = shop.new_task("'A tea shop' --type create_app --description 'Sells tea.'");
        let mut tasks = json!({});
        for phase in 1..=4 {
            tasks[format!("{id}.{phase}")] = json!([steps(&from_phase(phase))]);
            let passes = steps(&[verdict(true, "")]);
            tasks[format!("{id}.{phase}.verification")] = json!([passes]);
        }
        shop.script(&tasks);
        shop.serve();
        shop.project.must(&format!("task submit {id}"));
        victims.reverse();
        Self { shop, id, canary: Canary::new(adapter), victims }
    }

    /// The task has come to a point: a process is killed there.
    fn strike(&mut self, point: &str) {
        let victim = self.victims.pop().unwrap_or(Victim::None);
        let _unheard = writeln!(std::io::stderr(), "{point}: {victim:?} is killed");
        self.no_process_tells();
        match victim {
            Victim::None => {}
            Victim::Host => {
                self.shop.kill_host();
                self.shop.serve();
            }
            Victim::Keeper => kill_all(alive(&format!("tasks/{}/keepers", self.id))),
            Victim::Agent => {
                let talks = self.shop.project.base().join("talks");
                kill_all(alive(talks.to_str().unwrap()));
            }
        }
    }

    /// Waits longer than a test usually does: much has to be started again.
    #[track_caller]
    fn until(&self, what: &str, is_there: impl FnMut() -> bool) {
        if comes_within(120, is_there) {
            return;
        }
        let (task, said) = (self.shop.task(&self.id), self.shop.said());
        let transitions = self.shop.transitions(&self.id);
        panic!("waited in vain for {what}: {task}\n{transitions:?}\n{said}");
    }

    #[track_caller]
    fn entry(&self, kind: &str) -> String {
        let mut found = None;
        self.until(&format!("a {kind} in the inbox"), || {
            let entries = self.shop.project.json("inbox");
            let mut entries = entries.as_array().cloned().unwrap_or_default().into_iter();
            found = entries.find(|it| it["kind"] == kind);
            found.is_some()
        });
        found.unwrap()["id"].as_str().unwrap().to_owned()
    }

    fn person(&self, line: &str) {
        self.shop.project.person_must(line);
    }

    fn agent_status(&self) -> Value {
        self.shop.project.json(&format!("task show {} --agent", self.id))["status"].clone()
    }

    /// Approves the review of a phase.
    fn approve(&mut self, phase: u32) {
        self.until(&format!("the review of phase {phase}"), || {
            let task = self.shop.task(&self.id);
            task["status"] == "review" && task["currentPhase"] == phase
        });
        let review = self.entry("review");
        self.strike("the review of a phase");
        self.person(&format!("inbox approve {review}"));
    }

    fn play(&mut self) {
        let question = self.entry("agent_question");
        self.strike("the question");
        self.person(&format!("inbox answer {question} green"));
        let value = self.entry("value");
        self.strike("the value");
        let given = self.shop.project.base().join("given");
        fs::write(&given, &self.canary.value).unwrap();
        self.person(&format!("inbox provide {value} --file {}", given.display()));
        fs::remove_file(&given).unwrap();
        let review = self.entry("review");
        self.strike("the review");
        self.person(&format!("inbox changes {review} '{CHANGES}'"));
        self.until("the changes to be made", || self.count("REQUEST_CHANGES") == 1);
        self.approve(1);
        self.until("the limit", || self.count("RATE_LIMIT") >= 1);
        self.strike("the limit");
        self.approve(2);
        self.until("the outage", || {
            self.count("RATE_LIMIT") == 2 && self.agent_status() == "paused"
        });
        self.strike("the outage");
        self.person(&format!("task resume {}", self.id));
        self.approve(3);
        self.approve(4);
        self.until("the end", || self.shop.task(&self.id)["status"] == "completed");
        self.until("the end of all processes", || self.shop.processes().is_empty());
        self.shop.end();
    }

    /// How many transitions have this trigger.
    fn count(&self, trigger: &str) -> usize {
        let word = |line: &String| line.split(' ').next().unwrap_or_default() == trigger;
        self.shop.transitions(&self.id).iter().filter(|line| word(line)).count()
    }

    /// Only the agent and what it runs have the value in their environment, and no command line does.
    fn no_process_tells(&self) {
        let is_given = |line: &str| line.contains("sim agent");
        assert_eq!(self.canary.in_processes(is_given), Vec::<String>::new());
    }

    /// The agent has written the value into a file: no checkpoint has that file, and one says so.
    fn checkpoints_leave_the_value_out(&self, workspace: &Path) {
        assert!(self.canary.is_in(&fs::read(workspace.join(KEPT_SECRET)).unwrap()));
        let found = self.shop.project.json(&format!("task checkpoints {}", self.id));
        let mut is_said = false;
        for checkpoint in found.as_array().unwrap() {
            is_said |= checkpoint["note"].as_str().unwrap().contains(KEPT_SECRET);
            let Some(commit) = checkpoint["commit"].as_str() else { continue };
            let names = format!("ls-tree -r --name-only {commit}");
            let names = self.shop.project.git_in(workspace, &names);
            assert!(!names.lines().any(|name| name == KEPT_SECRET), "{checkpoint}: {names}");
        }
        assert!(is_said, "no checkpoint says what it leaves out: {found}");
    }

    /// The archive opens, and has the deliverables byte for byte, no link and nothing of the value.
    fn archive_is_sound(&self) {
        let path = self.shop.project.base().join("shop.zip");
        self.person(&format!("task deliverables {} --zip {}", self.id, path.display()));
        let mut archive = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
        let mut found = BTreeMap::new();
        for at in 0..archive.len() {
            let mut file = archive.by_index(at).unwrap();
            let name = file.name().unwrap().into_owned();
            assert!(file.is_file() && !file.is_symlink(), "{name}");
            assert!(file.enclosed_name().is_some(), "{name} leads out");
            let mut content = Vec::new();
            file.read_to_end(&mut content).unwrap();
            assert!(!self.canary.is_in(&content), "{name} tells the value");
            found.insert(name, content);
        }
        let has_other = found.contains_key(KEPT_SECRET) || found.contains_key(LINK);
        assert!(!has_other, "{:?}", found.keys());
        for (name, text) in wanted_files() {
            assert_eq!(found.get(&name).map(Vec::as_slice), Some(text.as_bytes()), "{name}");
        }
    }

    fn check(&self) {
        let wanted = [
            ("USER_QUESTION", 1),
            ("QUESTION_ANSWERED", 1),
            ("DEPENDENCY_REQUEST", 1),
            ("DEPENDENCY_PROVIDED", 1),
            ("PHASE_COMPLETE", 5),
            ("REQUEST_CHANGES", 1),
            ("RATE_LIMIT", 2),
            ("RATE_LIMIT_RESET", 1),
            ("APPROVE", 4),
        ];
        let found = wanted.map(|(trigger, _)| (trigger, self.count(trigger)));
        assert_eq!(found, wanted, "{:?}", self.shop.transitions(&self.id));
        let workspace = self.shop.project.path(".waypost/workspaces").join(&self.id);
        let files = self.shop.project.git_in(&workspace, "ls-files -o -c --exclude-standard docs");
        let there = files
            .lines()
            .filter(|file| *file != LINK)
            .map(|file| (file.to_owned(), fs::read_to_string(workspace.join(file)).unwrap()));
        assert_eq!(there.collect::<BTreeMap<_, _>>(), wanted_files());
        self.checkpoints_leave_the_value_out(&workspace);
        self.archive_is_sound();
        assert_eq!(self.shop.processes(), Vec::<u32>::new());
        // What its program keeps of the conversation is its own.
        let talks = self.shop.project.base().join("talks");
        let own = workspace.join(KEPT_SECRET);
        self.canary.assert_in_no_file(&self.shop.project, &[talks.as_path(), own.as_path()]);
        for line in ["--json log", "--json inbox", "status"] {
            let ran = self.shop.project.must(line);
            assert!(!self.canary.is_in(ran.stdout.as_bytes()), "waypost {line} tells the value");
        }
        let logs = self.shop.project.must(&format!("task logs {}", self.id)).stdout;
        assert!(!self.canary.is_in(logs.as_bytes()), "its logs tell the value");
    }
}

/// All that is there at the end, whatever was killed on the way.
fn wanted_files() -> BTreeMap<String, String> {
    let written = (1..=4).flat_map(deliverables).map(|step| {
        let text = |key: &str| step["write"][key].as_str().unwrap().to_owned();
        (text("file"), text("text"))
    });
    let mut all: BTreeMap<String, String> = written.collect();
    all.insert("docs/planning/10_prices.md".into(), PRICES.into());
    all
}

fn tell(adapter: &str, victims: &[Victim]) {
    if no_person_is_here() {
        return;
    }
    let mut story = Story::begin(adapter, victims.to_vec());
    story.play();
    story.check();
}

/// Another victim at each of the points, beginning with this one.
fn victims(first: usize) -> Vec<Victim> {
    let all = [Victim::Host, Victim::Keeper, Victim::Agent];
    (0..9).map(|point| all[(first + point) % all.len()]).collect()
}

/// Everything is killed at every point in the full form, and one thing at each otherwise.
fn rotations() -> Vec<usize> {
    let is_full = env::var("WAYPOST_FAULTS").as_deref() == Ok("full");
    let drawn = env::var("WAYPOST_FAULTS_SEED").ok().and_then(|seed| seed.parse::<usize>().ok());
    if is_full { vec![0, 1, 2] } else { vec![drawn.unwrap_or(0) % 3] }
}

#[test]
fn a_story_without_a_kill_ends_as_those_with_kills_do() {
    tell("claude", &[]);
}

#[test]
fn faults_story_with_kills_at_every_point_by_an_agent_that_speaks_json() {
    rotations().into_iter().for_each(|first| tell("claude", &victims(first)));
}

#[test]
fn faults_story_with_kills_at_every_point_by_an_agent_that_speaks_plain_text() {
    rotations().into_iter().for_each(|first| tell("plain", &victims(first + 1)));
}

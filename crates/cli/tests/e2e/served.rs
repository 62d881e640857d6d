//! Tasks of the server with real agent programs: an app from its first question to its last review, with
//! everything killed in the middle.

use crate::{
    program::{Agent, wait_for},
    stage::{Stage, text, until},
};
use serde_json::{Value, json};

/// What stands in the first message of a verification, and of a task.
const VERIFICATION: &str = "# Verify phase ";
const TASK: &str = "TASK_ID: task_";

const QUESTION: &str = "[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions:\n- green\n- black\n\
                        required: true\n[/USER_QUESTION]";

const PASSES: &str =
    "I looked.\n\n=== VERIFICATION_RESULT ===\n{\"passed\": true, \"findings\": []}";

/// What a phase of the app is to leave: a folder and its documents.
const DOCUMENTS: [(&str, &str); 3] = [
    (
        "planning",
        "01_idea 02_market 03_persona 04_user_journey 05_business_model 06_product 07_features 08_tech \
         09_roadmap",
    ),
    ("design", "01_screen 02_data_model 03_task_flow 04_api 05_architecture"),
    ("development", "01_setup 02_data 03_logic 04_ui 05_testing 06_deploy"),
];

/// A turn in which the model writes all documents of a phase.
fn documents(agent: Agent, phase: usize) -> Value {
    let (folder, names) = DOCUMENTS[phase - 1];
    let sentence = "A sentence of a document that says something. ".repeat(20);
    agent.command(&format!(
        "mkdir -p docs/{folder} && for name in {names}; do echo '{sentence}' > docs/{folder}/$name.md; done"
    ))
}

fn complete(phase: usize) -> Value {
    text(&format!("All of it is there.\n\n=== PHASE {phase} COMPLETE ==="))
}

/// A task at a server.
struct Served {
    stage: Stage,
    agent: Agent,
    id: String,
}

impl Served {
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.stage.site.waypost(&format!("--json {line}")).stdout).unwrap()
    }

    #[track_caller]
    fn entry(&self, kind: &str) -> String {
        wait_for(&format!("a {kind} in the inbox"), || {
            let inbox = self.json("inbox");
            let mut entries = inbox.as_array()?.iter();
            Some(entries.find(|it| it["kind"] == kind)?["id"].as_str()?.to_owned())
        })
    }

    /// Approves the review of a phase.
    #[track_caller]
    fn approve(&self, phase: usize) {
        wait_for(&format!("the review of phase {phase}"), || {
            let task = self.json(&format!("task show {}", self.id));
            (task["status"] == "review" && task["currentPhase"] == phase).then_some(())
        });
        let review = self.entry("review");
        self.stage.site.as_person(&format!("inbox approve {review}"));
    }

    fn count(&self, trigger: &str) -> usize {
        let all = self.json(&format!("task transitions {}", self.id));
        all.as_array().unwrap().iter().filter(|it| it["trigger"] == trigger).count()
    }

    /// The conversations that its agent was started in.
    fn conversations(&self) -> Vec<Value> {
        let plans = ["assigned", "engaged"].map(|kind| self.stage.events(kind)).concat();
        let mut found: Vec<Value> = self.stage.events("conversed");
        found = found.iter().map(|it| it["conversation"]["id"].clone()).collect();
        found.extend(plans.iter().map(|it| it["plan"]["conversation"]["id"].clone()));
        found.retain(Value::is_string);
        found.dedup();
        found
    }
}

/// The project, the model and the server; nothing if the test has to be skipped.
fn begin(agent: Agent) -> Option<Served> {
    let stage = Stage::play(agent, |site| {
        let waits = until(site, "../go", complete(2));
        // A program that was interrupted may have an excuse put in for it, which counts as a turn.
        let turns = json!([
            text(QUESTION),
            documents(agent, 1),
            complete(1),
            documents(agent, 2),
            waits,
            complete(2),
            documents(agent, 3),
            complete(3),
            complete(4),
        ]);
        vec![(VERIFICATION.to_owned(), json!([text(PASSES)])), (TASK.to_owned(), turns)]
    })?;
    let config = stage.site.read("waypost.toml").replace("\"Bash(until *)\"", "\"Bash\"");
    stage.site.write("waypost.toml", &config);
    stage.site.git("commit -q -a -m settings");
    let line = format!(
        "task new --type create_app --description Sells-tea --agent {} --submit|A tea shop",
        agent.name()
    );
    let id = stage.site.waypost(&line).stdout.trim().to_owned();
    Some(Served { stage, agent, id })
}

fn check_story(agent: Agent) {
    let Some(served) = begin(agent) else { return };
    let stage = &served.stage;
    let server = stage.begin("serve");
    let question = served.entry("agent_question");
    stage.site.as_person(&format!("inbox answer {question} green"));
    served.approve(1);
    wait_for("the turn that waits", || {
        stage.requests_of(TASK).iter().any(|it| it["turn"] == 4).then_some(())
    });
    // The server, the keeper and the agent in the middle of its turn.
    server.kill();
    stage.kill_all();
    stage.site.write("../go", "");
    let server = stage.begin("serve");
    for phase in 2..=4 {
        served.approve(phase);
    }
    wait_for("the end of the task", || {
        let task = served.json(&format!("task show {}", served.id));
        (task["status"] == "completed").then_some(())
    });
    let requests = stage.requests_of(TASK);
    let bodies: Vec<String> = requests.iter().map(|it| it["body"].to_string()).collect();
    assert!(bodies.iter().any(|it| it.contains("A person answered: green")), "{}", server.said());
    assert!(bodies.iter().any(|it| it.contains("Your work was interrupted")), "{}", server.said());
    assert!(
        bodies.last().is_some_and(|it| it.contains("Which tea?")),
        "one conversation to the end"
    );
    assert_eq!(served.conversations().len(), 1, "{:?}", served.conversations());
    let counts = ["USER_QUESTION", "QUESTION_ANSWERED", "APPROVE"].map(|it| served.count(it));
    assert_eq!(counts, [1, 1, 4], "{:?}", served.json(&format!("task transitions {}", served.id)));
    let workspace = format!(".waypost/workspaces/{}", served.id);
    for (folder, names) in DOCUMENTS {
        for name in names.split_whitespace() {
            let file = format!("{workspace}/docs/{folder}/{name}.md");
            assert!(served.stage.site.exists(&file), "{:?}: {file}", served.agent);
        }
    }
    assert_eq!(served.json("inbox"), json!([]), "nothing waits any more");
    server.interrupt("");
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{ran}");
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_makes_an_app_through_four_phases_and_a_kill_of_everything() {
    check_story(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_makes_an_app_through_four_phases_and_a_kill_of_everything() {
    check_story(Agent::Codex);
}

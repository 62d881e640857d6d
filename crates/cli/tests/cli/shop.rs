//! A project whose tasks are worked on by `waypost serve` with scripted agents, and what these do.

use crate::{
    execute::{alive, kill, wait_for},
    harness::{BINARY, Project, USER_CONFIG},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::{Child, Stdio},
};

/// A project whose tasks are worked on by an agent that follows a script.
pub(crate) struct Shop {
    pub(crate) project: Project,
    pub(crate) server: Option<Child>,
    /// Where workspaces are; none: in the project.
    pub(crate) data: Option<PathBuf>,
}

impl Shop {
    pub(crate) fn new(script: &Value) -> Self {
        Self::speaking("claude", script)
    }

    /// With an agent that speaks as programs of an adapter do.
    pub(crate) fn speaking(adapter: &str, script: &Value) -> Self {
        let project = Project::git();
        project.write("README.md", "a shop\n");
        project.git_command("add -A");
        project.git_command("commit -q -m begin");
        let shop = Self { project, server: None, data: None };
        shop.script(script);
        let project = &shop.project;
        let (script, sessions) = (project.base().join("script.json"), project.base().join("talks"));
        let (script, sessions) = (script.to_str().unwrap(), sessions.to_str().unwrap());
        let speak = ["--speak", adapter, "--script", script, "--sessions", sessions, "--"];
        let command: Vec<&str> = [BINARY, "sim", "agent"].into_iter().chain(speak).collect();
        let config = format!(
            "[run]\nagent = \"smith\"\n\n[agents.smith]\nadapter = \"{adapter}\"\ncommand = {}\n",
            json!(command)
        );
        project.write(USER_CONFIG, &config);
        shop
    }

    /// What agents do from here on, by the names of their work.
    pub(crate) fn script(&self, tasks: &Value) {
        let text = json!({"version": 1, "default": [{"steps": [{"say": "Nothing to do."}]}],
                          "tasks": tasks});
        fs::write(self.project.base().join("script.json"), text.to_string()).unwrap();
    }

    pub(crate) fn serve(&mut self) {
        let mut command = self.project.command(BINARY, &self.project.root);
        let log = fs::File::create(self.project.base().join("serve.log")).unwrap();
        command.arg("serve");
        if let Some(data) = &self.data {
            command.arg("--data-dir").arg(data);
        }
        command.stdout(Stdio::null()).stderr(log);
        self.server = Some(command.spawn().unwrap());
    }

    /// Kills the host, with nothing said to it.
    pub(crate) fn kill_host(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Ends the host as a person does.
    pub(crate) fn end(&mut self) {
        if let Some(mut server) = self.server.take() {
            kill(server.id(), "-TERM");
            assert!(server.wait().unwrap().success(), "{}", self.said());
        }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.project.base().join("serve.log")).unwrap_or_default()
    }

    pub(crate) fn new_task(&self, line: &str) -> String {
        self.project.must(&format!("task new {line}")).stdout.trim().to_owned()
    }

    pub(crate) fn task(&self, id: &str) -> Value {
        self.project.json(&format!("task show {id}"))
    }

    #[track_caller]
    pub(crate) fn wait(&self, id: &str, status: &str) {
        wait_for(&format!("{id} to be {status}: {}\n{}", self.task(id), self.said()), || {
            self.task(id)["status"] == status
        });
    }

    /// The transitions of a task, as `trigger to`.
    pub(crate) fn transitions(&self, id: &str) -> Vec<String> {
        let found = self.project.json(&format!("task transitions {id}"));
        let told = |it: &Value| {
            let word = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", word("trigger"), word("to"))
        };
        found.as_array().unwrap().iter().map(told).collect()
    }

    /// All processes of agents, keepers and what they started.
    pub(crate) fn processes(&self) -> Vec<u32> {
        alive(self.project.base().to_str().unwrap())
    }

    /// The entry of the inbox of this kind, once it is there.
    #[track_caller]
    pub(crate) fn entry(&self, kind: &str) -> String {
        let mut found = None;
        wait_for(&format!("a {kind} in the inbox\n{}", self.said()), || {
            let entries = self.project.json("inbox");
            let mut entries = entries.as_array().cloned().unwrap_or_default().into_iter();
            found = entries.find(|it| it["kind"] == kind);
            found.is_some()
        });
        found.unwrap()["id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.kill_host();
        crate::execute::kill_all(self.processes());
    }
}

pub(crate) fn steps(steps: &[Value]) -> Value {
    json!({ "steps": steps })
}

pub(crate) fn say(text: &str) -> Value {
    json!({ "say": text })
}

pub(crate) fn write(file: &str, text: &str) -> Value {
    json!({"write": {"file": file, "text": text}})
}

pub(crate) fn wait_for_file(file: &str) -> Value {
    json!({"run": format!("while ! test -e {file}; do sleep 0.05; done")})
}

pub(crate) const CUSTOM: &str = "'A note' --type custom --description 'Write a note.'";

/// Everything that a phase of `create_app` is to leave.
pub(crate) fn deliverables(phase: u32) -> Vec<Value> {
    let planning = [
        "01_idea",
        "02_market",
        "03_persona",
        "04_user_journey",
        "05_business_model",
        "06_product",
        "07_features",
        "08_tech",
        "09_roadmap",
    ];
    let design = ["01_screen", "02_data_model", "03_task_flow", "04_api", "05_architecture"];
    let development = ["01_setup", "02_data", "03_logic", "04_ui", "05_testing", "06_deploy"];
    let (folder, names): (&str, &[&str]) = match phase {
        1 => ("planning", &planning),
        2 => ("design", &design),
        3 => ("development", &development),
        _ => ("", &[]),
    };
    let text = "A sentence of a document that says something. ".repeat(20);
    names.iter().map(|name| write(&format!("docs/{folder}/{name}.md"), &text)).collect()
}

pub(crate) fn complete(phase: u32) -> Value {
    say(&format!("All of it is there.\n\n=== PHASE {phase} COMPLETE ==="))
}

pub(crate) fn verdict(is_passed: bool, finding: &str) -> Value {
    let findings = if finding.is_empty() { json!([]) } else { json!([finding]) };
    say(&format!(
        "I looked.\n\n=== VERIFICATION_RESULT ===\n{}",
        json!({"passed": is_passed, "findings": findings})
    ))
}

pub(crate) const QUESTION: &str = "[USER_QUESTION]\ncategory: choice\nquestion: Which tea?\noptions:\n- green\n\
                        - black\nrequired: true\n[/USER_QUESTION]";

/// All that the agent of a `create_app` says and does from a phase on, in one process.
pub(crate) fn from_phase(phase: u32) -> Vec<Value> {
    let end = json!({"turn_end": true});
    let mut all = Vec::new();
    for phase in phase..=4 {
        all.extend(deliverables(phase));
        all.extend([complete(phase), end.clone()]);
    }
    all
}

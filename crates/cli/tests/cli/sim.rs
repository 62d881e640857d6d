//! `waypost sim model`: what it prints, that it serves and ends, and what it says to a bad script.

use crate::harness::{BINARY, Project};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
};

const SCRIPT: &str = r#"{"version": 1, "turns": [{"blocks": [{"text": "Done."}]}]}"#;

/// A server that ends with this value, because its standard input is closed with it.
struct Model {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Model {
    fn start(project: &Project, arguments: &[&str]) -> Self {
        let mut command = project.command(BINARY, &project.root);
        command.args(arguments).arg("--until-stdin-closes");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Closes its input and returns what it had printed and its exit code.
    fn end(mut self) -> (String, Option<i32>) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

#[test]
fn sim_model_serves_a_script_until_its_input_closes() {
    let project = Project::plain();
    project.write("script.json", SCRIPT);
    let line = ["--json", "sim", "model", "--script", "script.json", "--log", "log.jsonl"];
    let mut model = Model::start(&project, &line);
    let told: Value = serde_json::from_str(&model.line()).unwrap();
    let address = told["address"].as_str().unwrap();
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 15\r\n\r\n").unwrap();
    stream.write_all(br#"{"messages":[]}"#).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(model.end(), (String::new(), Some(0)));
    let logged: Value = serde_json::from_str(&project.read("log.jsonl")).unwrap();
    assert_eq!(logged["body"], json!({"messages": []}));
}

#[test]
fn sim_model_prints_what_the_programs_need_to_find_it() {
    let project = Project::plain();
    project.write("script.json", SCRIPT);
    let mut model = Model::start(&project, &["sim", "model", "--script", "script.json"]);
    let first = model.line();
    let port = first.trim_end().rsplit(':').next().unwrap().to_owned();
    let (rest, code) = model.end();
    assert_eq!(code, Some(0));
    assert_snapshot!("model", format!("{first}{rest}").replace(&port, "[PORT]"));
    let line = ["--json", "sim", "model", "--script", "script.json"];
    let mut model = Model::start(&project, &line);
    let told: Value = serde_json::from_str(&model.line()).unwrap();
    let port = told["address"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let told = serde_json::to_string_pretty(&told).unwrap();
    assert_snapshot!("model_json", told.replace(&port, "[PORT]"));
    assert_eq!(model.end().1, Some(0));
}

#[test]
fn sim_model_says_what_is_wrong_with_a_script() {
    let project = Project::plain();
    project.write("unknown.json", "{\"version\": 1, \"turns\": [\n  {\"block\": []}]}\n");
    project.write("empty.json", r#"{"version": 1, "turns": [{"blocks": [{"tool": "Bash"}]}]}"#);
    assert_snapshot!(
        "bad_script",
        project.transcript(&[
            "sim model --script unknown.json",
            "sim model --script empty.json",
            "sim model --script missing.json",
        ])
    );
    project.write("script.json", SCRIPT);
    let ran = project.run("sim model --script script.json --log missing/log.jsonl");
    assert_eq!(ran.code, 5, "{ran}");
}

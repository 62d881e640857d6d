//! What is done in turns: all that an agent says and does, further messages, resumed conversations.

use crate::driver::{ID, Site, Talk, all, of, shown, structured};
use insta::assert_snapshot;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use waypost_agent::Adapter;
use waypost_agent::stream::{End, Said, Usage, Why};
use waypost_sim::agent::Exit;

#[test]
fn the_simplest_task_is_said_as_the_real_program_would() {
    let steps = json!([{"say": "I look at {task}."}, {"done": "did {task}"}]);
    for adapter in structured() {
        let heard = Talk::new(adapter, steps.clone()).run(&Site::new());
        let is_word = |said: &Said| !matches!(said, Said::Other(_));
        let said: Vec<Said> = heard.said.into_iter().filter(is_word).collect();
        let id = match adapter.as_str() {
            "claude" => ID,
            _ => "51300000-0000-4000-8000-000000000001",
        };
        let turn = (adapter == Adapter::CODEX).then(|| "turn_sim_00000001".to_owned());
        let detail = "did T1\nDONE:T1".to_owned();
        let cost_usd = (adapter == Adapter::CLAUDE).then_some(0.01);
        let mut want = vec![
            Said::Session { id: id.to_owned() },
            Said::TurnBegan { id: turn },
            Said::Text("I look at T1.".to_owned()),
            Said::Text(detail.clone()),
            Said::Usage(Usage { input: 1_000, output: 100, cost_usd, ..Usage::default() }),
            Said::Ended(End { why: Why::Done, detail }),
        ];
        match adapter.as_str() {
            // The protocol has no word for it.
            "acp" => drop(want.remove(1)),
            "codex" => want.insert(1, Said::Model("sim".to_owned())),
            _ => {}
        }
        assert_eq!((said, heard.exit), (want, Exit::Code(0)), "{adapter}");
    }
}

#[test]
fn tools_are_told_of_in_the_words_of_each_program() {
    let steps = json!([
        {"tool": "Read", "input": "README.md"},
        {"tool": "Bash", "input": "ls -l"},
        {"tool": "Lookup", "input": "{task}"},
        {"write": {"file": "out/{task}.txt", "text": "attempt {attempt}\n"}},
        {"write": {"file": "out/{task}.txt", "text": "again\n", "append": true}},
        {"run": "cat out/{task}.txt; exit 3"},
        {"usage": {"input": 5, "output": 2, "cost_usd": 0.5}},
        {"usage": {"input": 1, "output": 1, "cost_usd": 0.25}},
        {"fail": "no {task}"},
    ]);
    assert_snapshot!("tools", all(|adapter| Talk::new(adapter, steps.clone())));
}

#[test]
fn files_are_written_and_commands_run_in_the_folder() {
    let site = Site::new();
    let steps = json!([
        {"write": {"file": "a/{task}", "text": "one {attempt}\n"}},
        {"run": "cat a/{task} > copy && echo {answer} >> copy"},
        {"write": {"file": "a/{task}", "text": "two\n", "append": true}},
        {"done": ""},
    ]);
    Talk { attempt: 4, ..Talk::new(Adapter::CLAUDE, steps) }.run(&site);
    assert_eq!(fs::read_to_string(site.work().join("a/T1")).unwrap(), "one 4\ntwo\n");
    assert_eq!(fs::read_to_string(site.work().join("copy")).unwrap(), "one 4\n{answer}\n");
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_of_the_tool() {
    let site = Site::new();
    let steps = json!([{"write": {"file": "{task}", "text": "x"}}, {"done": ""}]);
    let heard = Talk { task: Some(".."), ..Talk::new(Adapter::CLAUDE, steps) }.run(&site);
    let is_failed = |said: &Said| matches!(said, Said::ToolResult { is_error: true, .. });
    assert!(heard.said.iter().any(is_failed), "{:?}", heard.said);
}

#[test]
fn the_task_is_that_of_the_message_where_nobody_else_names_it() {
    let script = json!({"version": 1,
        "default": [{"steps": [{"done": "default"}]}],
        "tasks": {"T7": [{"steps": [{"done": "seventh"}]}]}});
    let done = |message, task| {
        let talk = Talk::new(Adapter::CLAUDE, json!([{"done": ""}]));
        let talk = Talk { script: script.clone(), messages: vec![message], task, ..talk };
        let said = talk.run(&Site::new()).said;
        said.into_iter().find_map(|said| match said {
            Said::Text(text) => Some(text),
            _ => None,
        })
    };
    let table = [
        ("Please:\nTASK_ID: T7\n", None, "seventh\nDONE:T7"),
        ("TASK_ID: T7", Some("T8"), "default\nDONE:T8"),
        ("go", None, "default\nDONE:task"),
    ];
    for (message, task, want) in table {
        assert_eq!(done(message, task).as_deref(), Some(want), "{message}");
    }
}

#[test]
fn a_further_message_is_a_further_turn_and_goes_on_in_the_script() {
    let steps = json!([{"say": "one"}, {"turn_end": true}, {"say": "two"}, {"done": "all"}]);
    let adapters = [Adapter::CLAUDE, Adapter::CODEX, Adapter::ACP];
    assert_snapshot!(
        "messages",
        of(&adapters, |adapter| Talk {
            messages: vec!["go", "go on", "and on"],
            ..Talk::new(adapter, steps.clone())
        })
    );
}

#[test]
fn a_resumed_conversation_counts_on() {
    let mut text = String::new();
    for adapter in structured() {
        let site = Site::new();
        let steps = json!([{"say": "attempt {attempt}"}, {"tool": "Read"}, {"turn_end": true}]);
        let first = Talk::new(adapter, steps.clone()).run(&site);
        let Some(Said::Session { id }) =
            first.said.iter().find(|said| matches!(said, Said::Session { .. }))
        else {
            panic!("{adapter} said no session");
        };
        let resume = Some(id.clone());
        let second = Talk { resume, attempt: 2, ..Talk::new(adapter, steps) }.run(&site);
        writeln!(text, "## {adapter}\n{}\n", shown(&site, &second)).unwrap();
    }
    assert_snapshot!("resumed", text);
}

#[test]
fn a_conversation_that_nobody_knows_is_refused_as_the_program_does() {
    let resume = Some("1f8fad5b-d9cb-469f-a165-70867728950f".to_owned());
    let steps = json!([{"done": "never"}]);
    assert_snapshot!(
        "unknown",
        all(|adapter| Talk { resume: resume.clone(), ..Talk::new(adapter, steps.clone()) })
    );
}

#[test]
fn claude_takes_no_id_twice() {
    let site = Site::new();
    let talk = || Talk::new(Adapter::CLAUDE, json!([{"done": ""}]));
    assert_eq!(talk().run(&site).exit, Exit::Code(0));
    let again = talk().run(&site);
    let want = format!("Error: Session ID {ID} is already in use.\n");
    assert_eq!((again.exit, again.errors), (Exit::Code(1), want));
}

//! An agent program that the product does not have, added as any other would be: what it is (`PARROT`,
//! `Parrot`), its line in the table, and this test. That is all that is touched.

use serde_json::{Map, Value, json};
use std::path::PathBuf;
use waypost_agent::{
    Adapter, Capability, Dialect, Hooked, Product,
    answer::{self, Answer, Unanswerable},
    hook::{self, EventKind, HookAnswer, Moment},
    launch::{Access, Conversation, Launch, Opening, Order, Prompts},
    prices::{Models, price},
    programs::{AgentProgram, BUILT_IN, KnownAgent, Programs},
    registration::{Handler, Sharing, Subscription},
    settings::{Around, Obstacle},
    stream::{Ask, AskItem, AskKind, Choice, End, LineUse, Listener, Reader, Said, Usage, Why},
    want,
};
use waypost_model::{
    config::AgentAccess,
    permission::{Ruling, Want, rule},
    tool::{Tool, ToolKind},
};

/// Place one: the program. Each line of it is an object with one word of its own.
static PARROT: AgentProgram = AgentProgram {
    file: Some("parrot"),
    adapters: &[Adapter::of(&Parrot)],
    agents: &[KnownAgent { name: "polly", adapter: Adapter::of(&Parrot), command: &["parrot"] }],
    tools: &[Tool { name: "crack", kind: ToolKind::Shell, fields: &["nut"], folders: &[] }],
    product: Some(Product::of(&Perch)),
    models: Some(&MODELS),
    folder: Some(".parrot"),
    ..AgentProgram::UNKNOWN
};

static MODELS: Models = Models { prefix: "ara", prices: &[("ara-1", price(1.0, 0.1, 1.0, 4.0))] };

#[derive(Debug)]
struct Parrot;

impl Dialect for Parrot {
    fn word(&self) -> &'static str {
        "parrot"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::Asks, Capability::NamesConversationFirst]
    }

    fn models(&self) -> Option<&'static Models> {
        Some(&MODELS)
    }

    fn launch(&self, order: &Order) -> Launch {
        let perch = match &order.conversation {
            Conversation::New { .. } => "--fresh".to_owned(),
            Conversation::Resume { id } => format!("--perch={id}"),
        };
        Launch {
            program: order.program.iter().cloned().chain([perch]).collect(),
            environment: Vec::new(),
            without: Vec::new(),
            stdin: Vec::new(),
            opening: Opening::AfterSession,
        }
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::new(Hearing)
    }

    fn message(&self, session: &str, _number: u32, text: &str) -> Option<String> {
        Some(json!({"to": session, "repeat": text}).to_string())
    }

    fn answer_line(
        &self,
        ask: &Ask,
        _line: &Value,
        given: &Answer,
    ) -> Result<String, Unanswerable> {
        let is_allowed = *given == Answer::Allow;
        Ok(json!({"about": ask.request, "may": is_allowed}).to_string())
    }

    fn want(&self, _ask: &Ask, line: &Value) -> Want {
        match line["crack"].as_str() {
            Some(command) => Want::Run { command: command.to_owned() },
            None => Want::Other,
        }
    }
}

/// What is known of its hook.
#[derive(Debug)]
struct Perch;

impl Hooked for Perch {
    fn word(&self) -> &'static str {
        "parrot"
    }

    fn title(&self) -> &'static str {
        "Parrot"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[("BeforeCrack", EventKind::BeforeTool)]
    }

    fn is_sender(&self, event: &str, _fields: &Map<String, Value>) -> bool {
        event == "BeforeCrack"
    }

    fn refusal(&self, event: &str, reason: &str) -> Option<Value> {
        (event == "BeforeCrack").then(|| json!({"squawk": reason}))
    }

    fn settings_file(&self, _sharing: Sharing) -> &'static str {
        ".parrot/perches.json"
    }

    fn subscriptions(&self) -> &'static [Subscription] {
        &[("BeforeCrack", None)]
    }

    fn handler(&self, _event: &str) -> Handler {
        Handler { name: None, timeout: 10, last: None }
    }

    fn files(&self, around: &Around<'_>) -> Vec<PathBuf> {
        vec![around.root.join(".parrot/perches.json")]
    }

    fn obstacles(&self, _around: &Around<'_>) -> Vec<Obstacle> {
        Vec::new()
    }
}

#[derive(Debug)]
struct Hearing;

impl Listener for Hearing {
    fn hear(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) -> LineUse {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        if let Some(id) = text("perch") {
            said.push(Said::Session { id });
        } else if let Some(words) = text("say") {
            said.push(Said::Text(words));
        } else if let Some(command) = text("crack") {
            said.push(Said::Asked(Ask {
                request: line["n"].to_string(),
                kind: AskKind::Permission,
                tool: "crack".to_owned(),
                items: vec![AskItem {
                    key: String::new(),
                    text: command.clone(),
                    choices: Vec::<Choice>::new(),
                    is_many: false,
                }],
                arguments: command,
                raw: raw.to_owned(),
            }));
        } else if let Some(seeds) = line["seeds"].as_u64() {
            said.push(Said::Model("ara-1".to_owned()));
            said.push(Said::Usage(Usage { input: seeds, output: seeds, ..Usage::default() }));
        } else if let Some(detail) = text("asleep") {
            said.push(Said::Ended(End { why: Why::Done, detail }));
        }
        LineUse::Said
    }
}

/// Place two: its line in the table.
fn programs() -> Programs {
    BUILT_IN.with(&PARROT)
}

/// Place three: the test.
#[test]
fn a_program_is_added_in_three_places() {
    let programs = programs();
    let agent = programs.agents().find(|agent| agent.name == "polly").unwrap();
    let adapter = programs.adapter("parrot").unwrap();
    assert_eq!((agent.adapter, Adapter::from_word("parrot")), (adapter, None));
    assert!(adapter.can_ask() && !adapter.keeps_limits() && adapter.names_conversation_first());

    let launch = adapter.launch(&order());
    assert_eq!(launch.program, ["parrot", "--fresh"]);

    let mut reader = Reader::new(adapter);
    let said = reader
        .read(b"{\"perch\":\"p1\"}\n{\"say\":\"hello\"}\n{\"n\":7,\"crack\":\"nut\"}\nsquawk\n");
    let [Said::Session { id }, Said::Text(words), Said::Asked(ask), Said::Other(other)] = &said[..]
    else {
        panic!("it was not understood: {said:?}");
    };
    assert_eq!((id.as_str(), words.as_str(), other.as_str()), ("p1", "hello", "squawk"));
    let message = answer::message(adapter, id, 1, "do it").unwrap();
    assert_eq!(message, r#"{"repeat":"do it","to":"p1"}"#);
    assert_eq!(want(adapter, ask), Want::Run { command: "nut".to_owned() });
    let line = answer::answer(adapter, ask, &Answer::Allow).unwrap();
    assert_eq!(line, r#"{"about":"7","may":true}"#);

    let said = reader.read(b"{\"seeds\":1000}\n{\"asleep\":\"done\"}\n");
    let end = End { why: Why::Done, detail: "done".to_owned() };
    let usage = Usage { input: 1_000, output: 1_000, ..Usage::default() };
    let want = [Said::Model("ara-1".to_owned()), Said::Usage(usage), Said::Ended(end)];
    assert_eq!(said, want);
    assert_eq!(reader.finish(), []);
    assert_eq!(programs.price(adapter, "ara-1"), Some(price(1.0, 0.1, 1.0, 4.0)));
    assert_eq!(BUILT_IN.price(Adapter::CLAUDE, "ara-1"), None);
    assert!(programs.is_guarded(".parrot/nest".as_ref()));
    assert!(!BUILT_IN.is_guarded(".parrot/nest".as_ref()));
    assert_eq!(programs.recognise(["/opt/parrot", "--fresh"]), Some("parrot"));
    assert_eq!(programs.dearest(adapter, "ara-9").0, "ara-1");
}

/// The same place: its hook, and its tools where calls and permissions are judged.
#[test]
fn a_hook_and_a_shell_tool_come_with_the_program() {
    let programs = programs();
    let product = programs.product("parrot").unwrap();
    assert_eq!(BUILT_IN.product("parrot"), None);
    let event = json!({
        "hook_event_name": "BeforeCrack", "tool_name": "crack", "cwd": "/w",
        "tool_input": {"nut": "git push"},
    });
    let event = hook::read(Some(product), event.to_string().as_bytes()).unwrap();
    let Moment::BeforeTool(call) = &event.moment else { panic!("{event:?}") };
    assert_eq!(call.fields, [("nut".to_owned(), "git push".to_owned())]);
    let tool = programs.tool(&call.name).unwrap();
    assert!(tool.kind == ToolKind::Shell && tool.parses("nut") && !tool.parses("crack"));
    assert_eq!(BUILT_IN.tool("crack"), None);
    let reply = event.reply(&HookAnswer::Refuse("not now".to_owned()));
    assert_eq!(reply.stdout.trim(), r#"{"squawk":"not now"}"#);

    let files = programs.settings_files();
    assert!(files.iter().any(|it| it.path == ".parrot/perches.json" && it.is_known_by_name));
    let want = Want::Run { command: "open walnut".to_owned() };
    let allowed = ["crack(open:*)".to_owned()];
    let ruling =
        |programs: &Programs| rule(AgentAccess::Edit, &allowed, &programs.shells(), &want, true);
    assert_eq!((ruling(&BUILT_IN), ruling(&programs)), (Ruling::Ask, Ruling::Allow));
}

fn order() -> Order {
    Order {
        program: vec!["parrot".to_owned()],
        task: "sing".to_owned(),
        conversation: Conversation::New { id: String::new() },
        model: None,
        turns_max: None,
        budget_cents: None,
        folder: "/w".to_owned(),
        more_folders: Vec::new(),
        access: Access::Edit,
        allowed_tools: Vec::new(),
        prompts: Prompts::Asked,
        setting_sources: None,
        has_mcp: false,
        settings: None,
        hook: Vec::new(),
        schema: None,
    }
}

//! Questions of agents to a person: how one is put into the inbox, and how the answer is told.
//!
//! A question is named after what it asks, so that an agent that was interrupted and asks the same
//! again is given the answer it could not hear, and one that asks something else is not.

use super::Agent;
use std::{
    fmt::Display,
    fs, io,
    path::{Component, Path},
};
use waypost_agent::{
    answer::Answer,
    programs::Programs,
    protocol,
    stream::{Ask, AskItem, AskKind, DENY},
    want,
};
use waypost_model::{
    inbox::{Question, QuestionKind, Topic},
    permission::{Grant, Ruling, Want, rule},
    run::{Prompt, Trail},
    text::{one_line, plain},
};
use waypost_store::hash::sha256_hex;

/// The longest title of an entry.
const TITLE_LENGTH_MAX: usize = 120;

/// How much of a question an answer repeats.
const ASKED_LENGTH_MAX: usize = 400;

/// How many digits name a question, and what it would allow: an agent that chooses what it asks
/// must not find a second one with the same name.
const KEY_LENGTH: usize = 32;

/// What answers a permission without a person: the access level of an agent whose program asks for
/// everything. `folder` is where it works.
pub(crate) fn by_access(agent: &Agent, folder: &Path, ask: &Ask) -> Option<Answer> {
    if ask.kind != AskKind::Permission || !agent.adapter.asks_for_all() {
        return None;
    }
    let want = want(agent.adapter, ask);
    let is_inside = match &want {
        Want::Edit { paths } => {
            paths.iter().all(|path| is_free(folder, path.as_ref(), &agent.programs))
        }
        Want::Run { .. } | Want::Other => false,
    };
    let (access, allowed) = (agent.config.access, &agent.config.allowed_tools);
    match rule(access, allowed, &agent.programs.shells(), &want, is_inside) {
        Ruling::Allow => Some(Answer::Allow),
        Ruling::Deny => Some(Answer::Deny { reason: "this agent may only read".to_owned() }),
        Ruling::Ask => None,
    }
}

/// Whether a file is really below a folder, whatever links are on the way, and is none that tells
/// programs what to run.
fn is_free(folder: &Path, path: &Path, programs: &Programs) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let path = folder.join(path);
    if path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    // What is not there yet is made where its nearest ancestor is.
    for found in path.ancestors() {
        match fs::symlink_metadata(found) {
            Ok(_) => {
                let Ok(real) = found.canonicalize() else { return false };
                let rest = path.strip_prefix(found).unwrap_or_else(|_| Path::new(""));
                let real = real.join(rest);
                return real.strip_prefix(&folder).is_ok_and(|inner| !programs.is_guarded(inner));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return false,
        }
    }
    false
}

/// The keys of a question of the program, one for each of its items.
pub(crate) fn keys(ask: &Ask) -> Vec<String> {
    ask.items.iter().map(|item| key(&ask.tool, &item.text, &ask.arguments)).collect()
}

fn key(kind: &str, text: &str, arguments: &str) -> String {
    let mut key = sha256_hex(format!("{kind}\n{text}\n{arguments}").as_bytes());
    key.truncate(KEY_LENGTH);
    key
}

/// What the run remembers of a question, one for each of its items.
pub(crate) fn prompts(agent: &Agent, folder: &Path, ask: &Ask) -> Vec<Prompt> {
    let permit = permit(agent, folder, ask);
    let prompt = |(key, item): (String, &AskItem)| {
        let asked = one_line(&item.text, ASKED_LENGTH_MAX);
        let text = match ask.kind {
            AskKind::Permission => format!("permission for {}", named(ask, &asked)),
            AskKind::Question | AskKind::Unknown => asked,
        };
        Prompt { key, permit: permit.clone(), text }
    };
    keys(ask).into_iter().zip(&ask.items).map(prompt).collect()
}

/// Names what a permission is for, so that the same is known again in another request: a command as
/// it is, files by their place in the work tree, everything else by all that was asked.
fn permit(agent: &Agent, folder: &Path, ask: &Ask) -> Option<String> {
    if ask.kind != AskKind::Permission {
        return None;
    }
    Some(match want(agent.adapter, ask) {
        Want::Run { command } => key("run", command.trim(), ""),
        Want::Edit { paths } => {
            let inner = |path: &String| {
                let path = Path::new(path);
                path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
            };
            key("edit", &paths.iter().map(inner).collect::<Vec<_>>().join("\n"), "")
        }
        Want::Other => key("other", &ask.tool, &ask.arguments),
    })
}

/// A tool and what it is to be used for, which mostly begins with the tool's name.
fn named(ask: &Ask, asked: &str) -> String {
    match asked.starts_with(&ask.tool) {
        true => asked.to_owned(),
        false => format!("{}: {asked}", ask.tool),
    }
}

/// What is remembered of a question in the agent's own text.
pub(crate) fn text_prompt(question: &protocol::Question) -> Prompt {
    let text = one_line(&question.question, ASKED_LENGTH_MAX);
    Prompt { key: text_key(question), permit: None, text }
}

/// An answer, with the question that it answers.
pub(crate) fn told(asked: &str, answer: &str) -> String {
    match asked {
        "" => format!("A person answered your question: {answer}"),
        asked => format!("You asked: {asked}\nA person answered: {answer}"),
    }
}

/// The key of a question in the agent's own text.
pub(crate) fn text_key(question: &protocol::Question) -> String {
    key("text", &question.question, &question.options.join("\n"))
}

/// The entries of a question of the program, in the order of its items. `grants` are the ways in
/// which a permission can be given.
pub(crate) fn questions(
    ask: &Ask,
    id: &impl Display,
    agent: &str,
    grants: &[Grant],
) -> Vec<Question<Topic>> {
    ask.items.iter().map(|item| question(ask, item, (id, agent), grants)).collect()
}

fn question(
    ask: &Ask,
    item: &AskItem,
    (id, agent): (&impl Display, &str),
    grants: &[Grant],
) -> Question<Topic> {
    let is_permission = ask.kind == AskKind::Permission;
    let asked = one_line(&item.text, TITLE_LENGTH_MAX);
    let (kind, title) = match is_permission {
        true => {
            let named = named(ask, &asked);
            (QuestionKind::Permission, format!("{id}: {agent} wants to use {named}"))
        }
        false => (QuestionKind::AgentQuestion, format!("{id}: {agent} asks: {asked}")),
    };
    let mut text = plain(&item.text);
    text.push_str(&match is_permission {
        true => meanings(grants),
        false => plain(&described(item)),
    });
    let choices: Vec<String> = match (is_permission, item.is_many) {
        (true, _) => {
            let grants = grants.iter().map(|grant| grant.as_str());
            grants.chain([DENY]).map(str::to_owned).collect()
        }
        (false, true) => Vec::new(),
        (false, false) => item.choices.iter().map(|choice| choice.id.clone()).collect(),
    };
    Question::new(kind, Topic::default(), title, text).choices(choices)
}

/// What each way to allow it means, where there is more than one.
fn meanings(grants: &[Grant]) -> String {
    if grants.len() < 2 {
        return String::new();
    }
    let line = |grant: &Grant| format!("\n- {}: {}", grant.as_str(), grant.meaning());
    format!("\n{}", grants.iter().map(line).collect::<String>())
}

/// The choices with all that is told of them; an answer is the short name of one.
fn described(item: &AskItem) -> String {
    let mut text = String::new();
    if item.is_many {
        text.push_str("\n\nOne or more of these, separated by commas:");
    } else if item.choices.iter().any(|choice| choice.label != choice.id) {
        text.push('\n');
    } else {
        return text;
    }
    for choice in &item.choices {
        text.push_str("\n- ");
        text.push_str(&choice.label);
    }
    text
}

/// The entry of a question in the agent's own text.
pub(crate) fn text_question(
    question: &protocol::Question,
    id: &impl Display,
    agent: &str,
) -> Question<Topic> {
    let asked = one_line(&question.question, TITLE_LENGTH_MAX);
    let (kind, topic) = (QuestionKind::AgentQuestion, Topic::default());
    let title = format!("{id}: {agent} asks: {asked}");
    Question::new(kind, topic, title, plain(&question.question))
        .choices(question.options.iter().map(|option| plain(option)))
}

/// What to tell the program, once every item has its answer.
pub(crate) fn answer(ask: &Ask, trail: Option<&Trail>) -> Option<Answer> {
    let given = |key: &String| trail?.answers.get(key).cloned();
    let texts: Vec<String> = keys(ask).iter().map(given).collect::<Option<_>>()?;
    Some(match ask.kind {
        AskKind::Permission if texts.iter().all(|text| Grant::from_word(text).is_some()) => {
            Answer::Allow
        }
        AskKind::Permission => Answer::Deny { reason: refused(&texts) },
        AskKind::Question | AskKind::Unknown => {
            let answers = ask.items.iter().zip(&texts);
            Answer::Chosen(answers.map(|(item, text)| chosen(item, text)).collect())
        }
    })
}

/// That a person has refused something, with what was said of it.
fn refused(texts: &[String]) -> String {
    let said = texts.iter().find_map(|text| text.strip_prefix(DENY)?.strip_prefix(": "));
    match said {
        Some(why) => format!("a person has refused it: {why}"),
        None => "a person has refused it".to_owned(),
    }
}

/// The ids of the choices that were taken, or the text as it is.
fn chosen(item: &AskItem, text: &str) -> Vec<String> {
    let parts: Vec<&str> =
        if item.is_many { text.split(',').map(str::trim).collect() } else { vec![text] };
    let id = |part: &&str| {
        let is_meant = |name: &str| name.eq_ignore_ascii_case(part);
        let choice = item.choices.iter().find(|it| is_meant(&it.id) || is_meant(&it.label));
        choice.map_or_else(|| (*part).to_owned(), |it| it.id.clone())
    };
    parts.iter().filter(|part| !part.is_empty()).map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::symlink, path::PathBuf};
    use waypost_agent::{
        Adapter,
        programs::AgentProgram,
        stream::{Choice, Reader, Said},
    };
    use waypost_model::{
        config::{AgentAccess, AgentConfig},
        tool::{Tool, ToolKind},
    };

    fn ask(kind: AskKind, items: Vec<AskItem>) -> Ask {
        Ask {
            request: "1".into(),
            kind,
            tool: "Bash".into(),
            items,
            arguments: String::new(),
            raw: String::new(),
        }
    }

    fn item(text: &str, labels: &[&str], is_many: bool) -> AskItem {
        let choice = |label: &&str| Choice { id: label.to_lowercase(), label: (*label).to_owned() };
        let choices = labels.iter().map(choice).collect();
        AskItem { key: text.to_owned(), text: text.to_owned(), choices, is_many }
    }

    fn trail(ask: &Ask, answers: &[&str]) -> Trail {
        let answers = keys(ask).into_iter().zip(answers.iter().map(ToString::to_string)).collect();
        Trail { answers, ..Trail::default() }
    }

    #[test]
    fn a_permission_is_given_only_by_the_word_for_it() {
        let ask = ask(AskKind::Permission, vec![item("cargo publish", &[], false)]);
        assert_eq!(answer(&ask, None), None);
        for grant in Grant::ALL {
            let trail = trail(&ask, &[grant.as_str()]);
            assert_eq!(answer(&ask, Some(&trail)), Some(Answer::Allow));
        }
        let denied = answer(&ask, Some(&trail(&ask, &["yes"])));
        assert!(matches!(denied, Some(Answer::Deny { .. })), "{denied:?}");
    }

    #[test]
    fn a_question_waits_for_the_answers_to_all_its_items() {
        let items = vec![item("Which?", &["Red", "Blue"], false), item("Why?", &[], false)];
        let ask = ask(AskKind::Question, items);
        assert_eq!(answer(&ask, Some(&trail(&ask, &["Red"]))), None);
        let told = answer(&ask, Some(&trail(&ask, &["Red", "it is nice"])));
        assert_eq!(told, Some(Answer::Chosen(vec![vec!["red".into()], vec!["it is nice".into()]])));
    }

    #[test]
    fn of_many_choices_several_may_be_taken() {
        let ask = ask(AskKind::Question, vec![item("Which?", &["Red", "Blue", "Green"], true)]);
        let told = answer(&ask, Some(&trail(&ask, &["red, Green"])));
        assert_eq!(told, Some(Answer::Chosen(vec![vec!["red".into(), "green".into()]])));
    }

    #[test]
    fn a_choice_is_made_by_its_short_name() {
        let choice = |id: &str, label: &str| Choice { id: id.to_owned(), label: label.to_owned() };
        let choices = vec![choice("SQLite", "SQLite: one file"), choice("None", "None")];
        let one = AskItem { choices, ..item("Which?", &[], false) };
        let many = AskItem { is_many: true, text: "And?".to_owned(), ..one.clone() };
        let ask = ask(AskKind::Question, vec![one, many]);
        let id = "T1.1";
        let [one, many] = questions(&ask, &id, "claude", &[]).try_into().unwrap();
        assert_eq!(one.text, "Which?\n\n- SQLite: one file\n- None");
        assert_eq!(one.choices, ["SQLite", "None"]);
        let want = "And?\n\nOne or more of these, separated by commas:\n- SQLite: one file\n- None";
        assert_eq!((many.text.as_str(), many.choices.len()), (want, 0));
        let told = answer(&ask, Some(&trail(&ask, &["SQLite", "none, sqlite"])));
        let chosen = vec![vec!["SQLite".to_owned()], vec!["None".to_owned(), "SQLite".to_owned()]];
        assert_eq!(told, Some(Answer::Chosen(chosen)));
    }

    #[test]
    fn the_title_of_a_permission_names_its_tool_once() {
        let id = "T1.1";
        for (text, title) in [
            ("Bash: cargo publish", "T1.1: claude wants to use Bash: cargo publish"),
            ("cargo publish", "T1.1: claude wants to use Bash: cargo publish"),
        ] {
            let ask = ask(AskKind::Permission, vec![item(text, &[], false)]);
            assert_eq!(questions(&ask, &id, "claude", &[Grant::Once])[0].title, title);
        }
    }

    #[test]
    fn what_is_asked_names_the_question() {
        let one = ask(AskKind::Permission, vec![item("cargo publish", &[], false)]);
        let other = ask(AskKind::Permission, vec![item("cargo publish --force", &[], false)]);
        assert_eq!(keys(&one), keys(&one.clone()));
        assert_ne!(keys(&one), keys(&other));
    }

    #[test]
    fn an_answer_is_bound_to_all_that_was_asked() {
        let write = |id: u32, content: &str| {
            let input = serde_json::json!({"file_path": "/a", "content": content});
            let request = serde_json::json!({"subtype": "can_use_tool", "tool_name": "Write",
                "tool_use_id": format!("toolu_{id}"), "input": input});
            let line = serde_json::json!({"type": "control_request",
                "request_id": id.to_string(), "request": request});
            waypost_agent::stream::ask(Adapter::CLAUDE, &line.to_string()).unwrap()
        };
        assert_eq!(keys(&write(1, "x")), keys(&write(2, "x")), "asked again");
        assert_ne!(keys(&write(1, "x")), keys(&write(1, "y")), "something else");
    }

    fn acp(access: AgentAccess, allowed: &[&str]) -> Agent {
        let allowed_tools = allowed.iter().map(ToString::to_string).collect();
        let config = AgentConfig { access, allowed_tools, ..AgentConfig::default() };
        let command = vec!["gemini".to_owned()];
        Agent {
            name: "gemini".to_owned(),
            adapter: Adapter::ACP,
            command,
            config,
            programs: Programs::default(),
            wall: crate::wall::AgentWall::default(),
        }
    }

    fn asking_for(call: &serde_json::Value) -> Ask {
        let line = serde_json::json!({"jsonrpc": "2.0", "id": 0,
            "method": "session/request_permission",
            "params": {"sessionId": "s", "options": [], "toolCall": call}});
        let said = Reader::new(Adapter::ACP).read(format!("{line}\n").as_bytes());
        let asked = said.into_iter().find_map(|said| match said {
            Said::Asked(ask) => Some(ask),
            _ => None,
        });
        asked.unwrap()
    }

    fn edit(path: &Path, content: &str) -> Ask {
        asking_for(&serde_json::json!({"toolCallId": "c", "kind": "edit", "title": "Writing",
            "content": [{"type": "diff", "path": path, "oldText": "", "newText": content}],
            "locations": [{"path": path}]}))
    }

    fn command(command: &str) -> Ask {
        asking_for(&serde_json::json!({"toolCallId": "c", "kind": "execute", "title": command}))
    }

    #[test]
    fn an_edit_is_allowed_only_where_it_really_is_in_the_work_tree() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("tree"), folder.path().join("other"));
        for name in ["tree/src", "tree/.git/hooks", "other"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        symlink(&other, tree.join("way-out")).unwrap();
        symlink(other.join("new"), tree.join("dangling")).unwrap();
        let agent = acp(AgentAccess::Edit, &[]);
        for (path, is_allowed) in [
            (tree.join("a.txt"), true),
            (tree.join("src/new/b.txt"), true),
            (PathBuf::from("src/c.txt"), true),
            (other.join("a.txt"), false),
            (tree.join("../other/a.txt"), false),
            (tree.join("way-out/a.txt"), false),
            (tree.join("dangling"), false),
            (tree.join(".git/hooks/pre-commit"), false),
            (tree.join("src/.git/config"), false),
            (tree.join(".gemini/settings.json"), false),
        ] {
            let answer = by_access(&agent, &tree, &edit(&path, "x"));
            assert_eq!(answer == Some(Answer::Allow), is_allowed, "{}", path.display());
        }
    }

    static PARROT: AgentProgram = AgentProgram {
        tools: &[Tool { name: "crack", kind: ToolKind::Shell, fields: &["nut"], folders: &[] }],
        ..AgentProgram::UNKNOWN
    };

    #[test]
    fn an_agent_is_answered_by_its_access_level() {
        let folder = tempfile::tempdir().unwrap();
        let answer = |agent: &Agent, ask: &Ask| by_access(agent, folder.path(), ask);
        let change = edit(&folder.path().join("a"), "x");
        let agent = acp(AgentAccess::Edit, &["Bash(cargo test:*)"]);
        assert_eq!(answer(&agent, &command("cargo test")), Some(Answer::Allow));
        assert_eq!(answer(&agent, &command("git push")), None);
        // A list names a shell tool of any program that is known, and none that is not.
        let crack = &["crack(cargo test:*)"];
        let agent = acp(AgentAccess::Edit, crack);
        assert_eq!(answer(&agent, &command("cargo test")), None);
        let programs = agent.programs.with(&PARROT);
        let agent = Agent { programs, ..acp(AgentAccess::Edit, crack) };
        assert_eq!(answer(&agent, &command("cargo test")), Some(Answer::Allow));
        let reader = acp(AgentAccess::Read, &[]);
        assert!(matches!(answer(&reader, &change), Some(Answer::Deny { .. })));
        let unfenced = acp(AgentAccess::Unfenced, &[]);
        assert_eq!(answer(&unfenced, &command("git push")), Some(Answer::Allow));
        // Programs that were told their access level ask only for what is beyond it.
        let claude = Agent { adapter: Adapter::CLAUDE, ..unfenced };
        assert_eq!(answer(&claude, &command("git push")), None);
    }

    #[test]
    fn a_permission_for_the_run_is_about_the_command_or_the_file_and_nothing_else() {
        let agent = acp(AgentAccess::Edit, &[]);
        let permit = |folder: &str, ask: &Ask| permit(&agent, Path::new(folder), ask).unwrap();
        let write = |path: &str, content: &str| edit(Path::new(path), content);
        assert_eq!(permit("/w/1", &command("make x")), permit("/w/2", &command("make x")));
        assert_ne!(permit("/w/1", &command("make x")), permit("/w/1", &command("make y")));
        let one = permit("/w/1", &write("/w/1/.git/config", "x"));
        assert_eq!(one, permit("/w/2", &write("/w/2/.git/config", "y")));
        assert_ne!(one, permit("/w/1", &write("/w/1/.git/other", "x")));
    }

    #[test]
    fn an_answer_is_told_with_its_question() {
        assert_eq!(told("Which?", "red"), "You asked: Which?\nA person answered: red");
        let agent = acp(AgentAccess::Edit, &[]);
        let [prompt] = prompts(&agent, Path::new("/w"), &command("git push")).try_into().unwrap();
        assert_eq!(prompt.text, "permission for execute: git push");
    }

    #[test]
    fn what_is_shown_is_what_is_asked() {
        let ask = ask(AskKind::Permission, vec![item("ls \u{1b}[8m\u{202e}x\u{9b}1A", &[], false)]);
        let shown = &questions(&ask, &"T1.1", "claude", &[Grant::Once])[0];
        assert_eq!(shown.text, "ls [8mx1A");
        assert_eq!(shown.title, "T1.1: claude wants to use Bash: ls [8mx1A");
    }
}

//! Questions of agents to a person: how one is put into the inbox, and how the answer is told.
//!
//! A question is named after what it asks, so that an agent that was interrupted and asks the same
//! again is given the answer it could not hear, and one that asks something else is not.

use super::{brief::one_line, signature::fnv};
use crate::text::plain;
use std::fmt::Display;
use waypost_agent::{
    answer::Answer,
    protocol,
    stream::{ALLOW, Ask, AskItem, AskKind, DENY},
};
use waypost_model::{
    inbox::{Question, QuestionKind},
    run::Trail,
};

/// The longest title of an entry.
const TITLE_LENGTH_MAX: usize = 120;

/// The keys of a question of the program, one for each of its items.
pub(crate) fn keys(ask: &Ask) -> Vec<String> {
    let arguments = ask.arguments();
    ask.items.iter().map(|item| key(&ask.tool, &item.text, &arguments)).collect()
}

fn key(kind: &str, text: &str, arguments: &str) -> String {
    format!("{:016x}", fnv(format!("{kind}\n{text}\n{arguments}").as_bytes()))
}

/// The key of a question in the agent's own text.
pub(crate) fn text_key(question: &protocol::Question) -> String {
    key("text", &question.question, &question.options.join("\n"))
}

/// The entries of a question of the program, in the order of its items.
pub(crate) fn questions(ask: &Ask, id: &impl Display, agent: &str) -> Vec<Question> {
    ask.items.iter().map(|item| question(ask, item, id, agent)).collect()
}

fn question(ask: &Ask, item: &AskItem, id: &impl Display, agent: &str) -> Question {
    let is_permission = ask.kind == AskKind::Permission;
    let asked = one_line(&item.text, TITLE_LENGTH_MAX);
    let (kind, title) = match is_permission {
        // What it is to be used for mostly begins with its name.
        true if asked.starts_with(&ask.tool) => {
            (QuestionKind::Permission, format!("{id}: {agent} wants to use {asked}"))
        }
        true => {
            (QuestionKind::Permission, format!("{id}: {agent} wants to use {}: {asked}", ask.tool))
        }
        false => (QuestionKind::AgentQuestion, format!("{id}: {agent} asks: {asked}")),
    };
    let mut text = plain(&item.text);
    if !is_permission {
        text.push_str(&plain(&described(item)));
    }
    let choices = match (is_permission, item.is_many) {
        (true, _) => vec![ALLOW.to_owned(), DENY.to_owned()],
        (false, true) => Vec::new(),
        (false, false) => item.choices.iter().map(|choice| choice.id.clone()).collect(),
    };
    Question { kind, subject: String::new(), title, text, choices }
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
) -> Question {
    let asked = one_line(&question.question, TITLE_LENGTH_MAX);
    Question {
        kind: QuestionKind::AgentQuestion,
        subject: String::new(),
        title: format!("{id}: {agent} asks: {asked}"),
        text: plain(&question.question),
        choices: question.options.iter().map(|option| plain(option)).collect(),
    }
}

/// What to tell the program, once every item has its answer.
pub(crate) fn answer(ask: &Ask, trail: Option<&Trail>) -> Option<Answer> {
    let given = |key: &String| trail?.answers.get(key).cloned();
    let texts: Vec<String> = keys(ask).iter().map(given).collect::<Option<_>>()?;
    Some(match ask.kind {
        AskKind::Permission if texts.iter().all(|text| text == ALLOW) => Answer::Allow,
        AskKind::Permission => Answer::Deny { reason: "a person has refused it".to_owned() },
        AskKind::Question | AskKind::Unknown => {
            let answers = ask.items.iter().zip(&texts);
            Answer::Chosen(answers.map(|(item, text)| chosen(item, text)).collect())
        }
    })
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
    use waypost_agent::stream::Choice;

    fn ask(kind: AskKind, items: Vec<AskItem>) -> Ask {
        Ask { request: "1".into(), kind, tool: "Bash".into(), items, raw: String::new() }
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
        assert_eq!(answer(&ask, Some(&trail(&ask, &["allow"]))), Some(Answer::Allow));
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
        let [one, many] = questions(&ask, &id, "claude").try_into().unwrap();
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
            assert_eq!(questions(&ask, &id, "claude")[0].title, title);
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
        let write = |id: u32, content: &str| Ask {
            raw: format!(
                r#"{{"type":"control_request","request_id":"{id}","request":{{
                    "subtype":"can_use_tool","tool_name":"Write","tool_use_id":"toolu_{id}",
                    "input":{{"file_path":"/a","content":"{content}"}}}}}}"#
            ),
            ..ask(AskKind::Permission, vec![item("Write: /a", &[], false)])
        };
        assert_eq!(keys(&write(1, "x")), keys(&write(2, "x")), "asked again");
        assert_ne!(keys(&write(1, "x")), keys(&write(1, "y")), "something else");
    }

    #[test]
    fn what_is_shown_is_what_is_asked() {
        let ask = ask(AskKind::Permission, vec![item("ls \u{1b}[8m\u{202e}x\u{9b}1A", &[], false)]);
        let shown = &questions(&ask, &"T1.1", "claude")[0];
        assert_eq!(shown.text, "ls [8mx1A");
        assert_eq!(shown.title, "T1.1: claude wants to use Bash: ls [8mx1A");
    }
}

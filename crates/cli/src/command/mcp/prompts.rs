//! The plugin's skills as prompts, for programs that have no plugin.

use serde_json::{Map, Value};
use waypost_mcp::{PromptArgument, PromptSpec};

/// A skill: its name, its text, and what `$ARGUMENTS` in it stands for.
struct Skill {
    name: &'static str,
    text: &'static str,
    argument: PromptArgument,
}

const SKILLS: [Skill; 3] = [
    Skill {
        name: "develop",
        text: include_str!("../../../../../plugin/skills/develop/SKILL.md"),
        argument: PromptArgument {
            name: "feature",
            description: "What is to be built; empty to take up what is under way",
            is_required: false,
        },
    },
    Skill {
        name: "auto-orchestrate",
        text: include_str!("../../../../../plugin/skills/auto-orchestrate/SKILL.md"),
        argument: PromptArgument {
            name: "wish",
            description: "What to do with the tasks of TASKS.md",
            is_required: false,
        },
    },
    Skill {
        name: "session",
        text: include_str!("../../../../../plugin/skills/session/SKILL.md"),
        argument: PromptArgument {
            name: "request",
            description: "What is wanted; empty to take up what is under way",
            is_required: false,
        },
    },
];

pub(super) fn specs() -> Vec<PromptSpec> {
    let spec = |skill: &Skill| PromptSpec {
        name: skill.name,
        description: header(skill.text, "description").to_owned(),
        arguments: vec![skill.argument.clone()],
    };
    SKILLS.iter().map(spec).collect()
}

/// A skill with its argument filled in.
pub(super) fn fill(name: &str, arguments: &Map<String, Value>) -> Result<String, String> {
    let Some(skill) = SKILLS.iter().find(|skill| skill.name == name) else {
        let names: Vec<&str> = SKILLS.iter().map(|skill| skill.name).collect();
        return Err(format!("there is no prompt `{name}`; there are: {}", names.join(", ")));
    };
    let said = arguments.get(skill.argument.name).and_then(Value::as_str).unwrap_or_default();
    Ok(body(skill.text).replace("$ARGUMENTS", said))
}

/// A field of the lines between the first two rules.
fn header<'a>(text: &'a str, field: &str) -> &'a str {
    let mut lines = text.lines().skip(1).take_while(|line| *line != "---");
    let found = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    found.map_or("", str::trim)
}

fn body(text: &str) -> &str {
    text.splitn(3, "---\n").nth(2).unwrap_or(text).trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_skill_is_a_prompt() {
        for spec in specs() {
            assert!(spec.description.len() > 40, "{spec:?}");
            let arguments = json!({ spec.arguments[0].name: "Live chat" });
            let text = fill(spec.name, arguments.as_object().unwrap()).unwrap();
            assert!(text.starts_with("# ") && !text.contains("$ARGUMENTS"), "{text}");
        }
        assert!(
            fill("develop", json!({"feature": "Live chat"}).as_object().unwrap())
                .unwrap()
                .contains("Live chat")
        );
        assert!(fill("nothing", &Map::new()).is_err());
    }
}

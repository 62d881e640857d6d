//! What a project's own file may not say: where notices go, which programs are agents, what a person
//! lets them spend in a day, and what the wall lets them do.
//!
//! A repository is written by others, and by agents. A file of it that named a program would have
//! that program started with the person's account, and one that named an address would have
//! notices sent there. Both stand in the person's own configuration alone, and a project's file
//! that says them is refused as a whole, like one with a key that does not exist.

use std::path::Path;
use toml::{Table, Value};
use waypost_model::{
    config::{Config, PERSONAL_KEYS, PROGRAM_KEYS, WALL_KEYS, WallLevel},
    diagnostic::Diagnostic,
};
use waypost_store::parse;

/// Where the person's own configuration is, if there is no better name for it.
pub(crate) const USUAL_USER_FILE: &str = "~/.config/waypost/config.toml";

/// A person's own limit for all that is spent on one day.
const DAY_BUDGET_KEY: &str = "run.day_budget_usd";

/// A word for programs that match on findings.
const CODE: &str = "personal_key";

/// What only the person's own configuration may say.
pub(crate) struct Personal<'a> {
    /// The agents that the person and Waypost know.
    pub(crate) known: Vec<String>,
    pub(crate) user_file: Option<&'a Path>,
    /// The level of the wall that the person requires.
    pub(crate) level: WallLevel,
}

impl Personal<'_> {
    /// Everything in a project's file that it may not say, with its place in the text.
    pub(crate) fn findings(&self, layer: &Table, bytes: &[u8]) -> Vec<Diagnostic> {
        let mut findings: Vec<Diagnostic> = self.about_notices(layer).collect();
        findings.extend(self.about_money(layer));
        findings.extend(self.about_wall(layer));
        if let Some(Value::Table(agents)) = layer.get("agents") {
            findings.extend(agents.iter().flat_map(|(name, agent)| self.about_agent(name, agent)));
        }
        for finding in &mut findings {
            finding.place = parse::place_of::<Config>(bytes, &finding.path);
        }
        findings.sort_by_key(|finding| finding.place);
        findings
    }

    fn about_notices<'a>(&'a self, layer: &'a Table) -> impl Iterator<Item = Diagnostic> + 'a {
        let is_said = move |key: &&str| {
            let (table, key) = key.split_once('.').unwrap_or(("", key));
            layer.get(table).and_then(|table| table.get(key)).is_some()
        };
        PERSONAL_KEYS.into_iter().filter(is_said).map(move |key| {
            let message = format!(
                "`{key}` has a say in where notices go, and a project may not: anyone who can \
                 change the repository could read along"
            );
            self.finding(
                key,
                message,
                &format!("remove it here, and set it in {}", self.own_file()),
            )
        })
    }

    fn about_money(&self, layer: &Table) -> Option<Diagnostic> {
        layer.get("run")?.get("day_budget_usd")?;
        let message = format!(
            "`{DAY_BUDGET_KEY}` is what a person lets agents spend in a day, and a project has no \
             say in it"
        );
        let hint = format!("remove it here, and set it in {}", self.own_file());
        Some(self.finding(DAY_BUDGET_KEY, message, &hint))
    }

    fn about_wall(&self, layer: &Table) -> Vec<Diagnostic> {
        let Some(wall) = layer.get("wall") else { return Vec::new() };
        let said = WALL_KEYS.iter().filter(|key| wall.get(key).is_some());
        let mut findings: Vec<Diagnostic> = said
            .map(|key| {
                let message = format!(
                    "`wall.{key}` opens the wall, and a project may not: it is what holds agents \
                     that work on it"
                );
                let hint = format!("remove it here, and set it in {}", self.own_file());
                self.finding(&format!("wall.{key}"), message, &hint)
            })
            .collect();
        let required = wall.get("require").and_then(Value::as_str);
        if required.and_then(WallLevel::from_word).is_some_and(|level| level < self.level) {
            let message = format!(
                "`wall.require` is lower than what you require yourself, `{}`; a project may only \
                 require more",
                self.level.as_str()
            );
            findings.push(self.finding("wall.require", message, "remove it here"));
        }
        findings
    }

    fn about_agent(&self, name: &str, agent: &Value) -> Vec<Diagnostic> {
        if !self.known.iter().any(|known| known == name) {
            let message = format!("a project cannot add an agent, and there is no `{name}`");
            let hint = format!(
                "remove the lines of `[agents.{name}]` here, and add it with `adapter` and \
                 `command` in {}",
                self.own_file()
            );
            return vec![self.finding(&format!("agents.{name}"), message, &hint)];
        }
        let said = PROGRAM_KEYS.iter().filter(|key| agent.get(key).is_some());
        said.map(|key| {
            let message = format!(
                "`{key}` has a say in which program `{name}` is, and a project may not: it would \
                 run with your account"
            );
            let hint =
                format!("remove it here, and set it in `[agents.{name}]` of {}", self.own_file());
            self.finding(&format!("agents.{name}.{key}"), message, &hint)
        })
        .collect()
    }

    fn finding(&self, path: &str, message: String, hint: &str) -> Diagnostic {
        Diagnostic::error(CODE, message).path(path).hint(hint)
    }

    fn own_file(&self) -> String {
        self.user_file.map_or_else(|| USUAL_USER_FILE.to_owned(), |path| path.display().to_string())
    }
}

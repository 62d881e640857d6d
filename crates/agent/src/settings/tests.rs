//! Settings of agent programs as people write them, and what is read from them.

use super::*;
use crate::adapter::Adapter;
use crate::registration::{HookProgram, register};
use std::collections::BTreeMap;

const HOME: &str = "/home/alice";
const ROOT: &str = "/projects/shop";

/// A machine with these files and variables.
struct Machine {
    files: BTreeMap<PathBuf, String>,
    variables: BTreeMap<String, String>,
}

fn machine(files: &[(&str, &str)]) -> Machine {
    let files = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned()));
    Machine { files: files.collect(), variables: BTreeMap::new() }
}

impl Machine {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn ask<T>(&self, ask: impl FnOnce(&Around<'_>) -> T) -> T {
        ask(&Around {
            home: Path::new(HOME),
            root: Path::new(ROOT),
            main_root: Path::new(ROOT),
            variable: &|name| self.variables.get(name).cloned(),
            read: &|path| self.files.get(path).cloned(),
        })
    }

    fn obstacles(&self, product: Product) -> Vec<String> {
        self.ask(|around| product.obstacles(around)).into_iter().map(|it| it.text).collect()
    }
}

fn hook(product: Product) -> String {
    let words = ["/bin/waypost-hook".to_owned()];
    register(product, None, &HookProgram::new(&words)).unwrap()
}

#[test]
fn the_last_layer_of_claude_that_decides_about_hooks_wins() {
    const OFF: &str = r#"{"disableAllHooks": true}"#;
    const ON: &str = r#"{"disableAllHooks": false}"#;
    let user = "/home/alice/.claude/settings.json";
    let (project, local) =
        ("/projects/shop/.claude/settings.json", "/projects/shop/.claude/settings.local.json");
    let managed = "/etc/claude-code/managed-settings.json";
    let off = |name: &str| vec![format!("`disableAllHooks` in {name} turns every hook off")];
    type Row<'a> = (&'a [(&'a str, &'a str)], Vec<String>);
    let table: &[Row<'_>] = &[
        (&[], vec![]),
        (&[(user, OFF)], off("~/.claude/settings.json")),
        (&[(project, OFF)], off(".claude/settings.json")),
        (&[(local, OFF)], off(".claude/settings.local.json")),
        (&[(managed, OFF)], off(managed)),
        (&[(user, OFF), (local, ON)], vec![]),
        (&[(local, ON), (managed, OFF)], off(managed)),
        (
            &[(project, "{ // a remark\n \"disableAllHooks\": true, }")],
            off(".claude/settings.json"),
        ),
        (&[(project, "{")], vec![]),
        (
            &[(managed, r#"{"allowManagedHooksOnly": true}"#)],
            vec![format!("`allowManagedHooksOnly` in {managed} allows no hooks but those in it")],
        ),
    ];
    for (files, want) in table {
        assert_eq!(machine(files).obstacles(Product::CLAUDE), *want, "{files:?}");
    }
    let moved = machine(&[("/etc/mine/settings.json", OFF)]).with("CLAUDE_CONFIG_DIR", "/etc/mine");
    assert_eq!(moved.obstacles(Product::CLAUDE), off("/etc/mine/settings.json"));
    let bare = machine(&[]).with("CLAUDE_CODE_SIMPLE", "1");
    assert_eq!(bare.obstacles(Product::CLAUDE).len(), 1);
    assert!(machine(&[]).with("CLAUDE_CODE_SIMPLE", "0").obstacles(Product::CLAUDE).is_empty());
}

#[test]
fn codex_asks_a_hook_only_where_folder_and_hook_are_trusted() {
    let hooks = hook(Product::CODEX);
    let at = "/projects/shop/.codex/hooks.json";
    let config = "/home/alice/.codex/config.toml";
    let folder = "[projects.\"/projects/shop\"]\ntrust_level = \"trusted\"\n";
    let state = format!("[hooks.state.\"{at}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:7\"\n");
    let both = format!("{folder}{state}");
    let off = format!("{both}enabled = false\n");
    let none = format!("{both}\n[features]\nhooks = false\n");
    let table = [
        ("", ".codex/hooks.json is not read, because this folder is not trusted"),
        (&state, ".codex/hooks.json is not read, because this folder is not trusted"),
        (folder, "the hook in .codex/hooks.json is skipped, because it is not trusted"),
        (&both, ""),
        (&off, "the hook in .codex/hooks.json is switched off in Codex"),
        (&none, "`features.hooks = false` in ~/.codex/config.toml turns every hook off"),
    ];
    for (text, want) in table {
        let found = machine(&[(at, &hooks), (config, text)]).obstacles(Product::CODEX);
        assert_eq!(found.join("; "), want, "{text}");
    }
    // Where it is not registered, nothing is missed.
    assert!(machine(&[(config, "")]).obstacles(Product::CODEX).is_empty());
}

#[test]
fn a_check_does_not_make_codex_trust_a_folder() {
    let config = "/home/alice/.codex/config.toml";
    let arguments = |text: &str| {
        machine(&[(config, text)]).ask(|around| Product::CODEX.trust_arguments(around))
    };
    let want = ["-c", "projects={\"/projects/shop\"={trust_level=\"untrusted\"}}"];
    assert_eq!(arguments(""), want);
    assert_eq!(arguments("[projects.\"/projects\"]\ntrust_level = \"trusted\"\n"), want);
    let decided = "[projects.\"/projects/shop\"]\ntrust_level = \"trusted\"\n";
    assert!(arguments(decided).is_empty());
}

#[test]
fn gemini_reads_a_projects_settings_only_in_folders_that_are_trusted() {
    let hooks = hook(Product::GEMINI);
    let (at, list) =
        ("/projects/shop/.gemini/settings.json", "/home/alice/.gemini/trustedFolders.json");
    let user = "/home/alice/.gemini/settings.json";
    let skipped = ".gemini/settings.json is not read, because this folder is not trusted";
    let table = [
        (vec![], skipped),
        (vec![(list, r#"{"/projects/shop": "TRUST_FOLDER"}"#)], ""),
        (vec![(list, r#"{"/projects/other": "TRUST_PARENT"}"#)], ""),
        (
            vec![(list, r#"{"/projects": "TRUST_FOLDER", "/projects/shop": "DO_NOT_TRUST"}"#)],
            skipped,
        ),
        (vec![(user, r#"{"security": {"folderTrust": {"enabled": false}}}"#)], ""),
        (
            vec![
                (list, r#"{"/projects/shop": "TRUST_FOLDER"}"#),
                (user, r#"{"hooksConfig": {"enabled": false, "disabled": ["waypost"]}}"#),
            ],
            "`hooksConfig.enabled` in ~/.gemini/settings.json turns every hook off; \
             `hooksConfig.disabled` in ~/.gemini/settings.json names our hook",
        ),
    ];
    for (mut files, want) in table {
        files.push((at, &hooks));
        assert_eq!(machine(&files).obstacles(Product::GEMINI).join("; "), want, "{files:?}");
    }
    let trusted = machine(&[(at, &hooks)]).with("GEMINI_CLI_TRUST_WORKSPACE", "true");
    assert!(trusted.obstacles(Product::GEMINI).is_empty());
}

#[test]
fn every_place_of_a_hook_is_found() {
    let hooks = hook(Product::CLAUDE);
    let user = "/home/alice/.claude/settings.json";
    let local = "/projects/shop/.claude/settings.local.json";
    let plugin = r#"{"enabledPlugins": {"other@x": true, "waypost@shelf": true}}"#;
    let found = |machine: &Machine| machine.ask(|it| registered(Product::CLAUDE, it));
    let both = machine(&[(local, &hooks), (user, plugin)]);
    let want = vec![Registered::File(local.into()), Registered::Plugin(user.into())];
    assert_eq!(found(&both), want);
    let off = r#"{"enabledPlugins": {"waypost@shelf": false}}"#;
    assert_eq!(found(&machine(&[(local, off), (user, plugin)])), vec![]);
}

#[test]
fn the_variables_that_codex_takes_secrets_from_are_found() {
    let config = r#"
model_provider = "corp"
[model_providers.corp]
env_key = "CORP_KEY"
env_http_headers = { "X-Team" = "CORP_TEAM" }
[model_providers.other]
env_key = "OTHER_KEY"
[mcp_servers.wiki]
bearer_token_env_var = "WIKI_TOKEN"
env_vars = ["WIKI_HOME", { name = "WIKI_USER", source = "local" }]
"#;
    let found = machine(&[("/home/alice/.codex/config.toml", config)])
        .ask(|around| Adapter::CODEX.named_variables(around));
    assert_eq!(found.key.as_deref(), Some("CORP_KEY"));
    let want = ["CORP_KEY", "CORP_TEAM", "OTHER_KEY", "WIKI_HOME", "WIKI_TOKEN", "WIKI_USER"];
    assert_eq!(found.all, want);
    assert_eq!(
        machine(&[]).ask(|around| Adapter::CODEX.named_variables(around)),
        NamedVariables::default()
    );
}

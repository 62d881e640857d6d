//! Codex and its home folder: first starts one after another, and variables that its configuration
//! names.

use crate::harness::{BINARY, Project};
use serde_json::json;
use std::fs;

/// Fails as Codex does if another one makes the databases at the same time, and speaks as it does.
const CODEX: &str = r#"[ "$1" = --version ] && echo codex-cli 99.0.0 && exit
home=${CODEX_HOME:-$HOME/.codex}
if ! test -e "$home/state_5.sqlite"; then
  mkdir -p "$home"
  if ! mkdir "$home/making" 2>/dev/null; then
    echo "Error: failed to initialize state runtime at $home" >&2
    exit 1
  fi
  echo "$$" >> "$home/firsts"
  "$WAYPOST" --version >/dev/null
  : > "$home/state_5.sqlite"
fi
echo "key ${CORP_KEY:-unset}" >> "$home/starts"
exec "$WAYPOST" sim agent --speak codex --script "$SCRIPT" --sessions "$SESSIONS" -- "$@"
"#;

const TASKS: &str = "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: One
  - agent: codex
- [ ] T1.2: Two
  - agent: codex
- [ ] T1.3: Three
  - agent: codex
- [ ] T1.4: Four
  - agent: codex
";

/// A project whose tasks are for a program `codex` that has never been started.
fn project() -> Project {
    let project = Project::git();
    let base = project.base();
    let script = json!({"version": 1, "default": [{"steps": [
        {"write": {"file": "{task}.txt", "text": "made\n"}}, {"done": "did it"},
    ]}]});
    fs::write(base.join("script.json"), script.to_string()).unwrap();
    project.program("codex", CODEX);
    project.write("TASKS.md", TASKS);
    project.write(
        "waypost.toml",
        "[run]\nisolation = \"none\"\nretry_limit = 0\nenvironment = [\"WAYPOST\", \"SCRIPT\", \
         \"SESSIONS\"]\n",
    );
    let at = |name: &str| base.join(name).display().to_string();
    project
        .variable("WAYPOST", BINARY)
        .variable("SCRIPT", &at("script.json"))
        .variable("SESSIONS", &at("sessions"))
        .variable("OPENAI_API_KEY", "sk-sim-000")
}

#[test]
fn the_first_starts_in_a_fresh_home_do_not_meet() {
    let project = project();
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("../home/.codex/firsts").lines().count(), 1);
    // One without work, and one for each task.
    assert_eq!(project.read("../home/.codex/starts").lines().count(), 5);
    // Another home is another first start.
    let other = project.base().join("other").display().to_string();
    let project = project.variable("CODEX_HOME", &other);
    project.write("TASKS.md", &TASKS.replace("T1.", "T2."));
    fs::remove_dir_all(project.journal()).unwrap();
    fs::remove_dir_all(project.path(".claude")).unwrap();
    fs::remove_dir_all(project.home().join(".local/state/waypost/projects")).unwrap();
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.read("../other/firsts").lines().count(), 1);
}

#[test]
fn a_variable_that_the_configuration_names_is_passed_or_asked_for() {
    let corp = || {
        let project = project();
        project.write(
            "../home/.codex/config.toml",
            "model_provider = \"corp\"\n[model_providers.corp]\nenv_key = \"CORP_KEY\"\n",
        );
        project
    };
    let project = corp();
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 5, "{ran}");
    assert!(ran.stderr.contains("codex takes its key from the environment variable CORP_KEY"));
    assert!(!project.path("../home/.codex/starts").exists());
    let project = corp().variable("CORP_KEY", "secret-7");
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    let starts = project.read("../home/.codex/starts");
    assert!(starts.lines().all(|line| line == "key secret-7"), "{starts}");
}

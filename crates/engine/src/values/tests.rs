//! Which values are taken, under which names, and what counts as secret.

use super::*;
use crate::environment::{Environment, Variables};
use waypost_agent::programs::BUILT_IN;
use waypost_model::actor::Actor;

fn wanted(name: &str, kind: DependencyKind) -> ValueWanted<'_> {
    ValueWanted { task: "t-1", name, kind }
}

#[test]
fn a_value_is_one_line_that_is_not_empty() {
    let root = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let kept = checked(&text.into(), wanted("K", DependencyKind::ApiKey), root.path());
        kept.map(|value| value.expose().to_owned()).map_err(|error| error.to_string())
    };
    assert_eq!(check("abc\n"), Ok("abc".to_owned()));
    assert_eq!(check(" a b \r\n"), Ok(" a b ".to_owned()));
    for text in ["", "\n", "  \n"] {
        assert_eq!(check(text), Err("the value of `K` is empty".to_owned()));
    }
    for text in ["a\nb", "a\rb", "a\0b"] {
        assert_eq!(check(text), Err("the value of `K` has more than one line".to_owned()));
    }
    assert!(check(&"x".repeat(VALUE_SIZE_MAX + 1)).is_err());
}

#[test]
fn a_file_has_to_be_there_and_its_path_is_whole() {
    let root = tempfile::tempdir().unwrap();
    file_at(&root.path().join("a.csv"));
    let check = |text: &str| {
        let kept = checked(&text.into(), wanted("a.csv", DependencyKind::File), root.path());
        kept.map(|value| value.expose().to_owned()).map_err(|error| error.to_string())
    };
    let whole = root.path().join("a.csv").to_string_lossy().into_owned();
    assert_eq!(check("a.csv\n"), Ok(whole.clone()));
    assert_eq!(check(&whole), Ok(whole));
    let missing = Err("the value of `a.csv` names no file on this machine".to_owned());
    assert_eq!(check("canary-4711.csv"), missing);
    assert_eq!(check("."), missing);
}

#[expect(clippy::disallowed_methods, reason = "tests play the part of a user")]
fn file_at(path: &Path) {
    std::fs::write(path, "1").unwrap();
}

#[test]
fn names_become_variables_that_decide_nothing_else() {
    let table = [
        ("STRIPE_KEY", Some("STRIPE_KEY")),
        ("stripe_key", Some("stripe_key")),
        (" Stripe key ", Some("STRIPE_KEY")),
        ("a.csv", Some("A_CSV")),
        ("MY_PATH", Some("MY_PATH")),
        ("", None),
        ("---", None),
        ("1st", None),
        ("PATH", None),
        ("ld_preload", None),
        ("GIT_SSH_COMMAND", None),
        ("WAYPOST_TASK", None),
    ];
    for (name, want) in table {
        assert_eq!(variable_of(name).ok().as_deref(), want, "{name}");
    }
}

#[test]
fn what_is_declared_or_sounds_secret_is_secret_unless_it_is_a_place() {
    let environment = [
        ("API_KEY", "abcdefgh"),
        ("SHORT_KEY", "abc"),
        ("MINE", "declared-value"),
        ("OTHER", "not declared"),
        ("SSH_AUTH_SOCK", "/"),
        ("TOKEN_PATHS", "/:/usr/bin"),
        ("BASE_URL_KEY", "http://127.0.0.1:8080/"),
        ("HOOK_TOKEN", "https://u:p@host"),
        ("SLASH_KEY", "/not/a/file/of/this/machine"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let found = secrets_among(&environment, &["MINE".to_owned()]);
    let found: Vec<&str> = found.iter().map(Secret::expose).collect();
    let want = ["abcdefgh", "declared-value", "https://u:p@host", "/not/a/file/of/this/machine"];
    assert_eq!(found, want);
}

#[test]
fn agents_know_the_mark_that_keepers_leave() {
    assert_eq!(waypost_agent::answer::MARK, waypost_redact::MARK);
}

/// A project of this actor, with a home of its own.
fn opened(folder: &Path, actor: Actor) -> Project {
    let home = folder.join("home");
    std::fs::create_dir_all(folder.join("project/.waypost")).unwrap();
    let variables: Variables = serde_json::from_value(serde_json::json!({ "HOME": home })).unwrap();
    let environment = Environment::from(variables);
    Project::open_for(&folder.join("project"), actor, environment, &BUILT_IN).unwrap()
}

#[test]
fn a_person_gives_a_value_and_its_task_alone_has_it_until_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let mut project = opened(folder.path(), Actor::User("mina".into()));
    let stripe = wanted("Stripe key", DependencyKind::ApiKey);
    let provided = provide(&mut project, stripe, &"canary-4711\n".into()).unwrap();
    let want = ProvidedValue { variable: "STRIPE_KEY".to_owned(), is_guarded: true };
    assert_eq!(provided, want);
    let short =
        provide(&mut project, wanted("PIN", DependencyKind::Service), &"123".into()).unwrap();
    assert_eq!(short, ProvidedValue { variable: "PIN".to_owned(), is_guarded: false });
    let values = |project: &mut Project, task: &str| -> Vec<(String, String)> {
        let found = environment_of(project, task).unwrap().into_iter();
        found.map(|(name, value)| (name, value.expose().to_owned())).collect()
    };
    let want = [("PIN", "123"), ("STRIPE_KEY", "canary-4711")];
    let want = want.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(values(&mut project, "t-1"), want);
    assert_eq!(names_of(&mut project, "t-1").unwrap(), ["PIN", "STRIPE_KEY"]);
    assert_eq!(values(&mut project, "t-2"), []);
    forget(&mut project, "t-1").unwrap();
    assert_eq!(values(&mut project, "t-1"), []);
}

#[test]
fn an_agent_gives_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let agent = serde_json::from_value(serde_json::json!("agent:alice#1")).unwrap();
    let mut project = opened(folder.path(), agent);
    let refused = provide(&mut project, wanted("KEY", DependencyKind::ApiKey), &"canary".into());
    assert_eq!(refused.unwrap_err().code(), Code::Reserved);
}

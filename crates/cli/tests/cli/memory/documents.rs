//! The shared context and the memory of agents: values by their paths, sessions, caches.

use super::*;
use crate::hook::Asked;
use std::fs;

#[test]
fn values_are_set_read_and_taken_out_by_either_kind_of_path() {
    let project = Project::git();
    assert_eq!(project.run("memory context get shared_data.topic").code, 2);
    assert!(!project.path(CONTEXT).exists(), "a read never makes a file");
    project.must("memory context set shared_data.topic '\"carts\"'");
    project.must("memory context set /shared_data/languages '[\"ko\"]'");
    project.must("memory context set shared_data.languages.- '\"ja\"'");
    assert_eq!(project.must("memory context get shared_data.languages.1").stdout, "\"ja\"\n");
    let value = project.json("memory context get shared_data");
    assert_eq!(value["value"]["languages"], serde_json::json!(["ko", "ja"]));
    project.must("memory context unset shared_data.topic");
    assert_eq!(project.run("memory context unset shared_data.topic").code, 2);
    // What is not open is strict.
    for (path, value) in
        [("mood", "1"), ("version", "2"), ("session.id", "7"), ("shared_data", "[]")]
    {
        let ran = project.run(&format!("memory context set {path} {value}"));
        assert_eq!(ran.code, 2, "{path}\n{ran}");
    }
    assert_eq!(project.run("memory context set shared_data.x nonsense").code, 2);
    assert_eq!(project.run("memory context set shared_data..x 1").code, 2);
    let hash = project.log().into_iter().rfind(|it| it["kind"] == "document_noted").unwrap();
    assert_eq!(hash["body"]["file"], "shared-context.json");
    project.must("memory validate");
}

#[test]
fn an_agent_has_a_memory_of_its_own() {
    let project = Project::git();
    project.must("memory agent writing-assistant set preferences.default_tone '\"친근하게\"'");
    project.must("memory agent writing-assistant set statistics.posts_written 50");
    let file = ".claude/memory/agents/writing-assistant.json";
    assert_eq!(project.window(file)["agent"], "writing-assistant");
    assert_eq!(
        project.must("memory agent writing-assistant get statistics.posts_written").stdout,
        "50\n"
    );
    project.must("memory agent writing-assistant unset statistics.posts_written");
    for name in ["../up", ".hidden", "a/b"] {
        assert_eq!(project.run(&format!("memory agent {name} set cache.x 1")).code, 2, "{name}");
    }
    assert_eq!(project.run("memory agent writing-assistant set agent '\"other\"'").code, 2);
    project.must("memory show agents/writing-assistant");
    project.must("memory validate");
}

#[test]
fn a_session_is_counted_per_day_and_renewed_by_the_first_conversation_of_one() {
    let project = Project::git();
    project.must("memory init");
    let id =
        |project: &Project| project.window(CONTEXT)["session"]["id"].as_str().unwrap().to_owned();
    let first = id(&project);
    assert!(first.ends_with("-001"), "{first}");
    project.must("memory context new-session");
    assert!(id(&project).ends_with("-002"));
    let start = |project: &Project| {
        let event = serde_json::json!({
            "hook_event_name": "SessionStart",
            "source": "startup",
            "session_id": "s1",
            "cwd": project.root,
        });
        project.hook(Asked::Whole, &event).stdout
    };
    start(&project);
    assert!(id(&project).ends_with("-002"), "it is the same day");
    project.edit(CONTEXT, |context| {
        context["session"]["id"] = "session-2025-11-18-007".into();
        context["session"]["started_at"] = "2025-11-18T10:00:00Z".into();
    });
    start(&project);
    assert_eq!(id(&project), first, "the first of today");
    // A conversation is told what is going on.
    project.must("memory task new 'Build the cart'");
    assert!(start(&project).contains("Build the cart"));
}

#[test]
fn what_was_not_used_for_long_is_cleared_from_caches() {
    let project = Project::git();
    project.must("memory agent helper set cache.old '[1]'");
    project.must("memory agent helper set cache.used '[2]'");
    project.must("memory agent helper set preferences.tone '\"dry\"'");
    assert_eq!(project.json("memory prune --cache")["caches"], Value::Array(Vec::new()));
    // As if it were long ago.
    let uses = project.journal().join("memory.cache");
    let mut text: Value = serde_json::from_slice(&fs::read(&uses).unwrap()).unwrap();
    for (_, entry) in text["agents"]["helper"].as_object_mut().unwrap() {
        entry["at"] = 0.into();
    }
    fs::write(&uses, text.to_string()).unwrap();
    project.must("memory agent helper get cache.used");
    let pruned = project.json("memory prune --cache --older-than 30d");
    assert_eq!(pruned["caches"][0]["keys"], serde_json::json!(["old"]));
    let helper = project.window(".claude/memory/agents/helper.json");
    assert_eq!(helper["cache"], serde_json::json!({"used": [2]}));
    assert_eq!(helper["preferences"]["tone"], "dry");
    assert_eq!(project.run("memory prune --cache --older-than soon").code, 2);
}

//! Notes, and what `why`, `log`, `status` and `doctor` know of the memory.

use super::*;

#[test]
fn a_note_has_its_commit_and_its_files_and_fades_when_they_change() {
    let project = Project::git();
    project.write("src/cart.rs", "fn cart() {}\n");
    project.git_command("add .");
    project.git_command("commit -q -m first");
    let head = project.git_command("rev-parse HEAD").trim().to_owned();
    let noted = project.json("memory note 'Carts are sums' --kind decision --file src/cart.rs");
    assert_eq!((noted["id"].as_str(), noted["commit"].as_str()), (Some("n1"), Some(head.as_str())));
    project.must("memory note 'Nothing about files'");
    let changed =
        |project: &Project| project.json("memory notes --kind decision")[0]["changed"].clone();
    assert_eq!(changed(&project), serde_json::json!([]));
    project.write("src/cart.rs", "fn cart() { todo!() }\n");
    assert_eq!(changed(&project), serde_json::json!(["src/cart.rs"]));
    let told = project.must("memory notes --file src/cart.rs").stdout;
    assert!(told.contains("changed since: src/cart.rs") && !told.contains("Nothing"), "{told}");
    project.write("src/cart.rs", "fn cart() {}\n");
    assert_eq!(changed(&project), serde_json::json!([]), "it is about what is there again");
    assert_eq!(project.run("memory note ''").code, 3);
    assert_eq!(project.run("memory note x --file ../elsewhere").code, 2);
    assert_eq!(project.json("memory notes").as_array().map(Vec::len), Some(2));
}

#[test]
fn why_log_status_and_doctor_know_the_memory() {
    let project = at_work();
    let id = current(&project)["id"].as_str().unwrap().to_owned();
    project.must("memory step start 1");
    project.must("memory step fail 1 --class resource --reason 'no printer'");
    let why = project.json(&format!("why {id}"));
    assert_eq!(why["status"], "in_progress");
    let reason = &why["reasons"][0];
    assert!(reason["text"].as_str().unwrap().contains("no printer"), "{why}");
    assert_eq!(reason["event"]["kind"], "step_failed");
    assert!(reason["next"].as_str().unwrap().contains("memory step retry 1"));
    project.must(&format!("why memory:{id}"));
    let told = project.must(&format!("log {id}")).stdout;
    assert!(told.contains("step_failed") && told.contains("task_made"), "{told}");
    let status = project.must("status").stdout;
    assert!(status.contains("Memory") && status.contains("Cart"), "{status}");
    assert_eq!(project.json("status")["memory"]["state"]["current_task"]["id"], id.as_str());
    let examined = project.json("doctor");
    let memory = examined.as_array().unwrap().iter().find(|it| it["subject"] == "memory").unwrap();
    assert_eq!(memory["verdict"], "ok", "{memory}");
    project.must("memory task cancel");
    let why = project.json(&format!("why {id}"));
    assert_eq!(
        (&why["status"], &why["reasons"][0]["event"]["kind"]),
        (&"cancelled".into(), &"task_ended".into())
    );
}

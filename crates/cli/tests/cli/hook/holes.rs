//! Ways around the hook that were found, each shown by what it comes to: the hook is started as it is
//! registered, by the words in the settings, and asked whether a closed push or write may pass.

use super::{Answer, Asked, BOTH, Project, answer};
use crate::harness::Ran;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Stdio,
};

const SETTINGS: &str = ".claude/settings.local.json";

/// A workflow in which nothing may be written, with the hook registered for Claude Code and a remote that has
/// nothing.
fn closed() -> Project {
    let project = Project::implementing();
    project.must("init --agent claude");
    project.git_command("init -q --bare -b main ../remote.git");
    project.git_command("remote add origin ../remote.git");
    project.git_command("config push.default current");
    project.write("src/lib.rs", "mine\n");
    project.must("develop gate reset review_clean_pass");
    project
}

/// The words of the hook before a tool call, as settings have them.
fn registered(project: &Project, file: &str) -> Vec<String> {
    let settings: Value = serde_json::from_str(&project.read(file)).unwrap();
    let handler = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    let mut words = vec![handler["command"].as_str().unwrap().to_owned()];
    words.extend(handler["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().into()));
    words
}

/// Starts the words with an event, as the agent program does.
fn start(project: &Project, words: &[String], folder: &Path, event: &Value) -> Ran {
    let mut command = project.command(&words[0], folder);
    command.args(&words[1..]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _closed = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    child.wait_with_output().unwrap().into()
}

/// What the registered hook answers to a shell command, which is run as agent programs run it where they take the
/// answer for a yes.
#[track_caller]
fn run(project: &Project, command: &str) -> Answer {
    let alone = super::alone(super::HOOK);
    let words = with_program(&registered(project, SETTINGS), alone.to_str().unwrap());
    let event = project.tool_event("Bash", &json!({ "command": command }));
    let ran = start(project, &words, &project.root, &event);
    if is_yes(&ran) {
        let mut shell = project.command("bash", &project.root);
        drop(shell.args(["-c", command]).stdin(Stdio::null()).output().unwrap());
    }
    answer(&ran)
}

/// How Claude Code and Codex read an answer: a hook that has died, or ended in any other way than by a refusal, has not
/// refused.
fn is_yes(ran: &Ran) -> bool {
    ran.code != 2 && !ran.stdout.contains("\"permissionDecision\":\"deny\"")
}

/// Writes a file as agent programs do, where both programs' answers are taken for a yes.
fn write(project: &Project, path: &str) {
    let event = project.tool_event("Write", &json!({ "file_path": path, "content": "evil" }));
    for asked in BOTH {
        if is_yes(&project.hook(asked, &event)) {
            let path = project.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "evil").unwrap();
        }
    }
}

/// Asserts that nothing was pushed or committed, and that the file is as it was.
#[track_caller]
fn assert_untouched(project: &Project, why: &str) {
    let refs = project.git_command("--git-dir ../remote.git for-each-ref");
    assert_eq!(refs, "", "{why}");
    assert_eq!(project.read("src/lib.rs"), "mine\n", "{why}");
    let log = project.git_command("log --format=%s --all");
    assert!(!log.contains("evil"), "{why}: {log}");
}

/// The registered words with another program in the place of the hook.
fn with_program(words: &[String], program: &str) -> Vec<String> {
    let mut words = words.to_vec();
    let at = words.iter().position(|word| word.ends_with("waypost-hook")).unwrap();
    words[at] = program.to_owned();
    words
}

fn script(project: &Project, text: &str) -> String {
    project.program("waypost-hook", text);
    project.base().join("programs/waypost-hook").display().to_string()
}

#[test]
fn a_text_that_would_overflow_the_parser_is_refused() {
    let project = closed();
    for count in [90, 400, 5_900, 60_000] {
        for operator in ["!", "-", "1=", "1?1:", "~ "] {
            let deep = format!("echo $(({}1)); git push", operator.repeat(count));
            assert!(!run(&project, &deep).is_allowed(), "{count} of {operator}");
        }
    }
    assert_untouched(&project, "deep arithmetic");
}

#[test]
fn the_death_of_the_hook_is_a_refusal() {
    let project = closed();
    let words = registered(&project, SETTINGS);
    let read = project.tool_event("Bash", &json!({ "command": "ls" }));
    for end in ["kill -SEGV $$", "kill -9 $$", "exit 1", "exit 127", "exec /nowhere/at-all"] {
        let words = with_program(&words, &script(&project, end));
        let ran = start(&project, &words, &project.root, &read);
        assert_eq!(ran.code, 2, "{end}: {ran}");
        assert!(ran.stderr.contains("a workflow is active here"), "{end}: {ran}");
        // The same where nothing holds: a person's work goes on.
        let free = Project::git();
        let words: Vec<String> = words.iter().filter(|it| *it != "--journal").cloned().collect();
        let ran = start(&free, &words, &free.root, &free.tool_event("Bash", &json!({})));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{end}: {ran}");
    }
}

#[test]
fn a_missing_hook_stops_work_only_where_a_workflow_is_active() {
    let project = closed();
    let words = with_program(&registered(&project, SETTINGS), "/nowhere/waypost-hook");
    let check = |project: &Project, words: &[String], folder: &Path, want: i32, what: &str| {
        let ran = start(project, words, folder, &project.tool_event("Read", &json!({})));
        assert_eq!(ran.code, want, "{what}: {ran}");
        assert_eq!(ran.stdout, "", "{what}: {ran}");
        if want == 2 {
            assert!(ran.stderr.contains("`waypost init`"), "{what}: {ran}");
        }
    };
    check(&project, &words, &project.root, 2, "a workflow is active");
    fs::create_dir_all(project.path("src/deep")).unwrap();
    check(&project, &words, &project.path("src/deep"), 2, "below its top");
    project.git_command("commit -q --allow-empty -m x");
    project.git_command("worktree add -q ../tree");
    project.must("develop status");
    let tree = project.base().join("tree");
    check(&project, &words, &tree, 2, "in a work tree of which nothing is known");

    // A plugin, or settings that came with a clone, name no journal.
    let shared: Vec<String> = words[..words.len() - 2].to_vec();
    let free = Project::git();
    check(&free, &shared, &free.root, 0, "no journal");
    free.must("init --no-agents");
    check(&free, &shared, &free.root, 0, "a journal without a workflow");
    check(&free, &shared, &free.base(), 0, "no project at all");
    free.must("develop start x");
    check(&free, &shared, &free.root, 2, "a workflow");
    let plain = Project::plain();
    plain.must("develop start x");
    check(&plain, &shared, &plain.root, 2, "a workflow outside git");
    let gone = Project::git();
    check(&gone, &words, &gone.root, 2, "the named journal is gone as well");
}

#[test]
fn a_clone_with_shared_settings_is_free_without_the_hook_and_without_a_workflow() {
    let project = Project::git();
    project.must("init --shared --agent claude");
    project.git_command("add -A");
    project.git_command("commit -q -m shared");
    project.git_command("clone -q . ../clone");
    let clone = project.base().join("clone");
    let words = registered(&project, ".claude/settings.json");
    assert!(!words.contains(&"--journal".to_owned()));
    let event = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "cwd": clone,
                       "tool_input": {"file_path": "x"}});
    for program in ["waypost-hook-that-is-missing", super::HOOK] {
        let ran = start(&project, &with_program(&words, program), &clone, &event);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{program}: {ran}");
    }
}

#[test]
fn a_hook_that_is_no_program_any_more_refuses() {
    let project = closed();
    let hook = PathBuf::from(script(&project, "exit 0"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    let words = with_program(&registered(&project, SETTINGS), hook.to_str().unwrap());
    let ran = start(&project, &words, &project.root, &project.tool_event("Read", &json!({})));
    assert_eq!(ran.code, 2, "{ran}");
}

/// The sum at the end of a record, which any program can compute.
fn summed(body: &str) -> String {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{body}sum {:016x}\n", body.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[test]
fn a_forged_record_opens_nothing() {
    let project = closed();
    let signature = format!("seal {}\n", "0".repeat(64));
    let free = summed("waypost gate record 4\njournal x\n");
    let forged = [
        summed("waypost gate record 2\n"),
        free.clone(),
        format!("{free}{signature}"),
        fs::read_to_string(project.record()).unwrap().replace("phase IMPLEMENT", "phase DONE"),
    ];
    for text in forged {
        fs::write(project.record(), &text).unwrap();
        for command in ["git push", "echo > src/lib.rs", "git commit --allow-empty -m evil"] {
            assert!(!run(&project, command).is_allowed(), "{command} with\n{text}");
        }
        assert_untouched(&project, &text);
    }
    // One of another project, signed with the same user's hand.
    let project = closed();
    let other = project.base().join("other");
    fs::create_dir(&other).unwrap();
    project.git_in(&other, "init -q -b main .");
    assert_eq!(project.run_in(&other, "init --no-agents").code, 0);
    fs::copy(other.join(".git/waypost/gate/main"), project.record()).unwrap();
    assert!(!run(&project, "git push").is_allowed());
    // Its own from before, with the journal as it was then.
    let project = Project::implementing();
    project.must("init --agent claude");
    assert!(project.may_write(Asked::Small, "src/lib.rs").is_allowed());
    let kept = project.base().join("kept");
    copy(&project.journal(), &kept);
    project.must("develop gate reset review_clean_pass");
    overwrite(&kept, &project.journal());
    for asked in BOTH {
        let refused = project.may_write(asked, "src/lib.rs");
        assert!(refused.refused().contains("an older one was put back"), "{asked:?} {refused:?}");
    }
    let ran = project.run("develop status");
    assert_ne!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("an older one was put back"), "{ran}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&from, &to);
        } else {
            drop(fs::copy(from, to));
        }
    }
}

/// Writes files over others that keep their inodes, and their times as they were.
fn overwrite(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            overwrite(&from, &to);
        } else {
            fs::write(&to, fs::read(&from).unwrap()).unwrap();
            let times = fs::metadata(&from).unwrap().modified().unwrap();
            fs::File::options().write(true).open(&to).unwrap().set_modified(times).unwrap();
        }
    }
}

#[test]
fn a_journal_that_was_deleted_with_every_list_of_it_is_missed() {
    let project = closed();
    assert!(!run(&project, "git push").is_allowed());
    fs::remove_dir_all(project.journal()).unwrap();
    fs::remove_dir_all(project.home().join(".local")).unwrap();
    let refused = run(&project, "git push");
    assert!(refused.refused().contains("of this project is gone"), "{refused:?}");
    assert!(!run(&project, "echo > src/lib.rs").is_allowed());
    assert_eq!(run(&project, "git status > ../status"), Answer::Allowed, "reading stays allowed");
    assert!(project.read("../status").contains("On branch"), "and it is done");
    assert_untouched(&project, "no journal");
    // Another journal in its place is not the one.
    project.must("develop start Another");
    project.must("develop status");
    assert!(!run(&project, "git push").is_allowed());
    assert_untouched(&project, "another journal");
    // Without a name, as in settings that everybody has, nothing is missed.
    let shared = Project::implementing();
    shared.must("init --shared --agent claude");
    fs::remove_dir_all(shared.journal()).unwrap();
    fs::remove_dir_all(shared.home().join(".local")).unwrap();
    let words = with_program(&registered(&shared, ".claude/settings.json"), super::HOOK);
    let event = shared.tool_event("Bash", &json!({ "command": "git push" }));
    assert_eq!(answer(&start(&shared, &words, &shared.root, &event)), Answer::Allowed);
}

#[test]
fn links_in_the_place_of_the_journal_open_nothing() {
    // A journal of the agent's own, behind a link.
    let project = closed();
    let own = Project::git();
    own.must("init --no-agents");
    fs::rename(project.journal(), project.base().join("aside")).unwrap();
    symlink(own.journal(), project.journal()).unwrap();
    for command in ["git push", "echo > src/lib.rs"] {
        assert!(!run(&project, command).is_allowed(), "{command}");
    }
    assert_untouched(&project, "a journal behind a link");
    // A second name, through which it could be written.
    let project = closed();
    fs::hard_link(project.journal().join("journal.db"), project.path("mine.db")).unwrap();
    fs::remove_file(project.record()).unwrap();
    let refused = run(&project, "git push");
    assert!(refused.refused().contains("more than one name"), "{refused:?}");
    assert_untouched(&project, "a journal with two names");
}

#[test]
fn tools_of_other_makers_are_closed_unless_they_plainly_read() {
    let project = Project::implementing();
    let may = |tool: &str| project.both(|it, asked| it.may(asked, tool, &json!({"x": 1})));
    let refused = may("mcp__github__push_files");
    assert!(
        refused.refused().contains("free_tools = [\"mcp__github__push_files\"]"),
        "{refused:?}"
    );
    assert!(may("mcp__github__get_file_contents").is_allowed());
    project.write("waypost.toml", "[workflow]\nfree_tools = [\"mcp__github__push_files\"]\n");
    let may = |tool: &str| project.both(|it, asked| it.may(asked, tool, &json!({"x": 1})));
    assert!(may("mcp__github__push_files").is_allowed());
    assert!(!may("mcp__github__create_pull_request").is_allowed());
}

#[test]
fn files_are_judged_by_where_they_are() {
    let project = Project::implementing();
    fs::create_dir_all(project.path("a/b")).unwrap();
    fs::create_dir_all(project.path(".claude/skills")).unwrap();
    symlink(project.path(".git"), project.path("a/link")).unwrap();
    symlink("../../.claude", project.path("a/b/tools")).unwrap();
    symlink("/proc/self/cwd", project.path("a/self")).unwrap();
    for path in [
        "a/link/config",
        "a/link/../waypost.toml",
        "a/b/tools/settings.json",
        "a/b/tools/skills/ship/SKILL.md",
        "a/self/waypost.toml",
        "a/self/src/lib.rs",
        ".claude/commands/ship.md",
        ".claude/agents/ship.md",
        ".claude/plugins/x/hooks.json",
        ".mcp.json",
        ".codex/config.toml",
    ] {
        let refused = project.both(|it, asked| it.may_write(asked, path));
        assert!(refused.refused().contains("protected"), "{path}: {refused:?}");
        let before = fs::read(project.path(path)).ok();
        write(&project, path);
        assert_eq!(fs::read(project.path(path)).ok(), before, "{path}");
    }
    write(&project, "src/allowed.rs");
    assert_eq!(project.read("src/allowed.rs"), "evil", "what is allowed is done");
    let patch =
        "*** Begin Patch\n*** Add File: .claude/skills/x/SKILL.md\n+git push\n*** End Patch";
    let input = json!({ "input": patch });
    assert!(!project.both(|it, asked| it.may(asked, "apply_patch", &input)).is_allowed());
    for path in ["/dev/fd/3", "/proc/self/cwd/src/lib.rs", "/dev/fd/../cwd/waypost.toml"] {
        let input = json!({ "file_path": path, "content": "x" });
        assert!(!project.both(|it, asked| it.may(asked, "Write", &input)).is_allowed(), "{path}");
    }
    for home in
        [".claude/skills/x/SKILL.md", ".claude/settings.json", ".local/state/waypost/seals/x"]
    {
        let input = json!({ "file_path": project.home().join(home), "content": "x" });
        assert!(!project.both(|it, asked| it.may(asked, "Write", &input)).is_allowed(), "{home}");
    }
    for path in ["src/lib.rs", ".claude/memory/notes.md", ".claude/orchestrator/x.json"] {
        assert!(project.both(|it, asked| it.may_write(asked, path)).is_allowed(), "{path}");
    }
}

#[test]
fn what_no_gate_is_about_passes() {
    let project = closed();
    for command in [
        "git push --help",
        "git push --dry-run origin main",
        "git commit --dry-run",
        "gh pr create --help",
        "cd \"$(git rev-parse --show-toplevel)\" && make test",
        "cargo test > /tmp/waypost-test.log 2>&1; tail /tmp/waypost-test.log",
        "cat > /var/tmp/notes.txt <<'E'\nx\nE",
    ] {
        let answer = project.both(|it, asked| it.may_run(asked, command));
        assert_eq!(answer, Answer::Allowed, "{command}");
    }
    let plan = project.home().join(".claude/plans/plan.md");
    let input = json!({ "file_path": plan, "content": "x" });
    assert!(project.both(|it, asked| it.may(asked, "Write", &input)).is_allowed());
}

#[test]
fn changed_settings_wait_while_a_workflow_is_active() {
    let project = closed();
    let event = json!({"hook_event_name": "ConfigChange", "source": "project_settings",
                       "cwd": project.root, "session_id": "s"});
    for asked in BOTH {
        let ran = project.hook(asked, &event);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains("project_settings count from the next"), "{ran}");
    }
    let log = project.must("log --refused --json").stdout;
    assert_eq!(log.matches("project_settings count").count(), BOTH.len(), "{log}");
    let free = Project::git();
    for asked in BOTH {
        assert_eq!(free.hook(asked, &event).code, 2, "the folder of the event is held");
    }
    let event = json!({"hook_event_name": "ConfigChange", "cwd": free.root, "session_id": "s"});
    assert_eq!(free.hook(Asked::Whole, &event).code, 0);
}

#[test]
fn nothing_that_a_repository_names_is_started() {
    for path in [".:/usr/bin:/bin", ":/usr/bin:/bin", "tools:/usr/bin:/bin"] {
        let project = Project::git().variable("PATH", path);
        let evil = "#!/bin/sh\ntouch was-run\necho 9.9.9\n";
        for name in ["claude", "tools/claude", "evil"] {
            project.write(name, evil);
            fs::set_permissions(project.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for config in ["", "[agents.x]\nadapter = \"claude\"\ncommand = [\"./evil\"]\n"] {
            project.write("waypost.toml", config);
            project.run("agents");
            project.run("doctor");
            project.run("init");
            assert!(!project.path("was-run").exists(), "{path} {config}");
        }
        // Not even where the person's own file names a program by a way from here.
        project.write("waypost.toml", "");
        let own = "[agents.x]\nadapter = \"claude\"\ncommand = [\"./evil\"]\n";
        project.write("../home/.config/waypost/config.toml", own);
        project.run("agents");
        assert!(!project.path("was-run").exists(), "{path}");
    }
}

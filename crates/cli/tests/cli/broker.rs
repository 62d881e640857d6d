//! What reaches a remote from behind the wall, and what does not: by what the remote has.

use crate::{
    harness::{BINARY, Project, Ran, WORKFLOW},
    required,
    terminal::no_person_is_here,
};
use std::fs;

const SHELL: &str = env!("CARGO_BIN_EXE_waypost-shell");

/// A feature in PR whose last gate is passed, for the files of the first commit; `origin` has nothing.
fn clean() -> Project {
    let project = verified();
    project.must("develop gate pass re_review_clean");
    project
}

/// The same with the last gate closed.
fn verified() -> Project {
    let project = Project::git();
    project.git_command("init -q --bare -b main ../remote.git");
    project.git_command("remote add origin ../remote.git");
    project.write("README.md", "# Shop\n");
    project.write("review.md", "Blocking: 0\n");
    project.write("waypost.toml", "[workflow.gates.re_review_clean]\ncheck = \"true\"\n");
    project.write("../home/.gitconfig", "[user]\n\tname = Mina\n\temail = mina@example.org\n");
    project.git_command("add .");
    project.git_command("commit -q -m first");
    for line in [
        "develop start Chat",
        "develop advance --checkpoint cp-1",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
        "develop checkpoint start cp-1",
        "develop checkpoint pass cp-1",
        "develop gate pass architect_verified --report review.md",
        "develop advance",
    ] {
        project.must(line);
    }
    project
}

/// Runs a text as an agent program's shell call.
fn call(project: &Project, text: &str) -> Ran {
    project.command(SHELL, &project.root).arg(text).output().unwrap().into()
}

/// Says aloud that no namespaces can be had here.
fn no_namespaces(project: &Project) -> bool {
    let level = call(project, "echo level=$WAYPOST_WALL").stdout;
    let is_missing = !level.contains("level=b");
    if is_missing {
        required::skip(&["b"], &level);
    }
    is_missing
}

/// The subjects of what `main` of the remote has, newest first.
fn pushed(project: &Project) -> Vec<String> {
    let line = "--git-dir ../remote.git log --format=%s --all";
    project.git_command(line).lines().map(str::to_owned).collect()
}

#[test]
fn what_was_reviewed_is_pushed() {
    let project = clean();
    if no_namespaces(&project) {
        return;
    }
    let ran = call(&project, "git push -u origin main && git rev-parse origin/main");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(pushed(&project), ["first"]);
    assert_eq!(project.git_command("config branch.main.remote").trim(), "origin");
}

#[test]
fn nothing_else_is_pushed_however_it_came_about() {
    let attacks = [
        "echo x >> README.md; git commit -qam evil; git push origin main",
        "echo x >> README.md && git commit -qam evil && git push origin HEAD:refs/heads/other",
        // The index has what the files do not.
        "echo x > e; git add e; rm e; git commit -qm evil; git push origin main",
        // A tree that no file ever was.
        "t=$(git write-tree); c=$(echo evil | git commit-tree $t^{tree} -p HEAD); \
         b=$(echo x | git hash-object -w --stdin); \
         t=$(printf '100644 blob %s\\tx\\n' $b | git mktree); \
         c=$(echo evil | git commit-tree $t -p HEAD); git push origin $c:refs/heads/main",
        "echo x >> README.md; git commit -qam evil; /usr/bin/git push origin main",
        "echo x >> README.md; git commit -qam evil; \
         /run/waypost/real/git push origin main; /usr/lib/git-core/git-push origin main",
        "echo x >> README.md; git commit -qam evil; git push ../remote.git HEAD:main",
        "git push --mirror origin; git push origin :main; git push --receive-pack=sh origin main",
        "git tag evil; git commit -q --allow-empty -m evil; echo y > y; git add y; \
         git commit -qm evil; git tag -f evil; git push origin evil",
        "waypost broker push origin $(git rev-parse HEAD):refs/waypost/x",
        "echo x >> README.md; git commit -qam evil; \
         waypost broker push origin $(git rev-parse HEAD):refs/heads/main",
    ];
    for attack in attacks {
        let project = clean();
        if no_namespaces(&project) {
            return;
        }
        let ran = call(&project, attack);
        let found = pushed(&project);
        assert!(!found.contains(&"evil".to_owned()), "{attack}\n{found:?}\n{ran}");
    }
}

#[test]
fn a_commit_that_comes_later_is_not_pushed() {
    let project = clean();
    if no_namespaces(&project) {
        return;
    }
    // The background process outlives its shell, and not its call.
    let text = "(for i in 1 2 3 4 5 6 7 8 9; do echo $i > late; git add late; git commit -qm evil; \
                git push -q origin main; done) >/dev/null 2>&1 & git push -q origin main";
    call(&project, text);
    let found = pushed(&project);
    assert!(!found.contains(&"evil".to_owned()), "{found:?}");
}

#[test]
fn while_a_gate_is_closed_the_refusal_says_what_opens_it() {
    let project = verified();
    if no_namespaces(&project) {
        return;
    }
    let ran = call(&project, "git push origin main");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("pushing needs re_review_clean"), "{ran}");
    assert!(ran.stderr.contains("waypost develop gate pass re_review_clean"), "{ran}");
    assert!(pushed(&project).is_empty());
    let ran = call(&project, "gh pr create --title T --body B");
    assert_eq!(ran.code, 3, "{ran}");
}

#[test]
fn the_repositorys_hooks_run_inside_and_nothing_of_its_configuration_outside() {
    let project = clean();
    if no_namespaces(&project) {
        return;
    }
    let token = project.home().join(".netrc");
    fs::write(&token, "machine example.org password secret\n").unwrap();
    let found = project.base().join("found");
    let outside = project.base().join("outside");
    let hook = format!(
        "#!/bin/sh\ncat $HOME/.netrc > {0} 2>/dev/null; echo ran >> {0}; cat >> {0}\n",
        found.display()
    );
    project.write(".git/hooks/pre-push", &hook);
    project.git_command("config core.hooksPath .git/hooks");
    project.git_command(&format!("config core.fsmonitor 'touch {}'", outside.display()));
    project.git_command(&format!("config core.sshCommand 'touch {}'", outside.display()));
    project.git_command(&format!("config credential.helper '!touch {}'", outside.display()));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(project.path(".git/hooks/pre-push"), mode).unwrap();
    let ran = call(&project, "git push -q origin main");
    assert_eq!((ran.code, pushed(&project)), (0, vec!["first".to_owned()]), "{ran}");
    let text = fs::read_to_string(found).unwrap();
    assert!(text.starts_with("ran\nrefs/heads/main "), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(!outside.exists());
    // One that refuses is obeyed.
    project.write(".git/hooks/pre-push", "#!/bin/sh\nexit 1\n");
    let ran = call(&project, "git push -q origin HEAD:refs/heads/again");
    assert_ne!(ran.code, 0, "{ran}");
    assert!(!project.git_command("--git-dir ../remote.git branch").contains("again"));
}

#[test]
fn fetch_and_pull_bring_what_the_remote_has() {
    let project = clean();
    if no_namespaces(&project) {
        return;
    }
    call(&project, "git push -qu origin main");
    project.git_command("clone -q ../remote.git ../other");
    let other = project.base().join("other");
    fs::write(other.join("theirs"), "x").unwrap();
    project.git_in(&other, "add theirs");
    project.git_in(&other, "commit -q -m theirs");
    project.git_in(&other, "push -q origin HEAD:main HEAD:more");
    let ran = call(
        &project,
        "git fetch && git log --format=%s -1 origin/main && git rev-parse origin/more",
    );
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.starts_with("theirs\n"), "{ran}");
    let ran = call(&project, "git pull --ff-only && git log --format=%s -1");
    assert!(ran.stdout.contains("theirs\n"), "{ran}");
}

#[test]
fn a_command_from_inside_is_an_agents_and_reads_no_credentials() {
    let project = verified();
    if no_namespaces(&project) {
        return;
    }
    fs::create_dir_all(project.home().join(".config/gh")).unwrap();
    let token = project.home().join(".config/gh/hosts.yml");
    fs::write(&token, "oauth_token: gho_secret\nBlocking: 0\n").unwrap();
    let token = token.display();
    let ran = call(&project, "waypost --verbose develop status");
    assert!(ran.stderr.contains("you act as: agent:"), "{ran}");
    for text in [
        format!("waypost validate {token}"),
        format!("ln -s {token} state.json; waypost validate state.json"),
        format!("waypost validate --kind run-state {token}"),
        format!("waypost develop gate pass re_review_clean --report {token}"),
        "waypost develop suspend --reason x".to_owned(),
        format!("script -qc '{BINARY} develop suspend --reason x' /dev/null"),
        format!("unset WAYPOST_BROKER; script -qc '{BINARY} develop suspend --reason x' /dev/null"),
        "waypost pin".to_owned(),
        "cat $HOME/.local/state/waypost/pin".to_owned(),
    ] {
        let ran = call(&project, &text);
        assert!(ran.code != 0 || text.contains("script"), "{text}\n{ran}");
        assert!(!format!("{ran}").contains("gho_secret"), "{text}\n{ran}");
        assert!(!format!("{ran}").contains("73616c74"), "{text}\n{ran}");
    }
    assert_eq!(project.json("develop status")["suspended"], serde_json::Value::Null);
}

#[test]
fn a_gates_check_is_not_lied_to_by_the_environment() {
    for way in ["MAKEFLAGS=--eval=test:;@true", "PATH=./bin:/usr/bin:/bin", "BASH_ENV=./bin/x"] {
        let project = verified();
        project.write("Makefile", "test:\n\t@exit 1\n");
        project.program_in("bin/grep", "exit 0");
        project.program_in("bin/make", "exit 0");
        project
            .save("waypost.toml", "[workflow.gates.re_review_clean]\ncheck = \"make -s test\"\n");
        let (name, value) = way.split_once('=').unwrap();
        let mut command = project.command(BINARY, &project.root);
        let ran: Ran = command
            .args(["develop", "gate", "pass", "re_review_clean"])
            .env(name, value)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, 1, "{way}\n{ran}");
        assert_eq!(project.window(WORKFLOW)["gates"]["re_review_clean"], false, "{way}");
    }
}

#[test]
fn a_gates_check_is_not_lied_to_by_what_cargo_and_npm_read() {
    let cases = [
        ("cargo", "cargo verify", ("CARGO_ALIAS_VERIFY", "version")),
        ("npm", "npm test --silent", ("npm_config_script_shell", "/bin/true")),
        ("npm", "npm test --silent", ("NPM_CONFIG_SCRIPT_SHELL", "/bin/true")),
    ];
    for (program, check, (name, value)) in cases {
        let project = verified();
        project.write(".cargo/config.toml", "[alias]\nverify = \"no-such-command\"\n");
        let package = r#"{"name": "shop", "version": "1.0.0", "scripts": {"test": "exit 1"}}"#;
        project.write("package.json", package);
        let lied = |with: bool| {
            let mut command = project.command("/bin/sh", &project.root);
            command.args(["-c", check]).envs(with.then_some((name, value))).output().unwrap()
        };
        if project.command(program, &project.root).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed");
            continue;
        }
        // The lie is one: it makes the same command succeed.
        if lied(false).status.success() || !lied(true).status.success() {
            println!("skipped: {program} does not work here, or does not read {name}");
            continue;
        }
        let config = format!("[workflow.gates.re_review_clean]\ncheck = \"{check}\"\n");
        project.save("waypost.toml", &config);
        let mut command = project.command(BINARY, &project.root);
        command.args(["develop", "gate", "pass", "re_review_clean"]).env(name, value);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 1, "{name}\n{ran}");
        assert_eq!(project.window(WORKFLOW)["gates"]["re_review_clean"], false, "{name}");
    }
}

#[test]
fn a_run_that_was_begun_before_the_workflow_gets_its_wall_at_the_next_attempt() {
    let project = Project::git().variable("WAYPOST_RUN_ISOLATION", "none");
    let tasks = "# Tasks: shop\n\n## Phase 0: A\n\n\
                 - [ ] T1: Wait\n  - run: while [ ! -e ../go ]; do sleep 0.02; done; echo level=$WAYPOST_WALL > ../first\n\
                 - [ ] T2: Look\n  - depends: T1\n  - run: echo level=$WAYPOST_WALL > ../second\n";
    project.write("TASKS.md", tasks);
    project.write("review.md", "Blocking: 0\n");
    project.git_command("add .");
    project.git_command("commit -q -m first");
    if no_namespaces_around(&project) {
        return;
    }
    let mut engine = project.command(BINARY, &project.root);
    let mut engine = engine.args(["run", "--no-progress"]).spawn().unwrap();
    crate::execute::wait_for("the first task", || {
        project.log().iter().any(|it| it["kind"] == "task_started")
    });
    project.must("develop start Chat");
    fs::write(project.base().join("go"), "").unwrap();
    engine.wait().unwrap();
    let read = |name: &str| fs::read_to_string(project.base().join(name)).unwrap_or_default();
    assert_eq!((read("first").as_str(), read("second").as_str()), ("level=\n", "level=b\n"));
}

/// Says aloud that no namespaces can be had here, where no workflow holds a call yet.
fn no_namespaces_around(project: &Project) -> bool {
    let mut command = project.command(SHELL, &project.root);
    let ran: Ran = command
        .arg("echo level=$WAYPOST_WALL")
        .env("WAYPOST_ATTEMPT", "0")
        .output()
        .unwrap()
        .into();
    let is_missing = !ran.stdout.contains("level=b");
    if is_missing {
        required::skip(&["b"], &ran.stdout);
    }
    is_missing
}

#[test]
fn a_gates_check_reads_no_credentials_and_writes_no_journal() {
    let project = verified();
    if no_namespaces(&project) {
        return;
    }
    fs::write(project.home().join(".netrc"), "machine example.org password secret\n").unwrap();
    let check = "cat $HOME/.netrc; touch .git/waypost/forged; git push origin main; true";
    project
        .save("waypost.toml", &format!("[workflow.gates.re_review_clean]\ncheck = \"{check}\"\n"));
    let ran = project.run("develop gate pass re_review_clean");
    assert!(!format!("{ran}").contains("secret"), "{ran}");
    assert!(!project.journal().join("forged").exists());
    assert!(pushed(&project).is_empty());
}

#[test]
fn a_run_that_an_agent_starts_pushes_nothing() {
    let project = verified();
    if no_namespaces(&project) {
        return;
    }
    let tasks = "# Tasks: shop\n\n## Phase 0: A\n\n- [ ] T1: Push\n  - run: git push origin HEAD:refs/heads/evil\n\
                 - [ ] T2: Verify\n  - run: true\n  - verify: git push origin HEAD:refs/heads/evil\n";
    project.write("TASKS.md", tasks);
    project.save("waypost.toml", "[run]\nretry_limit = 0\n");
    project.git_command("add .");
    project.git_command("commit -q -m evil");
    project.run("run --no-progress");
    let tried =
        project.log().iter().any(|it| it["type"] == "task_failed" || it.to_string().contains("T1"));
    assert!(tried, "the task was tried: {:?}", project.log());
    let said = call(&project, "waypost run --no-progress --new");
    assert!(pushed(&project).is_empty(), "{:?}", pushed(&project));
    if no_person_is_here() {
        return;
    }
    // A person's own run stays as it is.
    let ran = project.as_person("run --no-progress --new");
    assert_eq!(pushed(&project).first().map(String::as_str), Some("evil"), "{ran} after {said}");
}

/// A shell call that an agent program makes in a folder of the model's choice, while it works in the project.
fn call_from(project: &Project, folder: &str, text: &str) -> Ran {
    let agent = project.root.join("../claude");
    if !agent.exists() {
        std::os::unix::fs::symlink("/bin/bash", &agent).unwrap();
    }
    let line = format!("(cd {folder} && {SHELL} '{text}'); true");
    project
        .command(agent.to_str().unwrap(), &project.root)
        .args(["-c", &line])
        .output()
        .unwrap()
        .into()
}

#[test]
fn a_call_is_held_wherever_it_is_made() {
    let project = verified();
    if no_namespaces(&project) {
        return;
    }
    project.git_command("init -q vendor");
    project.write("../home/.ssh/id", "canary");
    let root = project.root.display().to_string();
    let text = format!(
        "cat ~/.ssh/id; touch {root}/.git/waypost/here; git -C {root} push origin HEAD:main"
    );
    for folder in ["vendor", "/tmp", "/"] {
        let ran = call_from(&project, folder, &text);
        assert!(!ran.stdout.contains("canary"), "{folder}: {ran:?}");
        assert!(!project.root.join(".git/waypost/here").exists(), "{folder}: {ran:?}");
        assert!(pushed(&project).is_empty(), "{folder}: {ran:?}");
    }
    // The repository in the project is enough: the agent program need not be known.
    let vendor = project.root.join("vendor");
    let ran: Ran = project.command(SHELL, &vendor).arg(&text).output().unwrap().into();
    assert!(!ran.stdout.contains("canary") && pushed(&project).is_empty(), "{ran:?}");
}

#[test]
fn a_command_for_a_call_writes_nothing_where_it_is_told_to() {
    let project = verified();
    if no_namespaces(&project) {
        return;
    }
    fs::create_dir(project.root.join("docs")).unwrap();
    let list = r#"{"tasks":[{"id":1,"title":"x","status":"pending"}]}"#;
    for line in [
        format!(
            "echo '{list}' > /tmp/list.json; {BINARY} import /tmp/list.json --to ~/.bash_profile"
        ),
        format!("{BINARY} man ~/man"),
        format!("{BINARY} man .claude/agents"),
        format!("{BINARY} demo ~/demo"),
        format!("{BINARY} -C docs init"),
    ] {
        let ran = call(&project, &line);
        assert_eq!(ran.code, 3, "{line}: {ran:?}");
        assert!(ran.stderr.contains("outside of the wall"), "{line}: {ran:?}");
    }
    let home = project.root.join("../home");
    for left in [".bash_profile", "man", "demo"] {
        assert!(!home.join(left).exists(), "{left}");
    }
    assert!(!project.root.join(".claude/agents").exists());
    // A keeper would start outside whatever its orders say.
    let ran = call(&project, &format!("mkdir -p /tmp/keeper && {BINARY} keeper /tmp/keeper"));
    assert_eq!(ran.code, 126, "{ran:?}");
    assert!(ran.stderr.contains("only an engine starts a keeper"), "{ran:?}");
}

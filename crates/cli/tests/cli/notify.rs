//! Notices: what arrives where, in which order, and what never leaves.

use crate::{
    execute::{begin, wait_for},
    harness::{BINARY, Project, RUN, USER_CONFIG},
    host::{Answer, Host, Request},
};
use base64::Engine as _;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Two phases of one task each.
const TASKS: &str = "\
# Tasks: shop

## Phase 1: Ground

- [ ] T1.1: Lay the ground
  - run: `true`

## Phase 2: Cart

- [ ] T2.1: Put things into the cart
  - run: `true`
";

fn project(tasks: &str, user_file: &str) -> Project {
    let project = Project::git();
    project.write("TASKS.md", tasks);
    project.write(USER_CONFIG, user_file);
    project
}

fn webhook(host: &Host) -> String {
    format!(
        "[notify]\nwebhooks = [{{ url = \"{}/hook\", secret = \"whsec_c2VjcmV0\" }}]\n",
        host.url()
    )
}

/// The kinds that a webhook was told, in order.
fn kinds(host: &Host) -> Vec<String> {
    let kind = |request: &Request| request.json()["kind"].as_str().unwrap().to_owned();
    host.requests().iter().map(kind).collect()
}

/// How many notices wait.
fn waiting(project: &Project) -> u64 {
    let notices = project.json("status")["notices"].clone();
    notices.as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap()).sum()
}

/// Every file below a folder, as one text.
fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => text.push_str(&all_text(&path)),
            false => text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default())),
        }
    }
    text
}

#[test]
fn every_target_is_told_the_same_in_the_same_order() {
    let (hook, slack, ntfy) = (Host::new(), Host::new(), Host::new());
    let user_file = format!(
        "[run]\nslack_webhook_url = \"env:SLACK\"\n{}ntfy = \"{}/topic\"\nntfy_token = \"env:TOKEN\"\n",
        webhook(&hook),
        ntfy.url()
    );
    let project = project(TASKS, &user_file)
        .variable("SLACK", &format!("{}/services/T0/B0/canary-url", slack.url()))
        .variable("TOKEN", "tk_canary_token_1234");
    let ran = project.must("run");
    assert!(!ran.stderr.contains("notice"), "{ran}");
    assert_eq!(kinds(&hook), ["start", "phase_done", "phase_done", "all_done"]);
    let titles = [
        "run started: 2 tasks in 2 phases",
        "phase 1 (Ground) is done: 1/1 completed",
        "phase 2 (Cart) is done: 1/1 completed",
        "all done: 2 tasks completed",
    ];
    let of = |host: &Host, told: fn(&Request) -> String| -> Vec<String> {
        host.requests().iter().map(told).collect()
    };
    assert_eq!(of(&hook, |it| it.json()["title"].as_str().unwrap().to_owned()), titles);
    let named = titles.map(|title| format!("shop: {title}"));
    assert_eq!(of(&slack, |it| it.json()["text"].as_str().unwrap().to_owned()), named);
    assert_eq!(of(&ntfy, |it| it.headers["title"].clone()), named);
    let first = &ntfy.requests()[0];
    assert_eq!((first.line.as_str(), first.body.as_str()), ("POST /topic HTTP/1.1", titles[0]));
    assert_eq!(first.headers["authorization"], "Bearer tk_canary_token_1234");
    assert_eq!(slack.requests()[0].line, "POST /services/T0/B0/canary-url HTTP/1.1");
    let signed = &hook.requests()[0];
    assert_eq!(signed.headers["webhook-id"], signed.json()["id"].as_str().unwrap());
    assert!(signed.headers["webhook-signature"].starts_with("v1,"));
    assert_eq!(waiting(&project), 0);
    // Neither an address nor a token is kept anywhere in the project.
    let kept = all_text(&project.root) + &project.must("--json config show").stdout;
    assert!(!kept.contains("canary"), "a secret is kept");
    assert!(!kept.contains("whsec_c2"), "a secret is kept");
    assert_eq!(project.window(RUN)["config"]["slack_webhook_url"], json!("env:SLACK"));
}

#[test]
fn nothing_is_queued_or_sent_when_nothing_is_configured() {
    let project = project(TASKS, "");
    project.must("run");
    assert_eq!(waiting(&project), 0);
    assert_eq!(project.run("notify test").code, 5);
    assert_eq!(project.must("notify send").stderr, "no notice waits\n");
}

#[test]
fn what_is_wrong_with_the_configuration_is_said_without_its_secrets() {
    let rows = [
        "webhooks = \"https://example.org/canary\"",
        "webhooks = [{ url = \"https://example.org/canary\", secrt = \"canary\" }]",
        "webhooks = [\n  { url = \"https://example.org/canary }\n]",
        "ntfy = \"https://example.org/canary",
        "ntfy_token = [\"canary\"]",
        "ntfy_tokn = \"canary\"",
    ];
    let project = project(TASKS, "");
    for row in rows {
        project.write(USER_CONFIG, &format!("[notify]\n{row}\n"));
        for line in ["status", "--json status"] {
            let ran = project.run(line);
            assert_eq!(ran.code, 2, "{ran}");
            assert!(!ran.to_string().contains("canary"), "{ran}");
            assert!(ran.to_string().contains("config.toml"), "{ran}");
        }
    }
}

#[test]
fn each_kind_can_be_switched_off() {
    let host = Host::new();
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Breaks\n  - run: `false`\n";
    let all = ["start", "task_failed", "phase_done", "all_done"];
    for off in ["start", "task_failed", "phase_done", "all_done", "needs_you"] {
        let project = project(tasks, &webhook(&host));
        project.write("waypost.toml", &format!("[notify]\nnotify_on_{off} = false\n"));
        assert_eq!(project.run("run --retry-limit 0").code, 1);
        let want: Vec<&str> = all.into_iter().filter(|kind| *kind != off).collect();
        assert_eq!(kinds(&host), want, "without {off}");
        host.forget();
    }
}

#[test]
fn a_person_is_told_that_a_run_waits_and_how_to_answer() {
    let host = Host::new();
    let project = project(TASKS, &webhook(&host));
    assert_eq!(project.run("run --mode normal").code, 6);
    assert_eq!(kinds(&host), ["start", "needs_you"]);
    let told = host.requests()[1].json();
    assert_eq!(told["title"], json!("phase 1 (Ground) is done: go on?"));
    assert_eq!(told["phase"], json!(1));
    let text = told["text"].as_str().unwrap();
    assert!(text.ends_with("then waypost inbox answer q1 continue"), "{text}");
}

#[test]
fn secrets_in_titles_and_failures_do_not_leave() {
    let host = Host::new();
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n\
        - [ ] T1.1: Log in with ghp_0123456789abcdefCANARY now\n\
        \x20 - run: `echo the key is $MY_SETTING, also sk-ant-0123456789CANARY; exit 3`\n";
    let user_file = format!("[run]\nenvironment = [\"MY_SETTING\"]\n{}", webhook(&host));
    let project = project(tasks, &user_file).variable("MY_SETTING", "value-CANARY-value");
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    assert_eq!(kinds(&host), ["start", "task_failed", "phase_done", "all_done"]);
    let told = host.requests()[1].json();
    assert_eq!(told["title"], json!("T1.1 failed: Log in with [redacted] now"));
    assert_eq!(told["task"], json!("T1.1"));
    let next = "Next: waypost run logs T1.1, then waypost run retry T1.1";
    let text = format!("exit code 3: the key is [redacted], also [redacted]\n{next}");
    assert_eq!(told["text"], json!(text));
    for request in host.requests() {
        assert!(!request.raw.contains("CANARY"), "{}", request.raw);
    }
}

/// A task that works until the file `go` is there, and one that comes after it.
const WAITS: &str = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Waits\n\
                     \x20 - run: `touch begun; until test -e go; do sleep 0.05; done`\n\
                     - [ ] T1.2: Comes after\n  - run: `true`\n  - depends: T1.1\n";

#[test]
fn the_end_of_a_run_in_the_background_that_was_stopped_is_told_once() {
    let host = Host::new();
    let project = project(WAITS, &webhook(&host));
    project.must("run --detach");
    wait_for("the task", || project.path("begun").exists());
    project.must("run stop --now");
    wait_for("the notice", || kinds(&host).len() == 2);
    assert_eq!(kinds(&host), ["start", "run_stopped"]);
    let told = host.requests()[1].json();
    assert_eq!(told["title"], json!("the run has stopped"));
    let text = told["text"].as_str().unwrap();
    assert!(
        text.contains("it was asked to end") && text.contains("waypost run --resume"),
        "{text}"
    );
    // Nothing is left that would tell it again.
    assert_eq!(waiting(&project), 0);
    project.write("go", "");
    project.must("run --resume");
    assert_eq!(kinds(&host), ["start", "run_stopped", "phase_done", "all_done"]);
}

#[test]
fn whoever_sees_a_run_end_is_not_told_of_it() {
    let host = Host::new();
    let project = project(WAITS, &webhook(&host));
    let mut run = begin(&project, "run");
    wait_for("the task", || project.path("begun").exists());
    project.must("run stop --now");
    run.wait().unwrap();
    assert_eq!((kinds(&host), waiting(&project)), (vec!["start".to_owned()], 0));
}

/// As `curl -u` and many configurations write it: by bytes before it a value looks different each time.
#[test]
fn a_secret_that_was_encoded_does_not_leave() {
    let secret = "canary-Z9x8-value-of-an-agent";
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let said = ["", "u", "us", "user:"].map(|before| encode(&format!("{before}{secret}")));
    let host = Host::new();
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Log in\n\
        \x20 - run: `for it in '' u us user:; do printf \"$it$MY_TOKEN\" | base64 -w0; echo; done; exit 3`\n";
    let user_file = format!("[run]\nenvironment = [\"MY_TOKEN\"]\n{}", webhook(&host));
    let project = project(tasks, &user_file).variable("MY_TOKEN", secret);
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    assert_eq!(kinds(&host), ["start", "task_failed", "phase_done", "all_done"]);
    let text = host.requests()[1].json()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("[redacted]"), "{text}");
    // The characters around it say nothing of it: what is told has no eight of its own in a row.
    for encoded in said {
        let own = &encoded.as_bytes()[8..encoded.len() - 4];
        for piece in own.windows(8).map(|it| std::str::from_utf8(it).unwrap()) {
            for request in host.requests() {
                assert!(!request.raw.contains(piece), "{piece} of {encoded} in {}", request.raw);
            }
        }
    }
}

/// What it is called says that it is one.
#[test]
fn a_secret_that_is_named_does_not_leave() {
    let host = Host::new();
    let tasks = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Log in with password=tr0ub4dor-of-title\n\
        \x20 - run: `echo '{\"api_key\": \"s3cr3t-of-json\"}'; echo \"refused: password=hunter2-of-mine\"; exit 3`\n";
    let project = project(tasks, &webhook(&host));
    assert_eq!(project.run("run --retry-limit 0").code, 1);
    assert_eq!(kinds(&host), ["start", "task_failed", "phase_done", "all_done"]);
    let text = host.requests()[1].json()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("password=[redacted]"), "{text}");
    for secret in ["hunter2", "tr0ub4dor", "s3cr3t"] {
        for request in host.requests() {
            assert!(!request.raw.contains(secret), "{secret} in {}", request.raw);
        }
    }
}

#[test]
fn a_notice_survives_the_death_of_the_run_that_was_to_send_it() {
    let host = Host::new();
    host.answer_all(Answer::Hang);
    let gate = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Waits\n\
                \x20 - run: `until test -e go; do sleep 0.05; done`\n";
    let project = project(gate, &webhook(&host));
    let mut child = project.command(BINARY, &project.root).arg("run").spawn().unwrap();
    wait_for("what the host is told", || !host.requests().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    project.write("go", "");
    host.answer_all(Answer::Status(200));
    project.must("run --resume");
    assert_eq!(kinds(&host), ["start", "start", "engine_lost", "phase_done", "all_done"]);
    let ids: Vec<String> =
        host.requests().iter().map(|it| it.headers["webhook-id"].clone()).collect();
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[1], ids[2]);
    assert_eq!(waiting(&project), 0);
}

#[test]
fn a_host_that_never_answers_holds_up_neither_the_run_nor_other_targets() {
    let (dead, live) = (Host::new(), Host::new());
    dead.answer_all(Answer::Hang);
    let user_file = format!("{}ntfy = \"{}/topic\"\n", webhook(&live), dead.url());
    let project = project(TASKS, &user_file);
    let ran = project.must("run");
    assert!(ran.stderr.contains("4 notices wait"), "{ran}");
    assert_eq!(kinds(&live), ["start", "phase_done", "phase_done", "all_done"]);
    // The others wait for the first.
    assert_eq!(dead.requests().len(), 1);
    assert_eq!(waiting(&project), 4);
    dead.answer_all(Answer::Status(200));
    project.must("notify send");
    assert_eq!((waiting(&project), dead.requests().len(), live.requests().len()), (0, 5, 4));
}

#[test]
fn a_host_that_is_busy_gets_everything_in_order_later() {
    let host = Host::new();
    let project = project(TASKS, &webhook(&host));
    for answer in [Answer::Busy { retry_after: 1 }, Answer::Close, Answer::Status(500)] {
        host.answer_next(answer);
    }
    let ran = project.must("run");
    assert!(ran.stderr.contains("gets no notices now"), "{ran}");
    let why = &project.json("status")["notices"][0]["why"];
    assert!(why.is_string(), "{why}");
    wait_for("what the host is told", || {
        project.must("notify send");
        waiting(&project) == 0
    });
    let want = ["start", "start", "start", "start", "phase_done", "phase_done", "all_done"];
    assert_eq!(kinds(&host), want);
}

#[test]
fn what_a_host_refuses_for_good_is_given_up_and_said() {
    let (host, elsewhere) = (Host::new(), Host::new());
    let project = project(TASKS, &webhook(&host));
    host.answer_next(Answer::Status(404));
    host.answer_next(Answer::Redirect(elsewhere.url()));
    let ran = project.must("run");
    for said in ["it answers with status 404", "a redirect (302), which is not followed"] {
        assert!(ran.stderr.contains(said), "{ran}");
    }
    assert_eq!(kinds(&host), ["start", "phase_done", "phase_done", "all_done"]);
    assert_eq!((elsewhere.requests().len(), waiting(&project)), (0, 0));
}

#[test]
fn a_repository_cannot_say_where_notices_go() {
    let host = Host::new();
    let project = project(TASKS, "").variable("MY_SECRET", "canary-4711");
    let own = project.home().join(".config/waypost/config.toml");
    project.write(
        "waypost.toml",
        &format!(
            "[run]\nslack_webhook_url = \"{0}/s\"\n[notify]\nallow_plain = true\n\
             ntfy = \"{0}/t\"\nntfy_token = \"env:MY_SECRET\"\nwebhooks = [{{ url = \"{0}/w\" }}]\n",
            host.url()
        ),
    );
    for line in ["run", "notify test", "config show", "validate waypost.toml"] {
        let ran = project.run(line);
        assert_eq!(ran.code, 2, "{line}: {ran}");
        for key in ["run.slack_webhook_url", "notify.allow_plain", "notify.ntfy", "notify.webhooks"]
        {
            let said = format!("`{key}` has a say in where notices go, and a project may not");
            assert!(ran.stderr.contains(&said), "{line}: {ran}");
        }
        assert!(ran.stderr.contains("waypost.toml:2:"), "{line}: {ran}");
        assert!(ran.stderr.contains(&format!("set it in {}", own.display())), "{line}: {ran}");
        assert!(!ran.to_string().contains(&host.url()), "{line}: {ran}");
    }
    assert!(!project.journal().exists());
    assert_eq!(host.requests().len(), 0);
}

#[test]
fn a_test_says_of_each_target_whether_it_arrives() {
    let (good, bad) = (Host::new(), Host::new());
    bad.answer_all(Answer::Status(403));
    let user_file = format!(
        "[run]\nslack_webhook_url = \"env:SLACK\"\n[notify]\nntfy = \"http://ntfy.example/t\"\n\
         webhooks = [{{ url = \"{}/a\" }}, {{ url = \"env:BAD\" }}]\n",
        good.url()
    );
    let project = project(TASKS, &user_file).variable("BAD", &format!("{}/canary", bad.url()));
    let ran = project.run("notify test");
    let (start, end) = ran.stdout.split_at(ran.stdout.find("webhook-").unwrap());
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(
        start,
        "slack (env:SLACK)  did not arrive: the environment variable SLACK is not set \
         (`run.slack_webhook_url`)\n\
         ntfy (ntfy.example)  did not arrive: `http://` would send it in the clear; use \
         `https://`, or set `notify.allow_plain` (`notify.ntfy`)\n"
    );
    let end: Vec<&str> = end.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(
        end,
        [
            "(127.0.0.1)  arrived",
            "(env:BAD)  did not arrive: it answers with status 403 (`notify.webhooks[1]`)",
        ]
    );
    assert_eq!((good.requests().len(), bad.requests().len()), (1, 1));
    assert_eq!(waiting(&project), 0);
    let shown = project.must("config show").stdout;
    assert!(!shown.contains(&good.url()) && shown.contains("env:BAD"), "{shown}");
}

#[test]
fn what_cannot_be_sent_as_things_are_configured_waits() {
    let host = Host::new();
    let project = project(TASKS, "[notify]\nntfy = \"env:NTFY_URL\"\n");
    let ran = project.must("run");
    assert!(ran.stderr.contains("the environment variable NTFY_URL is not set"), "{ran}");
    assert_eq!(waiting(&project), 4);
    project.write(USER_CONFIG, &webhook(&host));
    project.must("notify send");
    assert_eq!((host.requests().len(), waiting(&project)), (0, 4));
    let shown = project.must("status").stdout;
    let why = "Notices  4 waiting for ntfy: the environment variable NTFY_URL is not set\n";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn nobody_is_told_of_a_rehearsal() {
    let host = Host::new();
    let project = project(TASKS, &webhook(&host));
    project.must("run --rehearse");
    assert_eq!(host.requests(), []);
}

#[test]
fn values_in_requests_are_what_json_says() {
    let request = Request::parse("POST /a HTTP/1.1\r\nTitle: x\r\n\r\n{\"a\":1}");
    assert_eq!((request.json(), request.headers["title"].as_str()), (json!({"a": 1}), "x"));
    assert_ne!(request.json(), Value::Null);
}

#[test]
fn an_address_in_the_state_file_sends_nothing_and_the_run_says_so() {
    if crate::terminal::no_person_is_here() {
        return;
    }
    for address in ["env:SLACK", "https://hooks.example.org/T/B/X"] {
        let project = crate::execute::one("true");
        project.must("run start T1.1");
        let text = project.read(RUN).replace(
            "\"slack_webhook_url\": null",
            &format!("\"slack_webhook_url\": \"{address}\""),
        );
        assert!(text.contains(address), "{text}");
        project.write(RUN, &text);
        // What a person writes there is taken up; an agent's edit would wait in the inbox.
        project.person_must("run fail T1.1 --reason again");
        let ran = project.run("run --resume --mode ultra-thin");
        let said = ran.stderr.lines().filter(|line| line.contains("slack_webhook_url"));
        let said: Vec<&str> = said.collect();
        assert!(
            said.iter().any(|line| line.contains("is not used") && line.contains("config.toml")),
            "{address}: {ran}"
        );
        assert!(!ran.stderr.contains("hooks.example.org"), "{ran}");
    }
}

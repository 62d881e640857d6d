//! The matrix of phases and deeds, with the real programs.

use super::{Answer, Project};

/// A workflow that has come this far; `re_review_clean` is passed by a check.
fn at(phase: &str) -> Project {
    let project = Project::git();
    project.write("waypost.toml", "[workflow.gates.re_review_clean]\ncheck = \"true\"\n");
    project.write("review.md", "Blocking: 0\n");
    project.git_command("add -A");
    project.git_command("commit -q -m start");
    let steps = [
        ("DESIGN", "develop start 'Live chat'"),
        ("REVIEW", "develop advance --checkpoint cp-1"),
        ("REVIEW+", "develop gate pass review_clean_pass --report review.md"),
        ("IMPLEMENT", "develop advance"),
        ("", "develop checkpoint start cp-1"),
        ("", "develop checkpoint pass cp-1"),
        ("IMPLEMENT+", "develop gate pass architect_verified --report review.md"),
        ("PR", "develop advance"),
        ("PR+", "develop gate pass re_review_clean"),
        ("DONE", "develop advance"),
    ];
    for (reached, line) in steps {
        project.must(line);
        if reached == phase {
            return project;
        }
    }
    panic!("{phase} is never reached");
}

/// What is allowed in a phase, as letters: write, commit, push, pull request.
fn allowed(project: &Project) -> String {
    let mut letters = String::new();
    let write = project.both(|project, asked| project.may_write(asked, "src/lib.rs"));
    let commit = project.both(|project, asked| project.may_run(asked, "git commit -am x"));
    let push = project.both(|project, asked| project.may_run(asked, "git push origin topic"));
    let pull = project.both(|project, asked| project.may_run(asked, "gh pr create --fill"));
    for (letter, answer) in [('w', write), ('c', commit), ('p', push), ('r', pull)] {
        letters.push(if answer.is_allowed() { letter } else { '-' });
    }
    letters
}

#[test]
fn each_phase_allows_what_its_gates_allow() {
    let table = [
        ("DESIGN", "wc--"),
        ("REVIEW", "wc--"),
        ("REVIEW+", "wc--"),
        ("IMPLEMENT", "wc--"),
        ("IMPLEMENT+", "wc--"),
        ("PR", "w---"),
        ("PR+", "wcpr"),
        ("DONE", "wcpr"),
    ];
    for (phase, want) in table {
        assert_eq!(allowed(&at(phase)), want, "{phase}");
    }
}

#[test]
fn a_gate_that_is_closed_again_closes_what_it_opened() {
    let project = at("IMPLEMENT");
    project.must("develop gate reset review_clean_pass");
    assert_eq!(allowed(&project), "----");
    let project = at("PR");
    project.must("develop gate reset architect_verified");
    assert_eq!(allowed(&project), "----");
}

#[test]
fn design_is_free_ground_until_it_was_left() {
    let project = at("IMPLEMENT");
    project.must("develop back");
    project.must("develop back");
    assert_eq!(allowed(&project), "----");
    for name in ["docs/plan.md", "notes.md", "docs/deep/er.txt"] {
        let answer = project.both(|project, asked| project.may_write(asked, name));
        assert_eq!(answer, Answer::Allowed, "{name}");
    }
    let strict = at("DESIGN");
    strict.write("waypost.toml", "[workflow]\nstrict = true\n");
    assert_eq!(allowed(&strict), "----");
}

#[test]
fn pushing_branches_early_is_a_setting() {
    let project = at("IMPLEMENT");
    project.write("waypost.toml", "[workflow]\npush_early = true\n");
    let may = |line: &str| project.both(|project, asked| project.may_run(asked, line));
    assert_eq!(may("git push origin topic"), Answer::Allowed);
    may("git push origin main").refused();
    may("gh pr create").refused();
    may("git push --all").refused();
}

#[test]
fn a_refusal_names_phase_gates_and_the_next_command() {
    let project = at("PR");
    let push = project.both(|project, asked| project.may_run(asked, "git  -C . pu\"\"sh"));
    insta::assert_snapshot!(push.refused(), @"`git -C . push` pushes, which is closed in phase PR; it needs re_review_clean passed; next: `waypost develop gate pass re_review_clean`");
    let commit = project.both(|project, asked| project.may_run(asked, "git commit -m x"));
    insta::assert_snapshot!(commit.refused(), @"`git commit -m x` commits, which is closed in phase PR; it needs re_review_clean passed; next: `waypost develop gate pass re_review_clean`");
    let unknown = project.both(|project, asked| project.may_run(asked, "$X push"));
    assert!(unknown.refused().contains("cannot be told"), "{unknown:?}");
}

#[test]
fn what_the_gate_rests_on_is_protected_in_every_phase() {
    let alone = [super::HOOK, crate::harness::BINARY].map(super::alone);
    let files = [
        ".develop-workflow/state.json",
        ".git/waypost/journal.db",
        ".git/waypost/gate/main",
        "waypost.toml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".codex/hooks.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".git/hooks/pre-push",
        ".git/config",
        alone[0].to_str().unwrap(),
        alone[1].to_str().unwrap(),
    ];
    for phase in ["DESIGN", "REVIEW", "IMPLEMENT", "PR", "PR+"] {
        let project = at(phase);
        for name in files {
            let answer = project.both(|project, asked| project.may_write(asked, name));
            assert!(answer.refused().contains("is protected"), "{phase} {name}: {answer:?}");
            let command = format!("echo '{{}}' > {name}");
            let answer = project.both(|project, asked| project.may_run(asked, &command));
            assert!(answer.refused().contains("is protected"), "{phase} {name}: {answer:?}");
        }
    }
    let done = at("DONE");
    assert!(done.both(|project, asked| project.may_write(asked, files[0])).is_allowed());
}

#[test]
fn commands_of_ours_pass_in_every_phase_but_those_for_a_person() {
    for phase in ["DESIGN", "REVIEW", "IMPLEMENT", "PR"] {
        let project = at(phase);
        project.write("waypost.toml", "[workflow]\nstrict = true\n");
        let may = |line: &str| project.both(|project, asked| project.may_run(asked, line));
        for line in ["waypost develop status", "waypost develop back", "waypost run next --json"] {
            assert_eq!(may(line), Answer::Allowed, "{phase} {line}");
        }
        for line in ["waypost develop suspend --reason x", "waypost init --remove"] {
            assert!(may(line).refused().contains("reserved for a person"), "{phase} {line}");
        }
    }
}

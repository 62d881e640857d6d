//! Fields in every place and language, and dependencies in every wording.

use super::{details, file, only, tasks, warnings};
use waypost_model::run::{Depends, Details, Priority};

fn some(text: &str) -> Option<Box<str>> {
    Some(text.into())
}

fn all(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Checks that `line` is read alike wherever a field can stand.
#[track_caller]
fn check(line: &str, want: Details) {
    for text in [
        format!("### T1.1: a\n{line}"),
        format!("### T1.1: a\n\nSome text\n{line}\nmore text"),
        format!("### T1.1: a\n- {line}"),
        format!("### T1.1: a\n\n#### More\n\n* note\n  * {line}"),
        format!("- [ ] T1.1: a\n  {line}"),
        format!("- [ ] T1.1: a\n  - {line}"),
        format!("- [ ] T1.1: a\n\n  {line}\n\n  text"),
        format!("- [ ] T1.1: a\n  1. {line}\n  2. other: text"),
    ] {
        assert_eq!(details(&text), want, "{text}");
    }
}

#[test]
fn labels_are_korean_or_english_bold_or_not_in_any_case() {
    let want = Details { owner: some("@backend"), ..Details::default() };
    for line in [
        "owner: @backend",
        "Owner: @backend",
        "OWNER：@backend",
        "담당: @backend",
        "**담당**: @backend",
        "**담당:** @backend",
        "**담당: @backend**",
        "*owner* : @backend",
        "👤 담당: @backend",
        "owner: `@backend`",
        "owner: **@backend**",
    ] {
        check(line, want.clone());
    }
}

#[test]
fn every_field_is_read() {
    let base = Details::default;
    let table = [
        ("파일: src/a.rs, src/b.rs", Details { files: all(&["src/a.rs", "src/b.rs"]), ..base() }),
        (
            "files: `src/a b.rs` `src/c.rs` and docs/",
            Details { files: all(&["src/a b.rs", "src/c.rs", "docs/"]), ..base() },
        ),
        (
            "files: pkg/__init__.py src/*_test.rs",
            Details { files: all(&["pkg/__init__.py", "src/*_test.rs"]), ..base() },
        ),
        ("files: src/*.rs src/*", Details { files: all(&["src/*.rs", "src/*"]), ..base() }),
        ("files: **src/a_b_c.rs**", Details { files: all(&["src/a_b_c.rs"]), ..base() }),
        ("files: 없음", base()),
        ("스펙: docs/spec_a.md#b", Details { spec: some("docs/spec_a.md#b"), ..base() }),
        ("spec: `docs/spec.md`", Details { spec: some("docs/spec.md"), ..base() }),
        (
            "worktree: worktree/phase-1-auth",
            Details { worktree: some("worktree/phase-1-auth"), ..base() },
        ),
        ("verify: `cargo test -p x`", Details { verify: all(&["cargo test -p x"]), ..base() }),
        (
            "검증: pytest -k \"not __slow__\" && echo *ok*",
            Details { verify: all(&["pytest -k \"not __slow__\" && echo *ok*"]), ..base() },
        ),
        (
            "verify: first `make a`, then `make b`",
            Details { verify: all(&["make a", "make b"]), ..base() },
        ),
        ("명령: `make all`", Details { command: some("make all"), ..base() }),
        ("run: make all", Details { command: some("make all"), ..base() }),
        ("run: `a` and `b`", Details { command: some("a && b"), ..base() }),
        ("시간제한: 30m", Details { timeout_seconds: Some(1_800), ..base() }),
        ("timeout: 90", Details { timeout_seconds: Some(90), ..base() }),
        ("agent: claude", Details { agent: some("claude"), ..base() }),
        ("model: `opus`", Details { model: some("opus"), ..base() }),
        ("budget: $2.50", Details { budget_cents: Some(250), ..base() }),
        ("병렬: 가능", Details { parallel: true, ..base() }),
        ("parallel: no", base()),
        // What only looks like a field, or has no value.
        ("`run`: starts it", base()),
        ("note: owner: x", base()),
        ("runner: x", base()),
        ("owner:", base()),
        ("timeout:", base()),
        ("a sentence about the owner: x", base()),
    ];
    for (line, want) in table {
        check(line, want);
    }
}

#[test]
fn priorities_are_kept_outside_the_details() {
    for (line, want) in [
        ("우선순위: 긴급", Priority::Critical),
        ("priority: High", Priority::High),
        ("**Priority**: P2", Priority::Normal),
        ("priority: 낮음", Priority::Low),
    ] {
        assert_eq!(only(&format!("- [ ] T1.1: a\n  - {line}")).priority, want, "{line}");
    }
}

#[test]
fn values_may_stand_below_their_label() {
    let want = Details {
        files: all(&["src/a.rs", "src/b.rs"]),
        verify: all(&["make a", "make b_c_d"]),
        ..Details::default()
    };
    for text in [
        "### T1.1: a\n- files:\n  - `src/a.rs` (new)\n  - src/b.rs: the rest\n- verify:\n  - `make a`\n  - make b_c_d",
        "### T1.1: a\n**Files**:\n- `src/a.rs`\n- src/b.rs\n\n**Verify**:\n\n1. `make a`\n2. `make b_c_d`\n",
        "### T1.1: a\nfiles: src/a.rs,\nsrc/b.rs\nverify: `make a`\nverify: `make b_c_d`",
        "- [ ] T1.1: a\n  - files: src/a.rs src/b.rs\n  - verify: `make a`\n  - verify: `make b_c_d`",
        "- [ ] T1.1: a\n  files:\n  - src/a.rs\n  - src/b.rs\n\n  verify:\n  - make a\n  - make b_c_d",
    ] {
        assert_eq!(details(text), want, "{text}");
    }
}

#[test]
fn a_list_below_an_empty_label_keeps_its_own_fields_and_tasks() {
    let text =
        "### T1.1: a\n**owner**:\n- depends: none\n- agent: claude\n\nverify:\n- [ ] T1.2: b";
    insta::assert_snapshot!(tasks(text), @r"
    T1.1 @1 [ ] a <- []
    T1.2 @1 [ ] b <- phase before
    ");
}

#[test]
fn a_table_may_hold_the_fields() {
    let text = "\
### T1.1: a

| 항목 | 내용 |
|---|---|
| **담당** | @a |
| 의존성 | 없음 |
| verify: | `a | b` |
| run | a \\| b |
| 파일 | `x.rs`<br>y.rs |
| `model` | quoted |

| owner | depends | third |
|---|---|---|
| x | y | z |
";
    let want = Details {
        owner: some("@a"),
        files: all(&["x.rs", "y.rs"]),
        verify: all(&["a | b"]),
        command: some("a | b"),
        ..Details::default()
    };
    assert_eq!(details(&text.replace("`a | b`", "`a \\| b`")), want);
    assert_eq!(only(text).depends, Depends::On(Vec::new()));
}

#[test]
fn a_fenced_shell_block_is_the_command() {
    for language in ["sh", "bash", "shell", "Bash", "sh title=x"] {
        for text in [
            format!("### T1.1: a\n\n```{language}\n\nmake a\n  make b\n\n```\n"),
            format!("- [ ] T1.1: a\n\n  ~~~{language}\n  make a\n    make b\n  ~~~\n"),
            format!("### T1.1: a\r\nrun:\r\n```{language}\r\nmake a\r\n  make b\r\n```\r\n"),
        ] {
            let want = Details { command: some("make a\n  make b"), ..Details::default() };
            assert_eq!(details(&text), want, "{text}");
        }
    }
    for text in [
        "### T1.1: a\n```python\nx\n```\n```\ny\n```\n\n    indented",
        "### T1.1: a\n```sh\n\n```",
        "### T1.1: a\n> ```sh\n> quoted\n> ```",
        "```sh\nbefore\n```\n### T1.1: a\n## Other\n```sh\nafter\n```",
    ] {
        assert_eq!(details(text), Details::default(), "{text}");
    }
}

#[test]
fn a_block_below_verify_is_a_check_that_fails_at_its_first_failing_line() {
    let text = "### T1.1: a\n**검증**:\n```bash\ncargo fmt --check\ncargo test\n```\nverify:\n```\none\n```";
    let want = Details {
        verify: all(&["set -e\ncargo fmt --check\ncargo test", "one"]),
        ..Details::default()
    };
    assert_eq!(details(text), want);
}

#[test]
fn a_block_wins_over_a_run_field() {
    for text in [
        "### T1.1: a\nrun: `field`\n```sh\nblock\n```\n```sh\nsecond\n```",
        "### T1.1: a\n```sh\nblock\n```\n- run: `field`",
    ] {
        assert_eq!(details(text).command, some("block"), "{text}");
    }
    insta::assert_snapshot!(
        warnings("### T1.1: a\nrun: `field`\n```sh\nblock\n```\n```sh\nsecond\n```"), @r"
    4:1+5 warning two_commands [T1.1.run] T1.1 has a run field and a block; the block is run
      hint: keep one of them; a block in another language than sh is text
    7:1+6 warning two_commands [T1.1.run] T1.1 has a block of commands already; this one is not run
      hint: keep one of them; a block in another language than sh is text
    ");
    insta::assert_snapshot!(warnings("### T1.1: a\n```sh\nblock\n```\n- run: `field`"), @r"
    5:3+3 warning two_commands [T1.1.run] T1.1 has a run field and a block; the block is run
      hint: keep one of them; a block in another language than sh is text
    ");
}

#[test]
fn a_sentence_that_starts_like_a_name_is_text() {
    let text = "### T1.1: a\n- Model: the User with its roles";
    assert_eq!(details(text), Details::default());
    insta::assert_snapshot!(warnings(text), @r"
    2:10+23 warning unclear_field [T1.1.model] `the User with its roles` is no name, so it is read as text
      expected: one word
    ");
}

/// Checks what `T1.9` waits for when it states `value`, among six other tasks.
#[track_caller]
fn check_depends(value: &str, want: &str) {
    let tasks_before = "\
## Phase 0
- [ ] T0.1: x
- [ ] T0.2: x
## Phase 1
- [ ] T1.1: x
- [ ] T1.2: x
- [ ] T1.3: x
- [ ] P1-R1-T1: x
";
    for text in [
        format!("{tasks_before}- [ ] T1.9: x\n  - depends: {value}"),
        format!("{tasks_before}### T1.9: x\n**의존성**： {value}"),
        format!("{tasks_before}### T1.9: x\n\n|depends|{value}|\n|---|---|\n"),
    ] {
        let found = tasks(&text);
        let last = found.lines().last().and_then(|line| line.split_once(" <- "));
        assert_eq!(last, Some(("T1.9 @1 [ ] x", want)), "{text}");
    }
}

#[test]
fn dependencies_are_ids_ranges_phases_or_none() {
    let table = [
        ("T1.1", "[T1.1]"),
        ("T1.1, T1.2", "[T1.1, T1.2]"),
        ("T1.2 T1.1", "[T1.2, T1.1]"),
        ("[T1.1, T1.2]", "[T1.1, T1.2]"),
        ("(T1.1 + T1.2)", "[T1.1, T1.2]"),
        ("T1.1 and T1.2", "[T1.1, T1.2]"),
        ("T1.1와 T1.2 완료 후.", "[T1.1, T1.2]"),
        ("`T1.1`, **T1.2**", "[T1.1, T1.2]"),
        ("T1.1, T1.1, T1.2, T1.1", "[T1.1, T1.2]"),
        ("P1-R1-T1, T0.1.", "[P1-R1-T1, T0.1]"),
        ("T1.1~T1.3", "[T1.1, T1.2, T1.3]"),
        ("T1.1-T1.3", "[T1.1, T1.2, T1.3]"),
        ("T1.1 – T1.2", "[T1.1, T1.2]"),
        ("T1.3 ~ T1.2", "[T1.2, T1.3]"),
        ("T1.1~T1.9", "[T1.1, T1.2, T1.3]"),
        ("T1.2 - the model", "[T1.2]"),
        ("Phase 0, T1.1", "[T0.1, T0.2, T1.1]"),
        ("P0 전체 + T1.1", "[T0.1, T0.2, T1.1]"),
        ("0단계와 T1.1", "[T0.1, T0.2, T1.1]"),
        // The phase right before is what a task without a word waits for.
        ("Phase 0", "phase before"),
        ("P0 전체", "phase before"),
        ("none", "[]"),
        ("None (can start immediately)", "[]"),
        ("-", "[]"),
        ("—", "[]"),
        ("없음", "[]"),
        ("없음 (T1.1과 병렬)", "[]"),
        ("n/a", "[]"),
        ("N/A", "[]"),
        ("[]", "[]"),
        ("( )", "[]"),
        ("T1.9 needs T1.1", "[T1.1]"),
    ];
    for (value, want) in table {
        check_depends(value, want);
    }
}

#[test]
fn dependencies_may_stand_in_the_title_below_the_label_or_as_a_sentence() {
    for text in [
        "- [ ] T1.1 x\n- [ ] T1.2 x\n- [ ] T1.9 a (depends on T1.1, T1.2)",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n- [ ] T1.9 a (Depends on: T1.1 and\n  T1.2) b",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n- [ ] T1.9 a\n  (의존: T1.1, T1.2)",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n### T1.9 (depends T1.1, T1.2) a",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n- [ ] T1.9 a (depends on T1.1)\n  - depends: T1.2, T1.1",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n### T1.9 a\nDepends on T1.1, T1.2",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n### T1.9 a\n의존:\n- T1.1: the first\n- [x] T1.2\n",
        "- [ ] T1.1 x\n- [ ] T1.2 x\n### T1.9 a\ndepends: T1.1,\nT1.2\nthen T1.3",
    ] {
        let want = "T1.9 @1 [ ] a <- [T1.1, T1.2]";
        assert_eq!(tasks(text).lines().last(), Some(want), "{text}");
    }
}

/// What each line under a task is warned of, as `label -> nearest`.
fn unknown(text: &str) -> Vec<String> {
    let warnings = file(text).warnings.into_iter().filter(|it| it.code == "unknown_field");
    let told = warnings.map(|it| {
        let words: Vec<&str> = it.message.split('`').collect();
        format!("{} -> {}", words[1], words.get(3).copied().unwrap_or("?"))
    });
    told.collect()
}

#[test]
fn a_label_that_is_no_field_is_pointed_out_with_the_nearest_one() {
    let text = "### T1.1: a\n- Verification: `make`\n- cmd: make\n- **Owners**: x\n- Module: x";
    assert_eq!(details(text), Details::default());
    let first: Vec<String> = warnings(text).lines().take(3).map(str::to_owned).collect();
    let want = [
        "2:3+12 warning unknown_field [] `Verification` is not a field of a task; did you mean `verify`?",
        "  expected: one of owner, depends, parallel, files, spec, worktree, verify, run, timeout, \
         priority, agent, model, budget",
        "  hint: write `verify:`, or take the colon away if it is text",
    ];
    assert_eq!(first, want);
    let table: [(&str, &[&str]); 12] = [
        ("- [ ] T1.1: a\n  - verfy: `make`\n  - File: a.rs", &["verfy -> verify", "File -> files"]),
        (
            "### T1.1: a\n**Verification**: make\n**Status**: new",
            &["Verification -> verify", "Status -> ?"],
        ),
        ("### T1.1: a\ncmd: make\ntests：make", &["cmd -> run", "tests -> verify"]),
        ("### T1.1: a\n- Tests:\n  - make", &["Tests -> verify"]),
        ("### T1.1: a\n- Blocked by: T1.1", &["Blocked by -> depends"]),
        (
            "### T1.1: a\n- 명령어: make\n- 담당자: x\n- 상태: x",
            &["명령어 -> run", "담당자 -> owner", "상태 -> ?"],
        ),
        // Text in which a colon stands.
        ("### T1.1: a\n- Note: x\n- 참고: x\n- Steps:\n  - Parse: read it", &[]),
        ("### T1.1: a\n- https://example.org\n- std::fs: x\n- src/a.rs: x\n- 10:30", &[]),
        ("### T1.1: a\n- `cmd`: what it means\n- [ ] Status: is shown", &[]),
        ("### T1.1: a\nStatus: a line of text.\nThis is said: x.\n> cmd: quoted", &[]),
        ("### T1.1: a\n```yaml\ncmd: x\n```\n- a sentence about a thing: x", &[]),
        ("- cmd: before any task\n- [ ] T1.1: a\n\n## Notes\n\n- Status: x", &[]),
    ];
    for (text, want) in table {
        assert_eq!(unknown(text), want, "{text}");
    }
}

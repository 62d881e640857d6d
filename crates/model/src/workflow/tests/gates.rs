//! What passes a gate, and what passed gates allow.

use super::{
    Claim, Event, GateName, Requirement, Review, TO_DONE, TO_IMPLEMENT, TO_PR, TO_REVIEW, Walk,
    agent, check, person, report, reviewed, summary,
};
use crate::{
    actor::Actor,
    evidence::Evidence,
    machine::Decision,
    workflow::{Command, Rights, RightsSettings},
};

fn review(blocking: u32) -> Evidence {
    Evidence::Review { blocking, tree: None }
}

fn human() -> Evidence {
    Evidence::Human { name: "mina".into() }
}

/// What a gate needs, in words: `check`, `review`, `human` or nothing.
fn needs(words: &str) -> Requirement {
    Requirement {
        check: words.contains("check").then(|| "cargo test".to_owned()),
        review: words.contains("review"),
        human: words.contains("human"),
    }
}

/// The phase that owns a gate, with the gate still closed.
fn owner(gate: GateName) -> &'static str {
    match gate {
        GateName::ReviewCleanPass => TO_REVIEW,
        GateName::ArchitectVerified => TO_IMPLEMENT,
        GateName::ReReviewClean => TO_PR,
    }
}

#[track_caller]
fn judged(gate: GateName, configured: &str, evidence: &[Evidence], by: &Actor) -> String {
    let evidence = evidence.to_vec();
    let command =
        Command::PassGate { gate, claim: Claim { evidence, tree: None }, needs: needs(configured) };
    match Walk::of(owner(gate)).give(&command, by) {
        Ok(Decision { events, .. }) if matches!(events[..], [Event::GatePassed { .. }]) => {
            "passed".to_owned()
        }
        other => summary(&other),
    }
}

#[test]
fn a_gate_is_passed_by_what_is_configured_for_it() {
    let no_test = "refused: GATE needs `cargo test` to pass → pass_gate GATE";
    let no_review = "refused: GATE needs a review made by Waypost → review";
    let no_human = "refused: GATE needs your confirmation → confirm_gate GATE";
    let blocked = "refused: GATE needs a review with 0 blocking; this has 2 → review";
    #[rustfmt::skip]
    let table: [(&str, &[Evidence], &str); 16] = [
        ("check",              &[],                                         no_test),
        ("check",              &[check("cargo test")],                      "passed"),
        ("check",              &[check("true")],                            no_test),
        ("check",              &[report(0)],                                no_test),
        ("check",              &[review(0), human()],                       no_test),
        ("check",              &[check("cargo test"), report(2)],           blocked),
        ("review",             &[],                                         no_review),
        ("review",             &[review(0)],                                "passed"),
        ("review",             &[review(2)],                                blocked),
        ("review",             &[report(0)],                                no_review),
        ("human",              &[human()],                                  "passed"),
        ("human",              &[report(0), review(0)],                     no_human),
        ("check review",       &[check("cargo test")],                      no_review),
        ("check review human", &[check("cargo test"), review(0)],           no_human),
        ("check review human", &[check("cargo test"), review(0), human()],  "passed"),
        ("check review human", &[check("cargo test"), review(2), human()],  blocked),
    ];
    for gate in GateName::ALL {
        for (configured, evidence, want) in &table {
            let want = want.replace("GATE", gate.as_str());
            assert_eq!(judged(gate, configured, evidence, &person()), want, "{evidence:?}");
        }
    }
}

#[test]
fn where_nothing_is_configured_an_agents_own_report_is_enough_but_for_the_last_gate() {
    let needs_report = "refused: GATE needs a report with `Blocking: 0` → \
                        report_gate GATE";
    let needs_more =
        "gate_asked re_review_clean; ask: re_review_clean of `chat` waits for your word";
    let blocked = "refused: GATE needs a review with 0 blocking; this has 2 → review";
    #[rustfmt::skip]
    let table: [(&[Evidence], &str, &str); 9] = [
        (&[],                     needs_report, needs_more),
        (&[Evidence::Claimed],    needs_report, needs_more),
        (&[Evidence::Unverified], needs_report, needs_more),
        (&[Evidence::Forced],     needs_report, needs_more),
        (&[check("true")],        needs_report, needs_more),
        (&[report(0)],            "passed",     needs_more),
        (&[report(2)],            blocked,      blocked),
        (&[review(2)],            blocked,      blocked),
        (&[review(0)],            "passed",     "passed"),
    ];
    for gate in GateName::ALL {
        for (evidence, want, want_last) in &table {
            let is_last = gate == GateName::ReReviewClean;
            let want = if is_last { want_last } else { want }.replace("GATE", gate.as_str());
            assert_eq!(judged(gate, "", evidence, &agent()), want, "{evidence:?}");
        }
        assert_eq!(judged(gate, "", &[human()], &person()), "passed");
    }
}

#[test]
fn no_agent_speaks_for_a_person() {
    let refused = "refused: confirming a gate is reserved for a person at a terminal";
    for gate in GateName::ALL {
        for configured in ["", "human", "check review human"] {
            let evidence = [check("cargo test"), review(0), human()];
            assert_eq!(judged(gate, configured, &evidence, &agent()), refused);
            assert_eq!(judged(gate, configured, &evidence, &person()), "passed");
            // A person's answer in the inbox is carried out by Waypost.
            assert_eq!(judged(gate, configured, &evidence, &Actor::Waypost), "passed");
        }
    }
}

#[test]
fn a_gate_is_passed_in_its_own_phase_only() {
    let table = [
        ("start chat", "review_clean_pass", "REVIEW", "DESIGN", "advance_with_checkpoints"),
        (TO_IMPLEMENT, "review_clean_pass", "REVIEW", "IMPLEMENT", "go_back"),
        (
            TO_REVIEW,
            "architect_verified",
            "IMPLEMENT",
            "REVIEW",
            "pass_gate_or_report review_clean_pass",
        ),
        (TO_PR, "architect_verified", "IMPLEMENT", "PR", "go_back"),
        (TO_IMPLEMENT, "re_review_clean", "PR", "IMPLEMENT", "start_checkpoint cp-1"),
    ];
    for (script, gate, owner, phase, next) in table {
        let refused = summary(&Walk::of(script).say(&format!("gate pass {gate}")));
        let want = format!("refused: {gate} is passed in {owner}, and this is {phase}");
        assert_eq!(refused, format!("{want} → {next}"));
    }
}

#[test]
fn what_stands_behind_a_gate_is_kept_until_it_is_reset() {
    let mut walk = Walk::of(&format!("{TO_REVIEW}; gate pass review_clean_pass"));
    let pass = walk.feature().passes[0].clone();
    assert_eq!((pass.evidence, pass.at), (vec![report(0)], walk.now));
    assert_eq!(summary(&walk.say("gate pass review_clean_pass")), "nothing");
    assert_eq!(
        summary(&walk.say("gate reset review_clean_pass")),
        "gate_reset review_clean_pass (Asked)"
    );
    assert_eq!(walk.feature().passes, []);
    assert_eq!(summary(&walk.say("gate reset review_clean_pass")), "nothing");
}

#[test]
fn content_that_changed_closes_the_last_gate_again() {
    let mut walk = Walk::of(&format!("{TO_PR}; gate pass re_review_clean"));
    assert_eq!(
        summary(&walk.say("gate stale re_review_clean")),
        "gate_reset re_review_clean (Stale)"
    );
    assert_eq!(walk.line(), "PR direct [review_clean_pass architect_verified] cp-1 passed/1");
}

/// The rights as letters: write, design, commit, branch, publish.
fn rights(script: &str, settings: RightsSettings) -> String {
    let rights = Rights::under(Walk::of(script).feature(), settings);
    let held = [
        (rights.write, 'w'),
        (rights.write_design, 'd'),
        (rights.commit, 'c'),
        (rights.push_branch, 'b'),
        (rights.publish, 'p'),
    ];
    held.into_iter().map(|(is_held, letter)| if is_held { letter } else { '-' }).collect()
}

#[test]
fn gates_allow_what_the_matrix_says() {
    let plain = RightsSettings::default();
    let strict = RightsSettings { strict: true, ..plain };
    let early = RightsSettings { push_early: true, ..plain };
    let after = |script: &str, rest: &str| format!("{script}; {rest}");
    let went_back = after(TO_IMPLEMENT, "back");
    #[rustfmt::skip]
    let table = [
        ("start chat".to_owned(),                                "wdc--", "-d---", "wdc--"),
        (TO_REVIEW.to_owned(),                                   "wdc--", "-d---", "wdc--"),
        (TO_IMPLEMENT.to_owned(),                                "wdc--", "wdc--", "wdcb-"),
        (after(TO_IMPLEMENT, "gate reset review_clean_pass"),    "-----", "-----", "-----"),
        (went_back.clone(),                                      "-d---", "-d---", "-d---"),
        (after(&went_back, "back"),                              "-d---", "-d---", "-d---"),
        (TO_PR.to_owned(),                                       "wd---", "wd---", "wd---"),
        (after(TO_PR, "gate pass re_review_clean"),              "wdcbp", "wdcbp", "wdcbp"),
        (after(TO_PR, "gate reset architect_verified"),          "-----", "-----", "-----"),
        (after(TO_PR, "back"),                                   "wd---", "wd---", "wd---"),
        (after(TO_PR, "gate pass re_review_clean; back"),        "wdc--", "wdc--", "wdcb-"),
        (after(TO_PR, "person: suspend x; back; resume"),        "wd---", "wd---", "wd---"),
        (after(TO_PR, "person: suspend x"),                      "wdcbp", "wdcbp", "wdcbp"),
        (TO_DONE.to_owned(),                                     "wdcbp", "wdcbp", "wdcbp"),
    ];
    for (script, want, want_strict, want_early) in &table {
        let got = [plain, strict, early].map(|settings| rights(script, settings));
        assert_eq!(got, [*want, *want_strict, *want_early], "`{script}`");
    }
}

#[test]
fn commits_held_by_going_back_come_free_with_a_gate() {
    let held = format!("{TO_PR}; back");
    let plain = RightsSettings::default();
    assert_eq!(rights(&format!("{held}; gate reset architect_verified"), plain), "wd---");
    assert_eq!(rights(&format!("{held}; gate pass architect_verified"), plain), "wdc--");
}

#[test]
fn what_lacks_only_a_persons_word_waits_in_the_inbox() {
    let asked = |gate| Command::PassGate {
        gate,
        claim: Claim { evidence: vec![check("cargo test")], tree: Some("t1".into()) },
        needs: needs("check human"),
    };
    for gate in GateName::ALL {
        let mut walk = Walk::of(owner(gate));
        let question = format!("gate_asked {gate}; ask: {gate} of `chat` waits for your word");
        assert_eq!(summary(&walk.give(&asked(gate), &agent())), question);
        assert!(!walk.feature().has_passed(gate));
        assert_eq!(walk.inbox.open().len(), 1);

        let confirm = |tree: &str| Command::ConfirmGate { gate, tree: Some(tree.into()) };
        let reserved = "refused: confirming a gate is reserved for a person at a terminal";
        assert_eq!(summary(&walk.give(&confirm("t1"), &agent())), reserved);
        let moved =
            format!("refused: files have changed since {gate} was asked for → pass_gate {gate}");
        assert_eq!(summary(&walk.give(&confirm("t2"), &person())), moved);
        let passed = format!(
            "gate_passed {gate} (check `cargo test`, confirmed by user:mina); settle gate/{gate}"
        );
        assert_eq!(summary(&walk.give(&confirm("t1"), &person())), passed);
        assert!(walk.feature().has_passed(gate));
        assert!(walk.inbox.open().is_empty());
        assert!(!walk.feature().is_stale(gate, "t1"));
        assert!(walk.feature().is_stale(gate, "t2"));
    }
}

#[test]
fn a_question_about_a_gate_ends_with_its_phase_or_a_no() {
    let ask = Command::PassGate {
        gate: GateName::ReReviewClean,
        claim: Claim::default(),
        needs: Requirement::default(),
    };
    let mut walk = Walk::of(TO_PR);
    walk.give(&ask, &agent()).unwrap();
    let decline = Command::DeclineGate { gate: GateName::ReReviewClean };
    assert_eq!(
        summary(&walk.give(&decline, &agent())),
        "refused: declining a gate is reserved for a person at a terminal"
    );
    assert_eq!(
        summary(&walk.give(&decline, &person())),
        "gate_declined re_review_clean; settle gate/re_review_clean"
    );
    assert!(walk.feature().waiting.is_empty());

    let mut walk = Walk::of(TO_PR);
    walk.give(&ask, &agent()).unwrap();
    walk.say("back").unwrap();
    assert!(walk.feature().waiting.is_empty());
    assert!(walk.inbox.open().is_empty());
}

#[test]
fn passing_again_counts_only_for_other_content() {
    let pass = |tree: &str| Command::PassGate {
        gate: GateName::ReviewCleanPass,
        claim: Claim { evidence: vec![report(0)], tree: Some(tree.into()) },
        needs: Requirement::default(),
    };
    let mut walk = Walk::of(TO_REVIEW);
    let passed = "gate_passed review_clean_pass (self-reported in review.md)";
    assert_eq!(summary(&walk.give(&pass("t1"), &agent())), passed);
    assert_eq!(summary(&walk.give(&pass("t1"), &agent())), "nothing");
    assert_eq!(summary(&walk.give(&pass("t2"), &agent())), passed);
    assert_eq!(walk.feature().passes.len(), 1);
}

#[test]
fn a_review_is_kept_until_the_phase_changes_and_opens_nothing() {
    let mut walk = Walk::of(&format!(
        "{TO_REVIEW}; waypost: review review_clean_pass 2; waypost: review review_clean_pass 0"
    ));
    let kept: Vec<Review> = walk.feature().reviews.clone();
    assert_eq!(kept, [reviewed("review_clean_pass", "0")]);
    let evidence = Evidence::Review { blocking: 0, tree: Some("t1".into()) };
    assert_eq!(kept[0].evidence(), evidence);
    assert_eq!(walk.line(), "REVIEW - [] cp-1 pending/0, cp-2 pending/0");
    walk.say("back").unwrap();
    assert_eq!(walk.feature().review_of(GateName::ReviewCleanPass), None);
}

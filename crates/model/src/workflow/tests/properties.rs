//! What holds whatever the actors do, in whatever order.

use super::{
    CheckpointRow, Claim, Command, Event, GateName, NextStep, Phase, Requirement, Walk, Workflow,
    WorkflowState, agent, check, command, person, report, topic_of,
};
use crate::document::Document as _;
use crate::{
    actor::Actor,
    evidence::Evidence,
    machine::{Cause, Decision, Machine as _, Rejected},
    workflow::{CheckpointStatus, CheckpointStep, Rights, RightsSettings, translate},
};
use proptest::{
    prelude::*,
    sample::select,
    strategy::ValueTree as _,
    test_runner::{RngSeed, TestRunner},
};
use std::collections::BTreeSet;

/// One thing that an actor does.
#[derive(Clone, Debug)]
enum Move {
    /// Whatever leads on from where things stand.
    Forward,
    Given(Actor, Box<Command>),
}

const LINES: [&str; 38] = [
    "start chat",
    "advance",
    "advance cp-1 cp-2",
    "advance cp-1 cp-2 cp-3 cp-4 cp-5",
    "advance --contract",
    "advance --strategy direct",
    "back",
    "back",
    "contract",
    "gate reset review_clean_pass",
    "gate reset architect_verified",
    "gate reset re_review_clean",
    "gate stale re_review_clean",
    "review review_clean_pass 0",
    "review re_review_clean 1",
    "gate confirm review_clean_pass",
    "gate confirm re_review_clean",
    "gate decline re_review_clean",
    "checkpoint start cp-1",
    "checkpoint start cp-2",
    "checkpoint pass cp-1",
    "checkpoint pass cp-2",
    "checkpoint pass cp-1 checked",
    "checkpoint pass cp-2 checked",
    "checkpoint fail cp-1",
    "checkpoint fail cp-1",
    "checkpoint fail cp-2",
    "checkpoint fail cp-2 DESIGN_MISMATCH",
    "checkpoint escalate cp-1",
    "checkpoint reopen cp-1",
    "checkpoint reopen cp-2",
    "checkpoint start cp-9",
    "suspend",
    "suspend hotfix",
    "resume",
    "restart",
    "restart search",
    "adopt",
];

fn actors() -> impl Strategy<Value = Actor> {
    prop_oneof![4 => Just(agent()), 2 => Just(person()), 1 => Just(Actor::Waypost)]
}

fn gate_passes() -> impl Strategy<Value = Command> {
    let pieces = vec![
        check("cargo test"),
        report(0),
        report(1),
        Evidence::Review { blocking: 0, tree: None },
        Evidence::Review { blocking: 2, tree: None },
        Evidence::Human { name: "mina".into() },
        Evidence::Claimed,
    ];
    let evidence = prop::collection::vec(select(pieces), 0..3);
    let needs = (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(check, review, human)| {
        Requirement { check: check.then(|| "cargo test".to_owned()), review, human }
    });
    (select(GateName::ALL.to_vec()), evidence, needs).prop_map(|(gate, evidence, needs)| {
        let claim = Claim { evidence, tree: None };
        Command::PassGate { gate, claim, needs }
    })
}

fn commands() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => select(LINES.to_vec()).prop_map(command),
        2 => gate_passes(),
        1 => (1u32..5).prop_map(|max_iterations| {
            Command::Start { feature: "short".into(), max_iterations }
        }),
    ]
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let given = (actors(), commands()).prop_map(|(by, command)| Move::Given(by, command.into()));
    // Otherwise a suspension would hardly ever outlive a change of phase.
    let reserved = select(vec!["suspend hotfix", "resume", "restart", "adopt"])
        .prop_map(|line| Move::Given(person(), command(line).into()));
    let word = (select(vec!["confirm", "decline"]), select(GateName::ALL.to_vec()))
        .prop_map(|(word, gate)| command(&format!("gate {word} {gate}")))
        .prop_map(|command| Move::Given(person(), command.into()));
    let review = (select(GateName::ALL.to_vec()), select(vec!["0", "2"]))
        .prop_map(|(gate, blocking)| command(&format!("review {gate} {blocking}")))
        .prop_map(|command| Move::Given(Actor::Waypost, command.into()));
    let any = prop_oneof![
        9 => Just(Move::Forward), 9 => given, 1 => reserved, 3 => word, 1 => review
    ];
    prop::collection::vec(any, 0..40)
}

/// What an actor who wants to be done would do next.
fn forward(walk: &Walk) -> Command {
    let Some(feature) = &walk.state.feature else { return command("start chat") };
    let is_open = |status| status != CheckpointStatus::Passed;
    let open = feature.checkpoints.iter().find(|(_, each)| is_open(each.status));
    match (feature.phase, open) {
        (Phase::Done, _) => command("start search"),
        (Phase::Design, _) => command("advance cp-1 cp-2"),
        (Phase::Implement, Some((id, each))) => command(&match each.status {
            CheckpointStatus::Pending => format!("checkpoint start {id}"),
            CheckpointStatus::Escalated => format!("checkpoint reopen {id}"),
            _ => format!("checkpoint pass {id} checked"),
        }),
        (phase, _) => match feature.closed_gates().find(|gate| gate.phase() <= phase) {
            Some(gate) if gate.phase() < phase => command("back"),
            Some(gate) => command(&format!("gate pass {gate}")),
            None => command("advance"),
        },
    }
}

/// One step of a walk, with what was before it.
struct Step {
    before: Workflow,
    command: Command,
    by: Actor,
    result: Result<Decision<Event>, Rejected>,
}

/// Goes through the moves and looks at each step.
fn walk_through(
    moves: Vec<Move>,
    mut look: impl FnMut(&Walk, &Step) -> Result<(), TestCaseError>,
) -> Result<Walk, TestCaseError> {
    let mut walk = Walk::default();
    for each in moves {
        let (by, command) = match each {
            Move::Forward => (person(), forward(&walk)),
            Move::Given(by, command) => (by, *command),
        };
        let before = walk.state.clone();
        let result = walk.give(&command, &by);
        look(&walk, &Step { before, command, by, result })?;
    }
    Ok(walk)
}

/// What an agent may do; without a workflow, everything.
fn rights(state: &Workflow, settings: RightsSettings, by_gates: bool) -> Rights {
    match &state.feature {
        None => Rights::ALL,
        Some(feature) if by_gates => Rights::by_gates(feature, settings),
        Some(feature) => Rights::under(feature, settings),
    }
}

fn all_settings() -> [RightsSettings; 4] {
    let of = |strict, push_early| RightsSettings { strict, push_early };
    [of(false, false), of(false, true), of(true, false), of(true, true)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The journal alone rebuilds the state, also from a snapshot in its middle.
    #[test]
    fn the_journal_rebuilds_the_state(moves in moves(), cut in any::<prop::sample::Index>()) {
        let walk = walk_through(moves, |_, _| Ok(()))?;
        let cut = cut.index(walk.journal.len() + 1);
        let (head, tail) = walk.journal.split_at(cut);
        let mut state = Workflow::start();
        for (event, at) in head {
            state.apply(event, *at);
        }
        let snapshot = serde_json::to_string(&state).unwrap();
        state = serde_json::from_str(&snapshot).unwrap();
        for (event, at) in tail {
            let stored = serde_json::to_string(event).unwrap();
            let kind = format!("\"{}\"", Workflow::event_kind(event));
            prop_assert!(stored.contains(&kind), "{} is not in {}", kind, stored);
            state.apply(&serde_json::from_str(&stored).unwrap(), *at);
        }
        prop_assert_eq!(state, walk.state);
    }

    /// Only a new start, or a person's restart, leads out of DONE.
    #[test]
    fn done_absorbs_everything_else(moves in moves()) {
        walk_through(moves, |_, step| {
            let is_done = step.before.feature.as_ref().is_some_and(|feature| feature.is_done());
            let leads_out = match step.command {
                Command::Start { .. } => true,
                Command::Restart { .. } => step.by.is_person(),
                _ => false,
            };
            prop_assert!(!is_done || leads_out == step.result.is_ok(), "{:?}", step.command);
            Ok(())
        })?;
    }

    /// Each phase was entered with the gates that it demands.
    #[test]
    fn no_phase_is_entered_past_a_closed_gate(moves in moves()) {
        walk_through(moves, |_, step| {
            let Ok(decision) = &step.result else { return Ok(()) };
            for event in &decision.events {
                let Event::PhaseEntered { phase, .. } = event else { continue };
                let before = step.before.feature.as_ref().expect("a phase is entered by a feature");
                let demanded: Vec<GateName> =
                    GateName::ALL.into_iter().filter(|gate| gate.phase() < *phase).collect();
                let closed = demanded.iter().find(|gate| !before.has_passed(**gate));
                prop_assert_eq!(closed, None, "{} was entered", phase);
                let is_passed = |status| status == CheckpointStatus::Passed;
                prop_assert!(
                    *phase < Phase::Pr || before.checkpoints.values().all(|it| is_passed(it.status))
                );
            }
            Ok(())
        })?;
    }

    /// A gate is passed by `gate pass` alone, and never by an agent's own word for the last one.
    #[test]
    fn a_gate_opens_only_by_evidence(moves in moves()) {
        walk_through(moves, |walk, step| {
            let Some(after) = &walk.state.feature else { return Ok(()) };
            let was_passed =
                |gate| step.before.feature.as_ref().is_some_and(|before| before.has_passed(gate));
            for pass in after.passes.iter().filter(|pass| !was_passed(pass.gate)) {
                match &step.command {
                    Command::PassGate { gate, .. } => prop_assert_eq!(*gate, pass.gate),
                    Command::ConfirmGate { gate, .. } => {
                        prop_assert_eq!(*gate, pass.gate);
                        prop_assert!(step.by.is_person());
                    }
                    Command::Adopt { .. } => prop_assert!(step.by.is_person()),
                    other => prop_assert!(false, "{:?} passed {}", other, pass.gate),
                }
                let counts = |piece: &Evidence| match piece {
                    Evidence::SelfReported { .. } => pass.gate != GateName::ReReviewClean,
                    Evidence::Check { .. } | Evidence::Review { .. } | Evidence::Human { .. } => true,
                    _ => false,
                };
                prop_assert!(pass.evidence.iter().any(counts), "{:?}", pass);
            }
            Ok(())
        })?;
    }

    /// Apart from `gate pass` and `advance`, nothing that an agent does leaves it more rights to
    /// commit, push or open a pull request; not even what a suspension hides for the moment.
    #[test]
    fn an_agent_cannot_gain_the_right_to_publish(moves in moves()) {
        walk_through(moves, |walk, step| {
            let may_gain =
                matches!(step.command, Command::PassGate { .. } | Command::Advance { .. });
            if step.by.is_person() || may_gain {
                return Ok(());
            }
            for settings in all_settings() {
                for by_gates in [false, true] {
                    let before = rights(&step.before, settings, by_gates);
                    let after = rights(&walk.state, settings, by_gates);
                    prop_assert!(
                        after.publishes_no_more_than(before),
                        "{:?} with {:?}: {:?} → {:?}", step.command, settings, before, after
                    );
                }
            }
            Ok(())
        })?;
    }

    /// Iterations count from 1 to the limit, and only a checkpoint that was begun has one.
    #[test]
    fn iterations_never_pass_the_limit(moves in moves()) {
        walk_through(moves, |walk, _| {
            if let Some(feature) = &walk.state.feature {
                for (id, each) in feature.checkpoints.iter() {
                    prop_assert!(each.iteration <= feature.max_iterations, "{}: {:?}", id, each);
                    let is_pending = each.status == CheckpointStatus::Pending;
                    prop_assert_eq!(is_pending, each.iteration == 0, "{}: {:?}", id, each);
                }
            }
            Ok(())
        })?;
    }

    /// The inbox holds a question for each escalated checkpoint and each gate that waits for a
    /// person, and no other.
    #[test]
    fn exactly_what_waits_for_a_person_is_in_the_inbox(moves in moves()) {
        walk_through(moves, |walk, _| {
            let asked: BTreeSet<String> =
                walk.inbox.open().iter().map(topic_of).collect();
            let checkpoints = walk.state.feature.iter().flat_map(|it| it.checkpoints.iter());
            let escalated = checkpoints
                .filter(|(_, each)| each.status == CheckpointStatus::Escalated)
                .map(|(id, _)| format!("checkpoint/{id}"));
            let gates = walk.state.feature.iter().flat_map(|it| it.waiting.iter());
            let gates = gates.map(|waiting| format!("gate/{}", waiting.gate));
            prop_assert_eq!(asked, escalated.chain(gates).collect::<BTreeSet<_>>());
            Ok(())
        })?;
    }

    /// A refusal is one line, and a rule's refusal names the command that comes next.
    #[test]
    fn a_refusal_says_what_comes_next(moves in moves()) {
        walk_through(moves, |walk, step| {
            let Err(rejected) = &step.result else { return Ok(()) };
            prop_assert_eq!(&walk.state, &step.before);
            prop_assert!(!rejected.message.is_empty() && !rejected.message.contains('\n'));
            prop_assert!(
                rejected.cause == Cause::Reserved || !rejected.next.is_empty(), "{:?}", rejected
            );
            Ok(())
        })?;
    }

    /// What comes next according to a workflow is never refused by it, once there is evidence.
    #[test]
    fn the_next_step_is_legal(moves in moves()) {
        let walk = walk_through(moves, |_, _| Ok(()))?;
        if let Some(feature) = &walk.state.feature {
            let line = match feature.next_step() {
                NextStep::StartFeature => "start chat".to_owned(),
                NextStep::Advance => "advance".to_owned(),
                NextStep::AdvanceWithCheckpoints => "advance cp-1".to_owned(),
                NextStep::GoBack => "back".to_owned(),
                NextStep::PassGate { gate } | NextStep::PassGateOrReport { gate } => {
                    format!("gate pass {gate}")
                }
                NextStep::StartCheckpoint { id } => format!("checkpoint start {id}"),
                NextStep::PassCheckpoint { id } => format!("checkpoint pass {id} checked"),
                NextStep::ReopenCheckpoint { id } => format!("checkpoint reopen {id}"),
                other => return Err(TestCaseError::fail(format!("{other} leads nowhere"))),
            };
            let result = walk.ask(&format!("person: {line}"));
            prop_assert!(result.is_ok(), "{}: {:?}", line, result);
        }
    }

    /// The file shows every state that can be reached, soundly, and comes back as it was.
    #[test]
    fn the_window_shows_every_state(moves in moves()) {
        walk_through(moves, |walk, _| {
            let Some(feature) = &walk.state.feature else { return Ok(()) };
            let shown = feature.render();
            prop_assert_eq!(shown.check(), []);
            let text = serde_json::to_string(&shown).unwrap();
            prop_assert_eq!(&serde_json::from_str::<WorkflowState>(&text).unwrap(), &shown);
            prop_assert_eq!(translate(&shown, &shown), Ok(Vec::new()));
            prop_assert_eq!(shown.difference(&shown), 0);
            Ok(())
        })?;
    }

    /// No edit is ever a gate, a phase or a passed checkpoint.
    #[test]
    fn an_edit_only_ever_works_on_checkpoints(
        base in moves(),
        other in moves(),
        rows in prop::collection::vec((0usize..5, statuses(), 0u32..5), 0..4),
        takes_over in any::<bool>(),
    ) {
        let shown = |moves| -> Result<_, TestCaseError> {
            Ok(walk_through(moves, |_, _| Ok(()))?.state.feature.map(|it| it.render()))
        };
        let (Some(base), Some(other)) = (shown(base)?, shown(other)?) else { return Ok(()) };
        let mut edited = if takes_over { other } else { base.clone() };
        for (at, status, iteration) in rows {
            let id = edited.checkpoints.keys().nth(at).cloned();
            let row = id.and_then(|id| edited.checkpoints.get_mut(&id));
            if let Some(row) = row {
                *row = CheckpointRow { status, iteration };
            }
        }
        for command in translate(&base, &edited).unwrap_or_default() {
            prop_assert!(
                matches!(&command, Command::Checkpoint { step, .. }
                    if !matches!(step, CheckpointStep::Pass { .. })),
                "{:?}", command
            );
        }
    }
}

fn statuses() -> impl Strategy<Value = CheckpointStatus> {
    select(vec![
        CheckpointStatus::Pending,
        CheckpointStatus::InProgress,
        CheckpointStatus::Passed,
        CheckpointStatus::Escalated,
    ])
}

/// Properties say nothing about states that no walk reaches.
#[test]
fn random_walks_reach_every_phase_and_every_event() {
    let config = ProptestConfig { rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let (mut phases, mut events) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1_000 {
        let moves = moves().new_tree(&mut runner).unwrap().current();
        walk_through(moves, |walk, step| {
            phases.extend(walk.state.feature.as_ref().map(|feature| feature.phase));
            events.extend(step.result.iter().flat_map(|it| &it.events).map(Workflow::event_kind));
            Ok(())
        })
        .unwrap();
    }
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), Phase::ALL);
    assert_eq!(events.len(), 17, "{events:?}");
}

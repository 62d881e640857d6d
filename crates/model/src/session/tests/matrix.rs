//! Every command in every state, as a page to read.

use super::{
    apart::{APART, all_joined, task_done},
    *,
};
use crate::matrix::{Matrix, command_variants, outcome};

command_variants!(
    Command: Start, TakeOver, Request, Plan, Design, Judge, Override, SetApart, PlaceTask, JoinTask,
    Land, CloseTrees, FailCall, EndCall, Retry,
    Resume, GoOn, Rename, Amend, Relocate, Stop, Complete
);

const LINES: [&str; 47] = [
    "start",
    "take",
    "request list",
    "instead list",
    "plan p h",
    "plan q hw",
    "plan q hhw",
    "design T1 d",
    "design T1 d2",
    "design T2 d",
    "judge T1-S1 1 ok x",
    "judge T1-S1 1 bad x",
    "judge T1-S1 3 ok w",
    "judge T1-S1 3 ok x",
    "judge T1-S1 3 bad x",
    "judge T1-S1 3 open x",
    "judge T1-S1 4 bad x",
    "judge T1-S1 2 ok w r",
    "judge T1-S1 2 ok x r",
    "judge T1-S1 2 bad w r",
    "judge T1-S1 2 implementation_error w r",
    "judge T1-S1 2 test_error w r",
    "judge T1-S1 2 design_violation w r",
    "judge T9-S9 1 ok x",
    "override T1-S1 1 why",
    "person: override T1-S1 1 why",
    "person: override T1-S1 2 why",
    "apart main",
    "place T1 c",
    "place T2 c",
    "join T1 c",
    "join T1 bad",
    "land c",
    "land bad",
    "close",
    "waypost: retry landing",
    "failcall design/T1",
    "endcall design/T1",
    "person: retry gate/T1-S1/GATE-3",
    "retry gate/T1-S1/GATE-3",
    "resume",
    "resume plan",
    "resume T1",
    "resume T1-S1",
    "goon",
    "rename basket",
    "amend cart",
];

const ENDS: [&str; 3] = ["relocate", "stop", "complete"];

fn states() -> Vec<(&'static str, String)> {
    let held =
        format!("{IMPLEMENTATION}; judge T1-S1 3 bad a; judge T1-S1 3 bad b; judge T1-S1 3 bad c");
    let redesign = format!("{IMPLEMENTATION}; judge T1-S1 3 ok a; judge T1-S1 4 bad a");
    let called = "failcall design/T1; failcall design/T1; failcall design/T1; failcall design/T1";
    vec![
        ("nothing", String::new()),
        ("a session", "start".into()),
        ("a request in discovery", REQUESTED.into()),
        ("a plan that was sent back", format!("{REQUESTED}; plan q w")),
        ("a task in design", PLANNED.into()),
        ("a task in design, its architect out of tries", format!("{PLANNED}; {called}")),
        ("a subtask in test_first", TEST_FIRST.into()),
        ("a subtask in implementation", IMPLEMENTATION.into()),
        ("a subtask in implementation, GATE-3 out of tries", held),
        ("a subtask in verification", VERIFICATION.into()),
        ("a subtask that waits for a new design", redesign),
        ("a request that is complete", whole()),
        ("a request with work trees, its task without one", APART.into()),
        ("a request with work trees, its task done", task_done()),
        ("a request with work trees, joining held", format!("{}; join T1 bad", task_done())),
        ("a request with work trees, all tasks joined", all_joined()),
        ("a request with work trees, landing held", format!("{}; land bad", all_joined())),
        ("a request with work trees, landed", format!("{}; land c", all_joined())),
        ("a session that was stopped", format!("{TEST_FIRST}; stop")),
        ("a session that is completed", format!("{}; complete", whole())),
    ]
}

fn event_line(event: &Event) -> String {
    let more = match event {
        Event::RequestMade { request, .. }
        | Event::SetApart { request, .. }
        | Event::RequestLanded { request, .. }
        | Event::TreesClosed { request }
        | Event::RequestStopped { request }
        | Event::RequestCompleted { request } => format!(" {request}"),
        Event::TaskBegun { task }
        | Event::Designed { task, .. }
        | Event::DesignReopened { task, .. }
        | Event::DesignLost { task }
        | Event::TaskPlaced { task, .. }
        | Event::TaskJoined { task, .. }
        | Event::TaskCompleted { task } => format!(" {task}"),
        Event::SubtaskBegun { subtask, .. }
        | Event::SubtaskResumed { subtask }
        | Event::TestsLost { subtask }
        | Event::SubtaskCompleted { subtask } => format!(" {subtask}"),
        Event::PhaseMoved { subtask, to } => {
            format!(" {subtask} to {}", judging::phase_word(*to))
        }
        Event::GatePassed { gate, .. }
        | Event::GateLeftOpen { gate, .. }
        | Event::GateOverridden { gate, .. } => format!(" {gate}"),
        Event::GateFailed { gate, not_before, .. } => match not_before {
            Some(at) => format!(" {gate}, again at {at}"),
            None => format!(" {gate}"),
        },
        Event::CallFailed { call, .. } | Event::CallEnded { call } => format!(" {call}"),
        Event::Escalated { hold, .. } | Event::Retried { hold } => format!(" {hold}"),
        _ => String::new(),
    };
    format!("{}{more}", Session::event_kind(event))
}

#[test]
fn every_command_has_an_answer_in_every_state() {
    let mut matrix = Matrix::default();
    for (name, script) in states() {
        matrix.state(name);
        let walk = Walk::of(&script);
        for line in LINES.iter().chain(&ENDS) {
            let told = outcome(&walk.ask(line), event_line);
            matrix.row((line, 40), variant_of(&parse(line).1), &told);
        }
    }
    insta::assert_snapshot!("states_by_commands", matrix.page);
    Matrix::assert_shows_all(&[matrix], VARIANTS);
}

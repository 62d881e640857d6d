//! Children that are spoken with: what they hear, what they say, and engines that change meanwhile.

use crate::site::{CHAOS, Site, end, plain, reports, run, until, words};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Resource, Rlimit, prlimit},
};
use std::{fs, path::PathBuf, time::Duration};
use waypost_proc::{
    Ended, Found, How, INPUT_SIZE_MAX, Keeper, ProcError, Program, Refusal, Report, Spec, Stop,
    Talk, find,
};

const STREAM_SIZE: u64 = 64 << 20;

fn stream(site: &Site, id: &str) -> PathBuf {
    site.folder.path().join(format!("streams/{id}"))
}

fn said(site: &Site, id: &str) -> Vec<u8> {
    fs::read(stream(site, id)).unwrap_or_default()
}

fn talk(site: &Site, id: &str) -> Talk {
    let stream = stream(site, id);
    Talk { stream, stream_size: STREAM_SIZE, opening: Vec::new(), is_all: false }
}

/// A child that runs a text and is spoken with.
fn talker(site: &Site, id: &str, text: &str) -> Spec {
    Spec { talk: Some(talk(site, id)), ..site.shell(id, text) }
}

/// The end of a child that said `output` bytes on its stdout, and `tail` on its stderr.
fn spoken(how: How, output: usize, tail: &[u8], ended: &Ended) -> Ended {
    Ended { output: (output + tail.len()) as u64, ..plain(how, tail, ended) }
}

/// Every byte, and nothing that compresses into a pattern of the pieces in which it travels.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn adopt(site: &Site) -> Keeper {
    match find(&site.keepers()).unwrap().pop() {
        Some(Found::Alive(keeper)) => keeper,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_said_is_heard_in_order_until_the_end() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = talker(&site, "T1", "cat");
    spec.talk.as_mut().unwrap().opening = b"first \xff\0\n".to_vec();
    keeper.spawn(vec![spec]).unwrap();
    let mut want = b"first \xff\0\n".to_vec();
    for number in 0..100 {
        let line = format!("{number} 한\n");
        keeper.say("T1", line.as_bytes()).unwrap();
        want.extend(line.as_bytes());
    }
    until(|| said(&site, "T1") == want);
    keeper.hang_up("T1").unwrap();
    keeper.say("T1", b"too late").unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, spoken(How::Exited(0), want.len(), b"", &ended));
    assert_eq!(said(&site, "T1"), want);
    keeper.say("T1", b"gone").unwrap();
    keeper.hang_up("T1").unwrap();
    keeper.say("never", b"there").unwrap();
    keeper.close().unwrap();
}

/// Waits until there is something to read from a keeper.
fn until_readable(keeper: &Keeper) {
    until(|| {
        let mut sources = [PollFd::new(keeper, PollFlags::IN)];
        poll(&mut sources, Some(&Timespec::default())).unwrap() > 0
    });
}

#[test]
fn what_a_child_says_wakes_its_engine_and_is_no_report() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![talker(&site, "T1", "cat")]).unwrap();
    assert_eq!(reports(&keeper, 1).len(), 1);
    for number in 0..3 {
        keeper.say("T1", b"word\n").unwrap();
        until_readable(&keeper);
        assert_eq!(said(&site, "T1"), b"word\n".repeat(number + 1));
        assert_eq!(keeper.news().unwrap(), Some(Vec::new()));
        assert_eq!(keeper.news().unwrap(), None);
    }
    keeper.hang_up("T1").unwrap();
    end(&keeper, "T1");
    keeper.close().unwrap();
}

#[test]
fn an_opening_can_be_all_there_is() {
    let site = Site::new();
    let keeper = site.keeper();
    for (id, opening) in [("none", vec![]), ("short", b"text".to_vec()), ("long", noise(3 << 20))] {
        let mut spec = talker(&site, id, "cat");
        spec.talk = Some(Talk { opening: opening.clone(), is_all: true, ..talk(&site, id) });
        let ended = run(&keeper, spec);
        assert_eq!(ended, spoken(How::Exited(0), opening.len(), b"", &ended), "{id}");
        assert!(stream(&site, id).exists() && said(&site, id) == opening, "{id}");
    }
}

#[test]
fn stderr_is_kept_apart() {
    let site = Site::new();
    let keeper = site.keeper();
    let ended = run(&keeper, talker(&site, "T1", "echo out; echo err >&2; exit 3"));
    assert_eq!(ended, spoken(How::Exited(3), 4, b"err\n", &ended));
    assert_eq!(said(&site, "T1"), b"out\n");
    assert_eq!(site.text("T1"), "err\n");
}

#[test]
fn bytes_are_said_as_they_are() {
    let site = Site::new();
    let keeper = site.keeper();
    let spec = Spec { talk: Some(talk(&site, "T1")), ..site.chaos("T1", &["bytes"]) };
    let mut want: Vec<u8> = (0..=255).collect();
    want.extend(b"\x1b[31mred\x1b[0m \xed\xa0\x80 \xf0\x9f \0 \r\n\xe2");
    let ended = run(&keeper, spec);
    assert_eq!(ended, spoken(How::Exited(0), want.len(), b"", &ended));
    assert_eq!(said(&site, "T1"), want);
}

/// Reads nothing before there is a `gate`, and then in small pieces.
const SLOW: &str = "while [ ! -e gate ]; do sleep 0.01; done; dd bs=3000 status=none";

fn open_gate(site: &Site) {
    drop(fs::File::create(site.folder.path().join("gate")).unwrap());
}

#[test]
fn serial_a_slow_reader_gets_all_of_it_though_the_engine_is_gone() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.spawn(vec![talker(&site, "T1", SLOW)]).unwrap();
    reports(&keeper, 1);
    let want = noise(8 << 20);
    for piece in want.chunks(1_000_003) {
        keeper.say("T1", piece).unwrap();
    }
    keeper.hang_up("T1").unwrap();
    drop(keeper);
    open_gate(&site);
    let keeper = adopt(&site);
    let ended = end(&keeper, "T1");
    assert_eq!(ended, spoken(How::Exited(0), want.len(), b"", &ended));
    assert!(said(&site, "T1") == want);
}

#[test]
fn a_new_engine_goes_on_with_the_same_conversation() {
    let site = Site::new();
    let mut keeper = site.keeper();
    keeper.spawn(vec![talker(&site, "T1", "cat")]).unwrap();
    reports(&keeper, 1);
    let mut want = Vec::new();
    for number in 0..20 {
        let line = format!("{number}\n").into_bytes();
        keeper.say("T1", &line).unwrap();
        want.extend(line);
        // In turns: the earlier one is gone, or still there and merely replaced.
        let next = if number % 2 == 0 {
            drop(keeper);
            adopt(&site)
        } else {
            adopt(&site)
        };
        let told = next.next(Duration::from_secs(60)).unwrap();
        assert!(matches!(&told[..], [Report::Started { id, .. }] if id == "T1"), "{told:?}");
        keeper = next;
    }
    keeper.hang_up("T1").unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, spoken(How::Exited(0), want.len(), b"", &ended));
    assert_eq!(said(&site, "T1"), want);
}

#[test]
fn one_that_waits_for_its_turn_hears_what_was_said_meanwhile() {
    let site = Site::new();
    let keeper = site.keeper();
    keeper.set_slots(1).unwrap();
    let mut second = talker(&site, "second", "cat");
    second.talk.as_mut().unwrap().opening = b"one ".to_vec();
    let third = talker(&site, "third", "cat");
    keeper.spawn(vec![talker(&site, "first", "cat"), second, third]).unwrap();
    keeper.say("second", b"two ").unwrap();
    keeper.say("second", b"three").unwrap();
    keeper.hang_up("second").unwrap();
    keeper.say("second", b"four").unwrap();
    keeper.say("third", &vec![0; INPUT_SIZE_MAX]).unwrap();
    keeper.say("third", b"x").unwrap();
    let told = reports(&keeper, 2);
    let detail = "more was said to it than is held for it".into();
    let refused = Report::Refused { id: "third".into(), why: Refusal::Impossible { detail } };
    assert!(told.contains(&refused), "{told:?}");
    keeper.hang_up("first").unwrap();
    assert_eq!(end(&keeper, "second").how, How::Exited(0));
    assert_eq!(said(&site, "second"), b"one two three");
}

#[test]
fn one_that_closes_its_input_does_no_harm() {
    let site = Site::new();
    let keeper = site.keeper();
    let text = "exec 0<&-; echo closed; while [ ! -e gate ]; do sleep 0.01; done; exit 6";
    keeper.spawn(vec![talker(&site, "T1", text)]).unwrap();
    until(|| said(&site, "T1") == b"closed\n");
    for _ in 0..3 {
        keeper.say("T1", &noise(INPUT_SIZE_MAX)).unwrap();
    }
    keeper.hang_up("T1").unwrap();
    open_gate(&site);
    let ended = end(&keeper, "T1");
    assert_eq!(ended, spoken(How::Exited(6), 7, b"", &ended));
}

#[test]
fn one_that_reads_nothing_is_ended_when_too_much_waits_for_it() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.chaos("T1", &["stay"]);
    spec.talk = Some(talk(&site, "T1"));
    keeper.spawn(vec![spec]).unwrap();
    let too_long = keeper.say("T1", &vec![0; INPUT_SIZE_MAX + 1]);
    assert!(matches!(too_long, Err(ProcError::TooLong { .. })), "{too_long:?}");
    keeper.say("T1", &vec![0; INPUT_SIZE_MAX]).unwrap();
    keeper.say("T1", &vec![0; INPUT_SIZE_MAX / 2]).unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, spoken(How::Deaf, ended.output as usize, b"", &ended));
    site.assert_nothing_lives();
}

#[test]
fn serial_one_that_says_too_much_is_ended() {
    let site = Site::new();
    let keeper = site.keeper();
    // One that goes on for ever, and one that is over before it can be stopped.
    for (id, text) in [("ever", "yes"), ("once", "head -c 100001 /dev/zero")] {
        let mut spec = talker(&site, id, text);
        spec.talk = Some(Talk { stream_size: 100_000, ..talk(&site, id) });
        let ended = run(&keeper, spec);
        let dropped = ended.output - 100_000;
        assert!(dropped > 0, "{ended:?}");
        let want = spoken(How::Flooded, ended.output as usize, b"", &ended);
        assert_eq!(ended, Ended { dropped, ..want });
        assert_eq!(said(&site, id).len(), 100_000);
    }
    let mut spec = talker(&site, "exact", "head -c 100000 /dev/zero");
    spec.talk = Some(Talk { stream_size: 100_000, ..talk(&site, "exact") });
    let ended = run(&keeper, spec);
    assert_eq!(ended, spoken(How::Exited(0), 100_000, b"", &ended));
}

#[test]
fn serial_either_output_and_being_spoken_to_count_against_a_stall() {
    let site = Site::new();
    let keeper = site.keeper();
    let loops = "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; TALK; done";
    for (id, word, how) in [
        ("out", "echo x", How::Exited(0)),
        ("err", "echo x >&2", How::Exited(0)),
        ("neither", "true", How::Stalled),
    ] {
        let mut spec = talker(&site, id, &loops.replace("TALK", word));
        spec.limits.stall = Some(Duration::from_millis(500));
        assert_eq!(run(&keeper, spec).how, how, "{id}");
    }
    let mut spec = talker(&site, "told", "cat > /dev/null");
    spec.limits.stall = Some(Duration::from_millis(500));
    keeper.spawn(vec![spec]).unwrap();
    for number in 0..8 {
        run(&keeper, site.shell(&format!("other{number}"), "sleep 0.1"));
        keeper.say("told", b"x").unwrap();
    }
    keeper.hang_up("told").unwrap();
    assert_eq!(end(&keeper, "told").how, How::Exited(0));
}

#[test]
fn a_stream_that_cannot_be_made_refuses_its_child() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = talker(&site, "T1", "touch begun");
    keeper.spawn(vec![spec.clone()]).unwrap();
    end(&keeper, "T1");
    fs::remove_file(site.folder.path().join("begun")).unwrap();
    spec.id = "T2".into();
    let mut nowhere = Spec { id: "T3".into(), ..spec.clone() };
    nowhere.talk = Some(Talk { stream: "/proc/none/stream".into(), ..talk(&site, "T3") });
    // One that cannot be started leaves no stream in the way of another try.
    let program = Program::Argv(words(&["no-such-program"]));
    let absent = Spec { talk: Some(talk(&site, "T4")), ..site.spec("T4", program) };
    keeper.spawn(vec![spec, nowhere, absent]).unwrap();
    for told in reports(&keeper, 3) {
        assert!(
            matches!(&told, Report::Refused { why: Refusal::Impossible { .. }, .. }),
            "{told:?}"
        );
    }
    assert!(!site.folder.path().join("begun").exists());
    assert!(!stream(&site, "T4").exists());
}

#[test]
fn serial_a_paused_child_stands_still_and_hears_it_later() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.chaos("T1", &["echo"]);
    spec.talk = Some(talk(&site, "T1"));
    keeper.spawn(vec![spec]).unwrap();
    keeper.say("T1", b"one ").unwrap();
    until(|| said(&site, "T1") == b"one ");
    keeper.pause("T1").unwrap();
    until(|| site.states() == ['T']);
    keeper.say("T1", b"two").unwrap();
    keeper.hang_up("T1").unwrap();
    run(&keeper, site.shell("other", "sleep 0.1"));
    assert_eq!((site.states(), said(&site, "T1")), (vec!['T'], b"one ".to_vec()));
    keeper.resume("T1").unwrap();
    assert_eq!(end(&keeper, "T1").how, How::Exited(0));
    assert_eq!(said(&site, "T1"), b"one two");
}

#[test]
fn serial_a_full_disk_holds_the_child_and_loses_nothing() {
    let site = Site::new();
    // No file of this keeper may grow beyond 64 KB, until that limit is lifted.
    let script = r#"trap "" XFSZ; ulimit -S -f 128; exec "$0" "$@""#;
    let program = words(&["sh", "-c", script, CHAOS, "keeper"]);
    let keeper = Keeper::start(&site.keepers(), &program).unwrap();
    let mut spec = talker(&site, "T1", "cat; touch done");
    spec.limits.stall = Some(Duration::from_secs(1));
    spec.talk = Some(Talk { opening: noise(1 << 20), is_all: true, ..talk(&site, "T1") });
    // A short one is over when the disk is full, but its end is not told before all is written.
    let mut short = talker(&site, "T2", "cat");
    short.talk = Some(Talk { opening: noise(70_000), is_all: true, ..talk(&site, "T2") });
    keeper.spawn(vec![spec, short]).unwrap();
    reports(&keeper, 2);
    until(|| ["T1", "T2"].iter().all(|id| said(&site, id).len() == 64 << 10));
    // Longer than the stall limit: the silence is not the child's.
    run(&keeper, site.shell("other", "sleep 1.5"));
    assert_eq!(keeper.next(Duration::ZERO).unwrap(), []);
    assert!(!site.folder.path().join("done").exists());
    let pid = Pid::from_raw(keeper.process().unwrap().pid.cast_signed());
    prlimit(pid, Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
    let mut ends = Vec::new();
    while ends.len() < 2 {
        for told in keeper.next(Duration::from_secs(60)).unwrap() {
            let Report::Ended { id, ended } = told else { panic!("{told:?}") };
            ends.push((id, ended));
        }
    }
    ends.sort_by(|a, b| a.0.cmp(&b.0));
    for ((id, ended), length) in ends.iter().zip([1 << 20, 70_000]) {
        assert_eq!(*ended, spoken(How::Exited(0), length, b"", ended), "{id}");
        assert!(said(&site, id) == noise(length), "{id}");
    }
    assert!(site.folder.path().join("done").exists());
}

#[test]
fn a_conversation_can_be_stopped() {
    let site = Site::new();
    let keeper = site.keeper();
    let mut spec = site.chaos("T1", &["tree"]);
    spec.talk = Some(talk(&site, "T1"));
    keeper.spawn(vec![spec]).unwrap();
    until(|| said(&site, "T1") == b"up\n".repeat(5));
    keeper.stop("T1", Stop::Asked).unwrap();
    let ended = end(&keeper, "T1");
    assert_eq!(ended, Ended { forced: true, ..spoken(How::Stopped, 15, b"", &ended) });
    site.assert_nothing_lives();
}

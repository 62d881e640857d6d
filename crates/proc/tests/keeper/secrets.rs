//! What a child was given as secret: it may use it, and none of its output keeps it.

use crate::site::{Site, end, run, until};
use std::{fs, path::Path};
use waypost_proc::{How, Spec, Stop, Talk};
use waypost_redact::Secret;

const CANARY: &str = "canary-4711-\"secret\"";

fn given(spec: Spec) -> Spec {
    let mut environment = spec.environment.clone();
    environment.push(("CANARY".to_owned(), CANARY.to_owned()));
    Spec { environment, secrets: vec![Secret::from(CANARY)], ..spec }
}

fn talker(site: &Site, id: &str, text: &str) -> Spec {
    let stream = site.folder.path().join(format!("streams/{id}"));
    let talk = Talk { stream, stream_size: 1 << 20, opening: Vec::new(), is_all: false };
    Spec { talk: Some(talk), ..given(site.shell(id, text)) }
}

fn stream(site: &Site, id: &str) -> String {
    fs::read_to_string(site.folder.path().join(format!("streams/{id}"))).unwrap_or_default()
}

/// All files of a site, the keeper's own among them.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

#[track_caller]
fn assert_kept_nowhere(site: &Site) {
    for (name, text) in files(site.folder.path()) {
        for part in ["canary-4711", "Y2FuYXJ5LTQ3MTEt", "63616e6172792d34"] {
            assert!(!text.contains(part), "{name} has {part}: {text}");
        }
    }
}

#[test]
fn logs_tails_and_spools_have_a_mark_in_its_place() {
    let site = Site::new();
    let keeper = site.keeper();
    let text = "printf 'a %s b\\n' \"$CANARY\"; printf '%s' \"$CANARY\" | base64; \
                printf '%s' \"$CANARY\" | od -An -v -tx1 | tr -d ' \\n'; printf canary-; \
                printf '4711-\"secret\" end'";
    let ended = run(&keeper, given(site.shell("T1", text)));
    let log = site.text("T1");
    assert_eq!(ended.how, How::Exited(0));
    assert!(
        log.starts_with("a [redacted] b\n[redacted]") && log.ends_with("[redacted] end"),
        "{log}"
    );
    assert_eq!(ended.tail, log.as_bytes());
    assert_eq!(ended.output, log.len() as u64);
    assert_kept_nowhere(&site);
    keeper.close().unwrap();
}

#[test]
fn streams_are_told_by_whole_lines_that_stay_json() {
    let site = Site::new();
    let keeper = site.keeper();
    let text = "read go; printf '{\"text\":\"canary-47'; read go; \
                printf '11-\\\\\"secret\\\\\"\",\"n\":1}\\n{\"half\":'; read go; echo 2}; read go";
    keeper.spawn(vec![talker(&site, "T1", text)]).unwrap();
    keeper.say("T1", b"go\n").unwrap();
    keeper.say("T1", b"go\n").unwrap();
    until(|| !stream(&site, "T1").is_empty());
    assert_eq!(stream(&site, "T1"), "{\"text\":\"[redacted]\",\"n\":1}\n");
    keeper.say("T1", b"go\n").unwrap();
    let whole = "{\"text\":\"[redacted]\",\"n\":1}\n{\"half\":2}\n";
    until(|| stream(&site, "T1") == whole);
    keeper.stop("T1", Stop::Asked).unwrap();
    let ended = end(&keeper, "T1");
    // What is counted is what the file has, so that places in it mean the same to every reader.
    assert_eq!((ended.stopped_at, ended.output), (Some(whole.len() as u64), whole.len() as u64));
    assert_kept_nowhere(&site);
    keeper.close().unwrap();
}

#[test]
fn what_is_cut_off_in_the_middle_is_not_kept_either() {
    let site = Site::new();
    let keeper = site.keeper();
    let spec = talker(&site, "T1", "printf 'last words canary-4711-'; kill -9 $$");
    let ended = run(&keeper, spec);
    assert_eq!(ended.how, How::Signalled(9));
    assert_eq!(stream(&site, "T1"), "last words [redacted]");
    assert_kept_nowhere(&site);
    keeper.close().unwrap();
}

#[test]
fn the_keeper_itself_shows_nothing_to_other_processes() {
    let site = Site::new();
    let keeper = site.keeper();
    let pid = keeper.process().unwrap().pid;
    keeper.spawn(vec![talker(&site, "T1", "echo up; read go")]).unwrap();
    until(|| stream(&site, "T1") == "up\n");
    for name in ["environ", "cmdline"] {
        let shown = fs::read(format!("/proc/{pid}/{name}")).unwrap();
        assert!(!String::from_utf8_lossy(&shown).contains("canary-4711"), "{name}");
    }
    keeper.hang_up("T1").unwrap();
    end(&keeper, "T1");
    assert_kept_nowhere(&site);
    keeper.close().unwrap();
}

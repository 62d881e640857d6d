//! Every command of `commands.txt` gets the verdict that stands before it.

mod world;

use world::{judged, verdict};

#[test]
fn every_command_has_its_verdict() {
    let lines = include_str!("commands.txt").lines().zip(1..);
    let cases = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    let mut count = 0;
    for (line, number) in cases {
        let (want, command) = line.split_once('|').expect("a verdict and a command");
        let deed = judged(&command.trim_start().replace('⏎', "\n"));
        let got = verdict(&deed);
        count += 1;
        if got != want.trim() {
            wrong.push(format!("line {number}: {command}\n  want {want}\n  got  {got}: {deed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} are wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 250, "only {count} commands are left");
}

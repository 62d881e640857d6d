//! Runs the commands that prove something: a gate's check, a checkpoint's validation.

use crate::error::{EngineError, Problem};
use std::{
    io::{self, Read as _},
    path::Path,
    process::{Command, Stdio},
};
use waypost_model::code::Code;

/// How much of a check's output is kept for comparing with what was expected.
const OUTPUT_KEPT_MAX: usize = 1 << 20;

/// What became of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckResult {
    pub(crate) passed: bool,
    /// How it ended, in words.
    pub(crate) outcome: String,
    /// The last part of what it printed.
    pub(crate) output: Vec<u8>,
}

/// Runs `command` with the shell in `folder`; what it prints is also passed on to `echo`.
///
/// It has no standard input, and both of its outputs are read as one.
#[expect(clippy::disallowed_methods, reason = "checks are the one kind of process started so far")]
pub(crate) fn run(
    command: &str,
    folder: &Path,
    echo: &mut dyn io::Write,
) -> Result<CheckResult, EngineError> {
    let cannot = |error: io::Error| {
        EngineError::from(
            Problem::new(Code::CannotStart, format!("cannot run `{command}`")).because(error),
        )
    };
    let (mut reader, writer) = io::pipe().map_err(cannot)?;
    let mut child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(cannot)?)
        .stderr(writer)
        .spawn()
        .map_err(cannot)?;
    let mut output = Vec::new();
    let mut chunk = [0u8; 8192];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                // A reader that has gone is no reason to stop the check.
                let _unheard = echo.write_all(&chunk[..count]);
                keep(&mut output, &chunk[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot(error)),
        }
    }
    let status = child.wait().map_err(cannot)?;
    Ok(CheckResult { passed: status.success(), outcome: status.to_string(), output })
}

/// Keeps the end of the output, in bounded memory.
fn keep(output: &mut Vec<u8>, chunk: &[u8]) {
    output.extend_from_slice(chunk);
    if output.len() > 2 * OUTPUT_KEPT_MAX {
        output.drain(..output.len() - OUTPUT_KEPT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_passes_by_its_exit_code_alone() {
        let folder = std::env::temp_dir();
        let mut heard = Vec::new();
        let good = run("echo fine; echo also >&2", &folder, &mut heard).unwrap();
        assert!(good.passed);
        assert_eq!(good.output, b"fine\nalso\n");
        assert_eq!(heard, good.output);
        let bad = run("echo fine; exit 3", &folder, &mut Vec::new()).unwrap();
        assert!(!bad.passed);
        assert_eq!(bad.outcome, "exit status: 3");
    }
}

//! The two tools that really do something: a file is written, a command is run.

use super::script::is_below;
use super::voice::Outcome;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// As much output of a command as an agent is shown.
const OUTPUT_BYTES_MAX: u64 = 30_000;

/// How long the output of a command is waited for that has ended: something that it left behind
/// may hold the pipe open for ever.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);

/// Writes a text into a file below the folder.
pub(super) fn write(folder: &Path, file: &str, text: &str, is_appended: bool) -> Outcome {
    match try_write(folder, file, text, is_appended) {
        Ok(()) => Outcome::ok(format!("File written: {file}")),
        Err(error) => Outcome::error(format!("cannot write {file}: {error}")),
    }
}

fn try_write(folder: &Path, file: &str, text: &str, is_appended: bool) -> io::Result<()> {
    // Placeholders may have changed what the script was checked for.
    if !is_below(Path::new(file)) {
        return Err(io::Error::other("it is not below the working folder"));
    }
    let path = folder.join(file);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(is_appended).write(true).truncate(!is_appended);
    options.open(path)?.write_all(text.as_bytes())
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    output: Receiver<Vec<u8>>,
}

impl Running {
    /// Starts a command in a process group of its own, so that it can be stopped as a whole.
    pub(super) fn start(command: &str, folder: &Path) -> io::Result<Self> {
        let (mut reader, writer) = io::pipe()?;
        #[expect(clippy::disallowed_methods, reason = "an agent runs what its script says")]
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(folder).process_group(0);
        shell.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = shell.spawn()?;
        let (sender, output) = sync_channel(1);
        thread::spawn(move || {
            let mut kept = Vec::new();
            // What cannot be read is not shown; the rest is read so that the command can go on.
            let _kept = reader.by_ref().take(OUTPUT_BYTES_MAX).read_to_end(&mut kept);
            let is_full = kept.len() as u64 == OUTPUT_BYTES_MAX;
            if is_full {
                let _drained = io::copy(&mut reader, &mut io::sink());
            }
            let _unheard = sender.send(kept);
        });
        Ok(Self { child, output })
    }

    /// What came of it, once it has ended.
    pub(super) fn poll(&mut self) -> io::Result<Option<Outcome>> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        let kept = self.output.recv_timeout(OUTPUT_WAIT).unwrap_or_default();
        let code =
            status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        let code = u8::try_from(code).unwrap_or(u8::MAX);
        Ok(Some(Outcome { output: String::from_utf8_lossy(&kept).into_owned(), code }))
    }

    pub(super) fn kill(mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // A group that is gone needs no end.
        let _gone = pid.map(|pid| kill_process_group(pid, Signal::KILL));
        let _reaped = self.child.wait();
    }
}

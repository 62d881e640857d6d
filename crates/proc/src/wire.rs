//! What engine and keeper say to each other: lines of JSON over a Unix socket.
//!
//! The engine begins with [`Request::Hello`]; the keeper answers with one [`Welcome`] and from
//! then on sends its spool from the place that was asked for, byte by byte. So there is one format
//! for what is told and for what is kept, and nothing is told that is not kept. An engine that asks
//! for it is sent an empty line whenever a child that is spoken with has said something: what it
//! said is in its stream, and the line says nothing but that it is worth a look.

use crate::{error::ProcError, octets, spec::Lease, spec::Spec, spec::Stop};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub(crate) const VERSION: u32 = 2;
/// An environment of the largest size that Linux takes fits, a runaway writer does not.
pub(crate) const LINE_LENGTH_MAX: usize = 8 << 20;
/// A line with nothing in it: a child has said something.
pub(crate) const NUDGE: u8 = b'\n';
/// How much input one line carries; as JSON it may become six times as long.
const PIECE_SIZE: usize = 256 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    Hello {
        version: u32,
        from: u64,
        /// Whether it wants an empty line whenever a child has said something.
        #[serde(default)]
        nudges: bool,
        /// Whether it renews leases; where it does not, there are none from now on.
        #[serde(default)]
        leases: bool,
    },
    /// How many children may run at once; 0: any number.
    Slots(usize),
    Spawn(Box<Spec>),
    Stop {
        id: String,
        why: Stop,
    },
    Pause {
        id: String,
    },
    Resume {
        id: String,
    },
    /// Stands before the opening of the next [`Self::Spawn`], or the input of the next
    /// [`Self::Say`]. Without that it is nothing: half a message is worse than none.
    Piece(#[serde(with = "octets::bytes")] Vec<u8>),
    Say {
        id: String,
        #[serde(with = "octets::bytes")]
        input: Vec<u8>,
    },
    HangUp {
        id: String,
    },
    /// Only to a keeper that knows it: see [`Welcome::leases`].
    Renew {
        id: String,
        lease: Lease,
    },
}

/// The keeper's first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Welcome {
    pub(crate) version: u32,
    /// How long the spool is now; what stands before it is the past.
    pub(crate) spool: u64,
    /// Whether it tells that a child has said something; those before did not.
    #[serde(default)]
    pub(crate) nudges: bool,
    /// Whether it knows leases; those before did not.
    #[serde(default)]
    pub(crate) leases: bool,
}

pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(128);
    write_line(&mut line, value);
    line
}

pub(crate) fn write_line(to: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *to, value).expect("these are plain data and memory takes them");
    to.push(b'\n');
}

/// Writes all of a long input but its last piece, and returns that.
pub(crate) fn write_pieces<'a>(to: &mut Vec<u8>, input: &'a [u8]) -> &'a [u8] {
    let mut rest = input;
    while let Some((piece, after)) = rest.split_at_checked(PIECE_SIZE)
        && !after.is_empty()
    {
        write_line(to, &Request::Piece(piece.to_vec()));
        rest = after;
    }
    rest
}

/// Bytes that come in pieces, and the lines in them.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// What stands before it was taken already.
    taken: usize,
    /// What stands before it has no line end, so a long line is searched only once.
    searched: usize,
}

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.searched -= self.taken;
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes were pushed and not taken.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The next whole line that is not empty; `None`: not there yet.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ProcError> {
        while self.taken == self.searched && self.bytes.get(self.taken) == Some(&NUDGE) {
            (self.taken, self.searched) = (self.taken + 1, self.taken + 1);
        }
        let Some(length) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n')
        else {
            self.searched = self.bytes.len();
            if self.bytes.len() - self.taken > LINE_LENGTH_MAX {
                return Err(ProcError::protocol("received a line that is too long"));
            }
            return Ok(None);
        };
        let end = self.searched + length;
        let line = &self.bytes[self.taken..end];
        let value = serde_json::from_slice(line)
            .map_err(|e| ProcError::protocol(format!("received a line that is not ours: {e}")));
        (self.taken, self.searched) = (end + 1, end + 1);
        value.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Ended, How, Report};
    use proptest::prelude::*;

    fn report(tail: Vec<u8>) -> Report {
        let ended = Ended {
            how: How::Exited(3),
            tail,
            output: 7,
            dropped: 0,
            duration_ms: 12,
            left: 0,
            forced: false,
            survivors: 0,
            lapsed: false,
            stopped_at: None,
        };
        Report::Ended { id: "T1.3#2".into(), ended }
    }

    #[test]
    fn a_report_is_one_line_that_people_can_read() {
        let text = String::from_utf8(line(&report(b"no such file\n".to_vec()))).unwrap();
        assert_eq!(
            text,
            "{\"ended\":{\"id\":\"T1.3#2\",\"ended\":{\"how\":{\"exited\":3},\
             \"tail\":\"no such file\\n\",\"output\":7,\"dropped\":0,\"duration_ms\":12,\
             \"left\":0,\"forced\":false,\"survivors\":0}}}\n"
        );
    }

    /// A child as the first version told of it, and as this one does.
    const SPAWN: &str = r#"{"spawn":{"id":"T1","program":{"shell":"true"},"folder":"/","environment":[["A","b"]],"log":"/l","limits":{"time":null,"stall":null,"grace":{"secs":1,"nanos":0},"log_size":1,"open_files":null,"processes":null}"#;

    #[test]
    fn keepers_and_engines_of_other_versions_understand_each_other() {
        let spec = |line: String| match serde_json::from_str::<Request>(&line).unwrap() {
            Request::Spawn(spec) => *spec,
            other => panic!("{other:?}"),
        };
        // An engine that knows no secrets has none.
        let plain = spec(format!("{SPAWN}}}}}"));
        assert_eq!(plain.secrets, []);
        let told = String::from_utf8(line(&Request::Spawn(Box::new(plain.clone())))).unwrap();
        assert!(!told.contains("secrets"), "{told}");
        // A keeper leaves words alone that it does not know, as those before did with secrets.
        assert_eq!(spec(format!("{SPAWN},\"of_a_later_version\":[1]}}}}")), plain);
        let known = Spec { secrets: vec!["canary-4711".into()], ..plain };
        let told = String::from_utf8(line(&Request::Spawn(Box::new(known.clone())))).unwrap();
        assert_eq!(spec(told), known);
        assert!(!format!("{known:?}").contains("canary-4711"));
    }

    #[test]
    fn a_line_without_end_is_refused_when_it_is_too_long() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; LINE_LENGTH_MAX]);
        assert!(matches!(lines.next::<Report>(), Ok(None)));
        lines.push(b"xx");
        assert!(lines.next::<Report>().is_err());
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_are_cut(
            tails in prop::collection::vec(any::<Vec<u8>>(), 1..4),
            cuts in prop::collection::vec(1usize..40, 1..20),
        ) {
            let reports: Vec<Report> = tails.into_iter().map(report).collect();
            let mut bytes = Vec::new();
            for report in &reports {
                write_line(&mut bytes, report);
                bytes.push(NUDGE);
            }
            let (mut lines, mut found, mut rest) = (Lines::default(), Vec::new(), &bytes[..]);
            for cut in cuts.into_iter().cycle() {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                lines.push(piece);
                rest = after;
                while let Some(report) = lines.next::<Report>().unwrap() {
                    found.push(report);
                }
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, reports);
        }
    }
}

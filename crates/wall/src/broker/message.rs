//! What is said at the socket: one message with the streams of the caller, and one byte back.

use rustix::{
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
};
use std::{
    ffi::{OsStr, OsString},
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::PathBuf,
};

/// What fits into a socket's buffer on every system.
pub const MESSAGE_SIZE_MAX: usize = 192 << 10;

const VERSION: &[u8] = b"1";

/// A run of one of our programs outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub program: OsString,
    /// Where the caller stands.
    pub folder: PathBuf,
    pub variables: Vec<(OsString, OsString)>,
    pub arguments: Vec<OsString>,
}

impl Request {
    /// As bytes: parts, each with a zero byte behind it.
    pub(super) fn render(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |part: &[u8]| {
            bytes.extend_from_slice(part);
            bytes.push(0);
        };
        add(VERSION);
        add(self.program.as_bytes());
        add(self.folder.as_os_str().as_bytes());
        add(self.variables.len().to_string().as_bytes());
        for (name, value) in &self.variables {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        self.arguments.iter().for_each(|argument| add(argument.as_bytes()));
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        let mut next = || parts.next().map(|part| OsString::from_vec(part.to_vec()));
        if next()?.as_bytes() != VERSION {
            return None;
        }
        let (program, folder) = (next()?, PathBuf::from(next()?));
        let count: usize = next()?.to_str()?.parse().ok()?;
        let mut variables = Vec::new();
        for _ in 0..count {
            variables.push((next()?, next()?));
        }
        let arguments = parts.map(|part| OsStr::from_bytes(part).to_owned()).collect();
        Some(Self { program, folder, variables, arguments })
    }
}

/// Sends a request with three streams.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    request: &Request,
    streams: &[BorrowedFd<'_>; 3],
) -> io::Result<()> {
    let bytes = request.render();
    if bytes.len() > MESSAGE_SIZE_MAX {
        return Err(io::Error::other("its arguments are too long"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(streams));
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What came at the socket.
pub(super) enum Received {
    NotYet,
    /// The other side has gone, or does not speak as it should.
    Nothing,
    Request(Request, Box<[OwnedFd; 3]>),
}

/// Takes a request, if one is there.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Received {
    let mut bytes = vec![0; MESSAGE_SIZE_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let came = match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut beside, flags) {
        Ok(came) => came.bytes,
        Err(Errno::AGAIN | Errno::INTR) => return Received::NotYet,
        Err(_) => return Received::Nothing,
    };
    let mut streams = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            streams.extend(files);
        }
    }
    let request = Request::parse(&bytes[..came]);
    match (request, <[OwnedFd; 3]>::try_from(streams)) {
        (Some(request), Ok(streams)) => Received::Request(request, Box::new(streams)),
        _ => Received::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_sent() {
        let request = Request {
            program: "waypost".into(),
            folder: "/w/shop".into(),
            variables: vec![("CONVERSATION".into(), "".into())],
            arguments: vec!["develop".into(), "".into(), OsString::from_vec(vec![0xff, b'\n'])],
        };
        assert_eq!(Request::parse(&request.render()), Some(request.clone()));
        let none = Request { variables: Vec::new(), arguments: Vec::new(), ..request };
        assert_eq!(Request::parse(&none.render()), Some(none));
        for bad in [&b""[..], b"2\0waypost\0/\x000\0", b"1\0waypost\0/\x009\0", b"1\0waypost"] {
            assert_eq!(Request::parse(bad), None, "{bad:?}");
        }
    }
}

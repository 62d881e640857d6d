//! The caller's end: inside, it asks the broker and hands its streams over.

use super::message::{self, Request};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
};
use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::fd::AsFd as _,
    path::PathBuf,
};
use waypost_model::layout::variable;

/// Whether this process is inside a wall that has a broker.
pub fn is_inside() -> bool {
    env::var_os(variable::BROKER).is_some_and(|path| !path.is_empty())
}

/// Runs one of our programs outside, with these streams; its exit code. `told` are variables that are
/// handed over.
pub fn call(program: &OsStr, arguments: Vec<OsString>, told: &[&str]) -> io::Result<u8> {
    let path = PathBuf::from(env::var_os(variable::BROKER).unwrap_or_default());
    let socket =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    connect(&socket, &SocketAddrUnix::new(&path)?)?;
    let value = |name: &&str| env::var_os(name).map(|value| (OsString::from(name), value));
    let request = Request {
        program: program.to_owned(),
        folder: env::current_dir()?,
        variables: told.iter().filter_map(value).collect(),
        arguments,
    };
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    message::send(socket.as_fd(), &request, &[input.as_fd(), output.as_fd(), errors.as_fd()])?;
    let mut code = [0; 1];
    loop {
        match recv(&socket, &mut code, RecvFlags::empty()) {
            Ok((_, 1)) => return Ok(code[0]),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

//! A git server on loopback that takes pushes from those who know a password, as forges do.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// Serves the bare repository in `folder` until the process ends; returns its address.
pub(crate) fn serve(folder: &Path, user: &str, password: &str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let folder = folder.to_owned();
    let wanted = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (folder, wanted) = (folder.clone(), wanted.clone());
            thread::spawn(move || answer(stream, &folder, &wanted));
        }
    });
    format!("http://{address}/repository.git")
}

fn answer(mut stream: TcpStream, folder: &PathBuf, wanted: &str) -> Option<()> {
    let (head, mut body) = read_head(&mut stream)?;
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_push = target.contains("git-receive-pack");
    if is_push && header("authorization").as_deref() != Some(wanted) {
        let text = "HTTP/1.0 401 no\r\nWWW-Authenticate: Basic realm=\"git\"\r\n\r\n";
        return stream.write_all(text.as_bytes()).ok();
    }
    let length: usize = header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let missing = length.saturating_sub(body.len());
    let mut rest = vec![0; missing];
    stream.read_exact(&mut rest).ok()?;
    body.extend(rest);
    let mut backend = Command::new("git");
    backend.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH")?);
    // The repository may be another user's.
    backend.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "safe.directory");
    backend.env("GIT_CONFIG_VALUE_0", "*");
    backend.env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1");
    backend.env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query);
    backend.env("CONTENT_TYPE", header("content-type").unwrap_or_default());
    backend.env("CONTENT_LENGTH", body.len().to_string()).env("REMOTE_USER", "user");
    if let Some(encoding) = header("content-encoding") {
        backend.env("HTTP_CONTENT_ENCODING", encoding);
    }
    backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = backend.spawn().ok()?;
    child.stdin.take()?.write_all(&body).ok()?;
    let output = child.wait_with_output().ok()?.stdout;
    let text = String::from_utf8_lossy(&output[..output.len().min(200)]).into_owned();
    let status = text.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    stream.write_all(format!("HTTP/1.0 {status}\r\n").as_bytes()).ok()?;
    stream.write_all(&output).ok()
}

fn read_head(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = bytes.split_off(at + 4);
            return Some((String::from_utf8_lossy(&bytes).into_owned(), body));
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for at in 0..4 {
            let index = (bits >> (18 - 6 * at)) & 63;
            let letter = LETTERS[usize::try_from(index).unwrap()];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

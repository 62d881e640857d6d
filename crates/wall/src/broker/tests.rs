//! What a broker reads of a request, without a wall.

use super::*;

fn broker(folder: &Path, hidden: &Path) -> Broker {
    let mut enclosure = Enclosure::bare();
    enclosure.set(hidden, What::Hidden);
    enclosure.set(folder.join("open"), What::Write);
    Broker::open(&folder.join("calls"), Level::C, &mut enclosure, vec!["TOLD".into()], None)
        .unwrap()
}

fn request(folder: &Path, arguments: &[&str]) -> Request {
    Request {
        program: "waypost".into(),
        folder: folder.to_owned(),
        variables: Vec::new(),
        arguments: arguments.iter().map(OsString::from).collect(),
    }
}

#[test]
fn files_that_an_argument_names_have_to_be_readable_inside() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    let (open, hidden) = (base.join("open"), base.join("hidden"));
    for folder in [&open, &hidden] {
        fs::create_dir(folder).unwrap();
        fs::File::create(folder.join("token")).unwrap();
    }
    symlink(hidden.join("token"), open.join("link")).unwrap();
    symlink(&hidden, open.join("folder")).unwrap();
    let broker = broker(&base, &hidden);
    let path = hidden.join("token").display().to_string();
    let table: &[(&[&str], bool)] = &[
        (&["validate", "token"], true),
        (&["develop", "start", "a feature"], true),
        (&["validate", &path], false),
        (&["gate", "--report", &path], false),
        (&["gate", &format!("--report={path}")], false),
        (&["validate", "link"], false),
        (&["validate", "../hidden/token"], false),
        (&["-C", "folder", "validate", "token"], false),
        (&["-Cfolder", "validate", "token"], false),
        (&["validate", "folder/token"], false),
    ];
    for (arguments, want) in table {
        let started = broker.start(&request(&open, arguments));
        assert_eq!(started.is_ok(), *want, "{arguments:?}: {started:?}");
    }
    assert!(broker.start(&request(&hidden, &[])).is_err(), "a folder that is hidden");
    let other = Request { program: "sh".into(), ..request(&open, &[]) };
    assert!(broker.start(&other).is_err(), "a program that is not ours");
}

#[test]
fn a_folder_that_can_be_written_inside_is_on_no_path_outside() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    fs::create_dir(base.join("open")).unwrap();
    fs::create_dir(base.join("bin")).unwrap();
    let broker = broker(&base, Path::new("/nowhere"));
    let path = format!("{0}/open:{0}/bin:bin:.", base.display());
    let want = format!("{}/bin", base.display());
    assert_eq!(safe_path(OsStr::new(&path), &broker.enclosure), OsStr::new(&want));
}

#[test]
fn the_socket_of_a_broker_is_gone_with_it_and_clients_stay_for_the_next() {
    let base = tempfile::tempdir().unwrap();
    let one = broker(base.path(), Path::new("/nowhere"));
    let two = broker(base.path(), Path::new("/nowhere"));
    assert_ne!(one.socket, two.socket);
    for it in [one, two] {
        let (socket, calls) = (it.socket.clone(), base.path().join("calls"));
        let client = calls.join(shared_name(&env::current_exe().unwrap())).join("git");
        assert!(socket.exists() && client.is_symlink());
        drop(it);
        assert!(!socket.exists() && client.is_symlink());
    }
}

//! What never goes inside: the one table of files, sockets and variables that are credentials, or
//! lead to someone who holds them.
//!
//! Homes are hidden whole and shown by an allow-list, so what stands here are the places outside of
//! homes, and what an allowed folder must not show.

/// Below a home, in folders that are shown: hidden all the same.
pub const IN_HOME: &[&str] = &[
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".ssh",
];

/// Below a home: settings that programs need and that may have credentials in them. Hidden if they do.
pub const MIXED_IN_HOME: &[&str] =
    &[".cargo/config", ".cargo/config.toml", ".config/pip/pip.conf", ".pip/pip.conf"];

/// Files and folders of the system that only root can read; they matter where the call is root's.
pub const OF_ROOT: &[&str] =
    &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private"];

/// Folders whose files with a name that ends so are keys of the machine.
pub const MACHINE_KEYS: (&str, &str) = ("/etc/ssh", "_key");

/// Starts of names in `/tmp` behind which sockets of people's own programs are: terminals, agents of
/// keys, displays, message buses.
pub const SOCKETS_IN_TMP: &[&str] = &[
    "tmux-",
    "ssh-",
    "screens",
    "uscreens",
    ".X11-unix",
    ".ICE-unix",
    ".XIM-unix",
    ".font-unix",
    "dbus-",
    "keyring-",
    "gpg-",
    "vscode-ipc-",
    "vscode-git-",
    "emacs",
    "kitty-",
];

/// Variables whose whole name says that they are, or lead to, a credential.
const VARIABLES: &[&str] = &[
    "BW_SESSION",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_AUTH_CONFIG",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "GH_CONFIG_DIR",
    "GIT_ASKPASS",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "KRB5CCNAME",
    "KUBECONFIG",
    "NETRC",
    "NOTIFY_SOCKET",
    "NPM_CONFIG_USERCONFIG",
    "PGPASSFILE",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "SSH_CONNECTION",
    "STY",
    "SUDO_ASKPASS",
    "TMUX",
    "TMUX_PANE",
    "VSCODE_GIT_IPC_HANDLE",
    "VSCODE_IPC_HOOK_CLI",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "npm_config_userconfig",
];

/// Starts of names: everything of theirs is an account's.
const STARTS: &[&str] = &[
    "ACTIONS_",
    "AWS_",
    "AZURE_",
    "ARM_",
    "CI_JOB_",
    "CLOUDFLARE_",
    "DIGITALOCEAN_",
    "GCP_",
    "GOOGLE_CLOUD_",
    "HEROKU_",
    "OP_SESSION_",
    "OP_SERVICE_",
    "TF_VAR_",
    "TWINE_",
    "VAULT_",
];

/// Parts of a name, between `_` or at its ends, that say what the value is.
const PARTS: &[&str] = &[
    "APIKEY",
    "AUTH",
    "AUTHORIZATION",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
    "WEBHOOK",
];

/// Two parts of a name that follow each other.
const PAIRS: &[(&str, &str)] = &[
    ("API", "KEY"),
    ("ACCESS", "KEY"),
    ("PRIVATE", "KEY"),
    ("SIGNING", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("DATABASE", "URL"),
    ("CONNECTION", "STRING"),
];

/// Whether a variable stays outside.
pub fn is_secret(name: &str) -> bool {
    if VARIABLES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start)) {
        return true;
    }
    let upper = name.to_ascii_uppercase();
    let parts: Vec<&str> = upper.split(['_', '-', '.']).collect();
    parts.iter().any(|part| PARTS.contains(part))
        || parts.windows(2).any(|pair| PAIRS.contains(&(pair[0], pair[1])))
}

/// Sections of a git configuration that say how to sign in.
const GIT_SECTIONS: &[&str] = &["credential"];

/// Keys of one whose values are credentials, or name a file of them.
const GIT_KEYS: &[&str] =
    &["cookiefile", "extraheader", "oauthtoken", "password", "sslkey", "smtppass", "token"];

/// A git configuration as it may be read inside: without credentials, and with the user of an
/// address taken out where a password stands beside it.
pub fn without_credentials(config: &str) -> String {
    let mut is_dropped = false;
    let mut kept = String::with_capacity(config.len());
    for line in config.lines() {
        let trimmed = line.trim_start();
        if let Some(section) = trimmed.strip_prefix('[') {
            let end = section.find(|c: char| c.is_whitespace() || c == ']' || c == '.');
            let name = section[..end.unwrap_or(section.len())].to_ascii_lowercase();
            is_dropped = GIT_SECTIONS.contains(&name.as_str());
        }
        let key = trimmed.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        if is_dropped || GIT_KEYS.contains(&key.as_str()) {
            continue;
        }
        kept.push_str(&without_user(line));
        kept.push('\n');
    }
    kept
}

/// The line without `user:password@` after a `://`, and without a user that stands alone where a token may stand
/// in its place: forges take one there, of any length.
fn without_user(line: &str) -> String {
    let Some(at) = line.find("://").map(|at| at + 3) else { return line.to_owned() };
    let rest = &line[at..];
    let end = rest.find(['/', '"', ' ', '\t']).unwrap_or(rest.len());
    let Some(sign) = rest[..end].rfind('@') else { return line.to_owned() };
    let user = &rest[..sign];
    let is_web = ["http://", "https://"].iter().any(|scheme| line[..at].ends_with(scheme));
    let is_secret = user.contains(':') || is_web;
    if is_secret { format!("{}{}", &line[..at], &rest[sign + 1..]) } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_known_by_their_names() {
        for name in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "AWS_PROFILE",
            "MY_API_KEY",
            "OPENAI_API_KEY",
            "CARGO_REGISTRIES_OURS_TOKEN",
            "PGPASSWORD_FILE_PASSWORD",
            "SSH_AUTH_SOCK",
            "DB_PASS",
            "npm_config__auth",
            "NODE_AUTH_TOKEN",
            "SLACK_WEBHOOK",
            "DATABASE_URL",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "AUTHOR",
            "GIT_AUTHOR_NAME",
            "TOKENIZERS_PARALLELISM",
            "KEYBOARD",
            "COMPASS_HOME",
            "CARGO_HOME",
            "PATTERN",
            "LANG",
            "MONKEY_PATH",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_git_configuration_loses_its_credentials_only() {
        let config = "[user]\n\tname = A\n[credential \"https://x\"]\n\thelper = store\n\
                      [remote \"origin\"]\n\turl = https://me:ghp_1@host/r.git\n\
                      \turl = git@host:r.git\n[http \"https://github.com/\"]\n\
                      \textraheader = AUTHORIZATION: basic eA==\n\tproxy = http://p\n\
                      [url \"https://glpat-1@github.com/\"]\n\
                      \tinsteadOf = gh:\n[credential]\n\thelper = x\n[alias]\n\tst = status\n";
        assert_eq!(
            without_credentials(config),
            "[user]\n\tname = A\n[remote \"origin\"]\n\turl = https://host/r.git\n\
             \turl = git@host:r.git\n[http \"https://github.com/\"]\n\tproxy = http://p\n\
             [url \"https://github.com/\"]\n\tinsteadOf = gh:\n[alias]\n\tst = status\n"
        );
    }
}

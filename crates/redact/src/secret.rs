//! A value that must not be seen.

use std::fmt;
use zeroize::Zeroizing;

/// A variable of the environment with one of these in its name holds a secret.
const SECRET_WORDS: [&str; 9] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "WEBHOOK", "DSN", "AUTH"];

/// A secret text: wiped from memory when it is dropped, and in no message and no log.
///
/// It is read by [`Secret::expose`] alone, so that each place that does so can be found.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text itself: for the one who needs it, never for a message.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Whether a variable of this name sounds as if it held a secret.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    SECRET_WORDS.iter().any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_shows_a_secret() {
        let secret = Secret::from("canary-4711");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret Some(Secret)");
        assert_eq!(secret.expose(), "canary-4711");
    }

    #[test]
    fn names_sound_secret_with_digits_and_in_any_case() {
        for name in ["API_KEY2", "db_password", "X9TOKEN_1", "SENTRY_DSN"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["HOME", "PATH", "RUST_LOG", "K3Y"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

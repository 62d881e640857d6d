//! Texts that a command is given in a file or at its standard input.

use crate::error::CliError;
use std::{fmt::Display, io::Read};
use waypost_model::code::Code;

/// A text of at most `max` bytes. What is longer is refused with that limit, wherever the bytes that
/// were read happen to end.
pub(crate) fn read_text(
    from: impl Read,
    what: &dyn Display,
    max: usize,
) -> Result<String, CliError> {
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = from.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| CliError::bad_input(format!("cannot read {what}")).because(&error))?;
    if bytes.len() > max {
        return Err(too_long(what, max));
    }
    let bad = |error: std::string::FromUtf8Error| {
        CliError::bad_input(format!("{what} is not valid UTF-8")).because(&error)
    };
    String::from_utf8(bytes).map_err(bad)
}

/// That a text has more than `max` bytes.
fn too_long(what: &dyn Display, max: usize) -> CliError {
    CliError::new(Code::TooLarge, format!("{what} is too long: it may have at most {max} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn what_is_too_long_is_told_so_in_every_language() {
        let read = |text: &[u8], max| read_text(text, &"the answer", max);
        assert_eq!(read(b"tea", 3).unwrap(), "tea");
        assert_eq!(read("한국어".as_bytes(), 9).unwrap(), "한국어");
        // The limit lies within a letter.
        for max in [1, 4, 8] {
            let error = read("한국어".as_bytes(), max).unwrap_err();
            assert_eq!(error.kind, Kind::BadInput);
            assert!(format!("{error:?}").contains(&format!("at most {max} bytes")), "{error:?}");
        }
        let bad = read(b"\xff", 9).unwrap_err();
        assert!(format!("{bad:?}").contains("not valid UTF-8"), "{bad:?}");
    }
}

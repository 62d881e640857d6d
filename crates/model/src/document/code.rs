//! The stable words for what can be wrong with a document.
//!
//! Programs match on these, so a word that was released keeps its meaning.

/// Declares the codes together with the sentence that explains each.
macro_rules! codes {
    ($($name:ident = $word:literal, $meaning:literal;)+) => {
        $(#[doc = $meaning] pub const $name: &str = $word;)+

        /// Every code with its meaning, for the reference.
        pub const ALL: &[(&str, &str)] = &[$(($word, $meaning)),+];
    };
}

codes! {
    ALIAS = "alias", "A YAML alias (`*name`): these files have none.";
    ANCHOR = "anchor", "A YAML anchor (`&name`): these files have none.";
    BAD_VALUE = "bad_value", "The text does not have the form that the field needs.";
    BYTE_ORDER_MARK = "byte_order_mark", "The file starts with a byte order mark.";
    CONTRADICTION = "contradiction", "Two fields say things that cannot both be true.";
    CYCLE = "cycle", "Things wait for each other in a circle.";
    DUPLICATE_ID = "duplicate_id", "An id is used twice where it must be unique.";
    DUPLICATE_KEY = "duplicate_key", "A key occurs twice in the same object.";
    EMPTY = "empty", "The file has no content.";
    MISSING_FIELD = "missing_field", "A required field is absent.";
    MISSING_REFERENCE = "missing_reference", "An id is named that does not exist.";
    NOT_A_NUMBER = "not_a_number", "NaN or an infinity, which these files cannot hold.";
    NOT_UTF8 = "not_utf8", "The file is not UTF-8 text.";
    NUL_BYTE = "nul_byte", "The file has a NUL byte, so it is not text.";
    OUT_OF_RANGE = "out_of_range", "A number is smaller or larger than allowed.";
    RELATIVE_PATH = "relative_path", "A path has to be absolute.";
    SEPARATE_TEST_SUBTASK = "separate_test_subtask", "Tests belong to each subtask, not to one of their own.";
    SYNTAX = "syntax", "The text is not well-formed JSON, YAML or TOML.";
    TAG = "tag", "A YAML tag (`!name`): these files have none.";
    TEMPLATE_PLACEHOLDER = "template_placeholder", "A placeholder of a template stands where a value belongs.";
    TOO_DEEP = "too_deep", "Lists and objects are nested too deeply.";
    TOO_LARGE = "too_large", "The file is larger than any real one.";
    TRAILING_CONTENT = "trailing_content", "Something follows after the document's end.";
    UNKNOWN_FIELD = "unknown_field", "A field that is not defined.";
    UNKNOWN_VALUE = "unknown_value", "A word that is not one of those allowed.";
    WRONG_COUNT = "wrong_count", "Numbers that must add up do not.";
    WRONG_OWNER = "wrong_owner", "An id that belongs to something else.";
    WRONG_PLACE = "wrong_place", "A contract says that it is of something else than its path says.";
    WRONG_TYPE = "wrong_type", "A value of another type than the field has.";
    WRONG_VERSION = "wrong_version", "The file is of a version that is not read.";
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(ALL.is_sorted_by(|(earlier, _), (later, _)| earlier < later));
    }
}

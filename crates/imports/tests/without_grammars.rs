//! Built without grammars every language is known by name, and no text is read.
#![cfg(not(feature = "grammars"))]
#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

use waypost_imports::{Language, SourceFiles, imports_of};

#[test]
fn without_grammars_no_text_is_read_and_its_language_is_named() {
    for (path, text, language) in [
        ("a.rs", "use crate::b;\n", "Rust"),
        ("a.py", "from . import b\n", "Python"),
        ("a.ts", "import './b';\n", "TypeScript"),
        ("a.tsx", "import './b';\n", "TypeScript"),
        ("a.mjs", "import './b.mjs';\n", "JavaScript"),
        ("a.java", "import b.C;\n", "Java"),
        ("a.kt", "import b.C\n", "Kotlin"),
        ("a.go", "package a\nimport \"b\"\n", "Go"),
        ("a.cs", "using B;\n", "C#"),
    ] {
        let known = Language::of_path(path).unwrap();
        assert_eq!((known.name(), known.has_grammar()), (language, false));
        assert_eq!(imports_of(path, text).unwrap_err().extension, language);
        let read = |_: &str| Some(text.to_owned());
        let files = SourceFiles::of([path.to_owned()], &read);
        assert!(files.contains(path) && files.imports(path).is_none(), "{path}");
    }
    assert_eq!(imports_of("a.rb", "require 'b'\n").unwrap_err().extension, "rb");
}

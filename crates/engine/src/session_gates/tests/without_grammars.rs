//! GATE-4 in a program that was built without grammars: it says what it does not know, and guesses nothing.

use super::*;

#[test]
fn every_language_is_named_as_one_that_is_not_known() {
    let shop = Shop::new(&[("src/web/controller.ts", ""), ("src/store/repository.ts", "")]);
    let files = ["Controller src/web/controller.ts", "Repository src/store/repository.ts"];
    shop.design(&["Controller Repository false"], &files);
    shop.write("src/web/controller.ts", "import { Repository } from '../store/repository';\n");
    let endings = [
        ("rs", "Rust"),
        ("py", "Python"),
        ("tsx", "TypeScript"),
        ("js", "JavaScript"),
        ("java", "Java"),
        ("kt", "Kotlin"),
        ("go", "Go"),
        ("cs", "C#"),
    ];
    for (ending, _) in endings {
        shop.write(&format!("src/web/more.{ending}"), "x\n");
    }
    shop.write("notes.md", "import x\n");
    let found = judge_layers(&shop.project, &shop.subject, None).unwrap();
    assert!(!found.holds && found.faults.is_empty(), "{found:?}");
    assert_eq!(found.open.len(), endings.len() + 1, "{found:?}");
    for (path, language) in [("src/web/controller.ts".to_owned(), "TypeScript")]
        .into_iter()
        .chain(endings.map(|(ending, language)| (format!("src/web/more.{ending}"), language)))
    {
        let told =
            format!("{path} uses nothing that it may not: imports of {language} are not known");
        let is_told = |it: &&String| it.starts_with(&told) && it.ends_with("without grammars");
        assert_eq!(found.open.iter().filter(is_told).count(), 1, "{told}: {found:?}");
    }
    // A report of the architect's confirms what is open, as always.
    let report = shop.root().join("../architect.md");
    fs::write(&report, "Blocking: 0\n").unwrap();
    let open = judge_layers(&shop.project, &shop.subject, None).unwrap().open;
    let asked = ReportGiven { path: &report, points: &open };
    assert!(judge_layers(&shop.project, &shop.subject, Some(asked)).unwrap().holds);
}

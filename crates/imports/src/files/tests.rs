//! What imports mean in small projects of each language.

use super::*;

/// A project by its files.
fn check(files: &[(&str, &str)], from: &str, want: &[&str]) {
    let texts: BTreeMap<&str, &str> = files.iter().copied().collect();
    let read = |path: &str| texts.get(path).map(|it| (*it).to_owned());
    let mut all = SourceFiles::of(files.iter().map(|(path, _)| (*path).to_owned()), &read);
    for (path, _) in files.iter().filter(|(path, _)| path.ends_with(".cs")) {
        if let Some(namespace) = all.imports(path).and_then(|it| it.declared.clone()) {
            all.declare(&namespace, path);
        }
    }
    let imports = all.imports(from).expect("it can be read");
    let mut found = Vec::new();
    for import in &imports.found {
        for reached in all.reached(from, imports.language, import) {
            let way = reached.by_way_of.iter().map(|it| format!(" by {it}")).collect::<String>();
            let doubt = if reached.is_certain { "" } else { "?" };
            found.push(format!("{} {}{doubt}{way}", import.line, reached.path));
        }
    }
    assert_eq!(found, want, "{from}");
}

#[test]
fn rust_modules_and_crates() {
    check(
        &[
            ("Cargo.toml", "[workspace]\n"),
            ("web/Cargo.toml", "[package]\nname = \"shop-web\"\n"),
            ("store/Cargo.toml", "[package]\nname = \"shop-store\" \n"),
            ("store/src/lib.rs", "pub use inner::Repository;\nmod inner;"),
            ("store/src/inner.rs", ""),
            ("web/src/lib.rs", "mod a; pub mod all;"),
            ("web/src/all.rs", "pub use crate::a::b::Thing as Renamed;"),
            ("web/src/a/mod.rs", "mod b;"),
            (
                "web/src/a/b.rs",
                "use crate::a::c::C;\nuse super::c;\nuse shop_store::Repository;\nuse std::fmt;\n\
                 use self::d::D;\nuse crate::all::Renamed;\nuse crate::all::Other;\n",
            ),
            ("web/src/a/b/d.rs", ""),
            ("web/src/a/c.rs", ""),
        ],
        "web/src/a/b.rs",
        &[
            "1 web/src/a/c.rs",
            "2 web/src/a/c.rs",
            "3 store/src/inner.rs by store/src/lib.rs",
            "3 store/src/lib.rs",
            "5 web/src/a/b/d.rs",
            "6 web/src/all.rs",
            "7 web/src/all.rs",
        ],
    );
}

#[test]
fn rust_paths_without_an_import_lead_to_crates_and_to_modules_beside_them() {
    check(
        &[
            ("store/Cargo.toml", "[package]\nname = \"shop-store\"\n"),
            ("store/src/lib.rs", ""),
            ("web/Cargo.toml", "[package]\nname = \"web\"\n"),
            (
                "web/src/lib.rs",
                "mod page;\nfn a() -> u8 { page::show() }\nfn b() { assert!(shop_store::is_open()) }\n\
                 fn c() { std::process::exit(1) }\n",
            ),
            ("web/src/page.rs", ""),
        ],
        "web/src/lib.rs",
        &["2 web/src/page.rs", "3 store/src/lib.rs"],
    );
}

#[test]
fn python_packages() {
    check(
        &[
            ("src/shop/__init__.py", ""),
            ("src/shop/api/__init__.py", ""),
            ("src/shop/api/json.py", ""),
            ("src/shop/store/__init__.py", "from .repository import Repository as Repo"),
            ("src/shop/store/repository.py", ""),
            (
                "src/shop/api/handler.py",
                "import json\nfrom ..store import Repo\nfrom shop.store.repository import Repository\n\
                 from . import json as own\nimport importlib\nimportlib.import_module('shop.store.repository')\n",
            ),
        ],
        "src/shop/api/handler.py",
        &[
            "2 src/shop/store/__init__.py",
            "2 src/shop/store/repository.py by src/shop/store/__init__.py",
            "3 src/shop/store/repository.py",
            "4 src/shop/api/json.py",
            "6 src/shop/store/repository.py",
        ],
    );
}

#[test]
fn scripts_and_their_index_files() {
    check(
        &[
            ("package.json", "{}"),
            (
                "src/store/index.ts",
                "export { Repository } from './repository';\nexport * from './cache';",
            ),
            ("src/store/repository.ts", "export class Repository {}"),
            ("src/store/cache.ts", "export class Cache {}"),
            ("src/react.ts", ""),
            (
                "src/web/a.ts",
                "import { Repository } from '../store';\nimport { Cache } from '@/store/index.js';\n\
                 import react from 'react';\nimport('../store/cache');\nimport x from '../../../out';\n\
                 import * as all from '../store';\n",
            ),
        ],
        "src/web/a.ts",
        &[
            "1 src/store/index.ts",
            "1 src/store/repository.ts by src/store/index.ts",
            "2 src/store/cache.ts by src/store/index.ts",
            "2 src/store/index.ts",
            "4 src/store/cache.ts",
            "6 src/store/cache.ts? by src/store/index.ts",
            "6 src/store/index.ts",
            "6 src/store/repository.ts? by src/store/index.ts",
        ],
    );
}

#[test]
fn packages_modules_and_namespaces() {
    check(
        &[
            ("app/src/main/java/com/shop/store/Repository.java", "package com.shop.store;"),
            ("app/src/main/java/com/shop/store/Cache.java", ""),
            ("lib/Repository.java", ""),
            (
                "app/src/main/java/com/shop/web/A.java",
                "import com.shop.store.Repository;\nimport com.shop.store.*;\nimport static com.shop.store.Cache.get;\n\
                 import java.util.List;\n",
            ),
        ],
        "app/src/main/java/com/shop/web/A.java",
        &[
            "1 app/src/main/java/com/shop/store/Repository.java",
            "2 app/src/main/java/com/shop/store/Cache.java?",
            "2 app/src/main/java/com/shop/store/Repository.java?",
            "3 app/src/main/java/com/shop/store/Cache.java",
        ],
    );
    check(
        &[
            ("app/src/main/kotlin/com/shop/store/Repository.kt", "package com.shop.store"),
            ("app/src/main/kotlin/com/shop/store/Prices.kt", "fun prices() = 1"),
            ("app/src/main/java/com/shop/store/Cache.java", ""),
            (
                "app/src/main/kotlin/com/shop/web/A.kt",
                "package com.shop.web\nimport com.shop.store.Repository as Rows\nimport com.shop.store.Cache\n\
                 import com.shop.store.prices\nimport com.shop.store.*\nimport kotlin.math.max\n",
            ),
        ],
        "app/src/main/kotlin/com/shop/web/A.kt",
        &[
            "2 app/src/main/kotlin/com/shop/store/Repository.kt",
            "3 app/src/main/java/com/shop/store/Cache.java",
            // A function stands in a file of any name.
            "4 app/src/main/kotlin/com/shop/store/Prices.kt?",
            "4 app/src/main/kotlin/com/shop/store/Repository.kt?",
            "5 app/src/main/java/com/shop/store/Cache.java?",
            "5 app/src/main/kotlin/com/shop/store/Prices.kt?",
            "5 app/src/main/kotlin/com/shop/store/Repository.kt?",
        ],
    );
    check(
        &[
            ("go.mod", "module example.com/shop // it\n"),
            ("fmt/fmt.go", ""),
            ("store/repository.go", ""),
            ("store/repository_test.go", ""),
            ("web/a.go", "package web\nimport \"fmt\"\nimport \"example.com/shop/store\"\n"),
        ],
        "web/a.go",
        &["3 store/repository.go"],
    );
    check(
        &[
            ("src/Store/Repository.cs", "namespace Shop.Store;\n"),
            ("src/Store/Cache.cs", "namespace Shop.Store { class Cache {} }\n"),
            (
                "src/Web/A.cs",
                "using Shop.Store;\nusing R = Shop.Store.Repository;\nusing System;\n",
            ),
        ],
        "src/Web/A.cs",
        &["1 src/Store/Cache.cs?", "1 src/Store/Repository.cs?", "2 src/Store/Repository.cs"],
    );
}

#[test]
fn a_circle_of_re_exports_ends() {
    check(
        &[
            ("a/index.ts", "export * from '../b';"),
            ("b/index.ts", "export * from '../a';"),
            ("c.ts", "import { x } from './a';"),
        ],
        "c.ts",
        &["1 a/index.ts", "1 b/index.ts by a/index.ts"],
    );
}

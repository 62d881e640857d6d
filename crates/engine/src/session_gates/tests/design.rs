//! GATE-4: forbidden imports in each language, however they are written.

use super::*;

/// A controller that may use the service and not the repository.
fn boundaries() -> [&'static str; 2] {
    ["Controller Service true", "Controller Repository false"]
}

#[track_caller]
fn faults(shop: &Shop) -> Vec<String> {
    let found = judge_layers(&shop.project, &shop.subject, None).unwrap();
    assert_eq!(found.holds, found.faults.is_empty() && found.open.is_empty(), "{found:?}");
    [found.faults, found.open.into_iter().map(|it| format!("open: {it}")).collect()].concat()
}

#[test]
fn typescript() {
    let shop = Shop::new(&[
        ("package.json", "{}"),
        ("src/store/repository.ts", "export class Repository {}"),
        ("src/store/index.ts", "export { Repository as Rows } from './repository';"),
        ("src/service.ts", "import { Rows } from './store';\nexport class Service {}"),
        ("src/web/controller.ts", ""),
    ]);
    assert_eq!(faults(&shop), ["there is no R1/T1/design-contract.yaml"]);
    let files = [
        "Controller src/web/controller.ts",
        "Service src/service.ts",
        "Repository src/store/repository.ts",
    ];
    shop.design(&boundaries(), &files);
    let write = |text: &str| shop.write("src/web/controller.ts", text);
    write("import { Service } from '../service';\n// import x from '../store/repository'\n");
    assert!(faults(&shop).is_empty(), "{:?}", faults(&shop));
    let why = "Controller may not use Repository";
    write("import { Repository } from '../store/repository';\n");
    assert_eq!(
        faults(&shop),
        [format!(
            "src/web/controller.ts:1 `../store/repository` (relative) uses Repository: {why}"
        )]
    );
    write("export async function f() {\n  return await import('@/store/repository');\n}\n");
    assert_eq!(
        faults(&shop),
        [format!("src/web/controller.ts:2 `@/store/repository` (dynamic) uses Repository: {why}")]
    );
    write("import { Rows } from '../store';\n");
    assert_eq!(
        faults(&shop),
        [format!(
            "src/web/controller.ts:1 `../store` (relative) uses Repository by way of src/store/index.ts: {why}"
        )]
    );
    write("export const f = (name: string) => import(name);\n");
    assert_eq!(
        faults(&shop),
        ["open: src/web/controller.ts:1 loads `name`, which is worked out as it runs"]
    );
    write("");
    shop.write("src/web/helper.ts", "import { Repository } from '../store/repository';\n");
    shop.write("src/web/task.rb", "require 'x'\n");
    shop.write("notes.md", "import x\n");
    assert_eq!(
        faults(&shop),
        [
            "open: src/web/helper.ts:1 `../store/repository` (relative) uses Repository, and the file belongs to no component",
            "open: src/web/task.rb uses nothing that it may not: imports of `.rb` are not known"
        ]
    );
    let report = shop.root().join("../architect.md");
    fs::write(&report, "Blocking: 0\n").unwrap();
    let open = judge_layers(&shop.project, &shop.subject, None).unwrap().open;
    let asked = ReportGiven { path: &report, points: &open };
    assert!(judge_layers(&shop.project, &shop.subject, Some(asked)).unwrap().holds);
}

#[test]
fn python() {
    let shop = Shop::new(&[
        ("shop/__init__.py", ""),
        ("shop/store/__init__.py", "from .repository import Repository\n"),
        ("shop/store/repository.py", "class Repository: pass\n"),
        ("shop/web/__init__.py", ""),
        ("shop/web/controller.py", ""),
    ]);
    let files = ["Controller shop/web/controller.py", "Repository shop/store/repository.py"];
    shop.design(&boundaries(), &files);
    for (text, told) in [
        (
            "from ..store.repository import Repository\n",
            "1 `..store.repository` (relative) uses Repository",
        ),
        (
            "import importlib\nimportlib.import_module('shop.store.repository')\n",
            "2 `shop.store.repository` (dynamic) uses Repository",
        ),
        (
            "from shop.store import Repository\n",
            "1 `shop.store` (static) uses Repository by way of shop/store/__init__.py",
        ),
    ] {
        shop.write("shop/web/controller.py", text);
        let want = format!("shop/web/controller.py:{told}: Controller may not use Repository");
        assert_eq!(faults(&shop), [want]);
    }
    shop.write("shop/web/controller.py", "text = 'from ..store.repository import Repository'\n");
    assert!(faults(&shop).is_empty());
}

#[test]
fn rust() {
    let shop = Shop::new(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
        ("src/lib.rs", "mod all;\nmod store;\nmod web;\n"),
        ("src/all.rs", "pub use crate::store::Repository as Rows;\n"),
        ("src/store.rs", "pub struct Repository;\n"),
        ("src/web.rs", ""),
    ]);
    shop.design(&boundaries(), &["Controller src/web.rs", "Repository src/store.rs"]);
    for (text, told) in [
        (
            "use super::store::Repository;\n",
            "1 `super::store::Repository` (relative) uses Repository",
        ),
        (
            "fn f() {\n    let _ = crate::store::Repository;\n}\n",
            "2 `crate::store::Repository` (relative) uses Repository",
        ),
        (
            "use crate::all::Rows;\n",
            "1 `crate::all::Rows` (relative) uses Repository by way of src/all.rs",
        ),
    ] {
        shop.write("src/web.rs", text);
        assert_eq!(
            faults(&shop),
            [format!("src/web.rs:{told}: Controller may not use Repository")]
        );
    }
}

#[test]
fn java() {
    let path = "src/main/java/com/shop/web/Controller.java";
    let shop = Shop::new(&[
        ("src/main/java/com/shop/store/Repository.java", "package com.shop.store;\n"),
        ("src/main/java/com/shop/service/Service.java", "package com.shop.service;\n"),
        (path, ""),
    ]);
    // Files are known by the names of the components where no file_refs name them.
    shop.design(&boundaries(), &["Controller src/main/java/com/shop/web/Controller.java"]);
    for (text, told) in [
        ("import com.shop.store.Repository;\n", "1 `com.shop.store.Repository` (static)"),
        ("import com.shop.store.*;\n", "1 `com.shop.store.*` (static)"),
        (
            "class Controller {\n  Object f() throws Exception { return Class.forName(\"com.shop.store.Repository\"); }\n}\n",
            "2 `com.shop.store.Repository` (dynamic)",
        ),
    ] {
        shop.write(path, text);
        let want = format!("{path}:{told} uses Repository: Controller may not use Repository");
        assert_eq!(faults(&shop), [want]);
    }
    shop.write(path, "import com.shop.service.Service;\n");
    assert!(faults(&shop).is_empty());
}

#[test]
fn kotlin() {
    let path = "src/main/kotlin/com/shop/web/Controller.kt";
    let shop = Shop::new(&[
        ("src/main/kotlin/com/shop/store/Repository.kt", "package com.shop.store\n"),
        ("src/main/kotlin/com/shop/service/Service.kt", "package com.shop.service\n"),
        (path, ""),
    ]);
    shop.design(&boundaries(), &[&format!("Controller {path}")]);
    for (text, told) in [
        ("import com.shop.store.Repository\n", "1 `com.shop.store.Repository` (static)"),
        (
            "package com.shop.web\nimport com.shop.store.Repository as Rows\n",
            "2 `com.shop.store.Repository` (static)",
        ),
        ("import com.shop.store.*\n", "1 `com.shop.store.*` (static)"),
        (
            "fun f(): Any =\n  Class.forName(\"com.shop.store.Repository\")\n",
            "2 `com.shop.store.Repository` (dynamic)",
        ),
    ] {
        shop.write(path, text);
        let want = format!("{path}:{told} uses Repository: Controller may not use Repository");
        assert_eq!(faults(&shop), [want]);
    }
    shop.write(path, "fun f(name: String): Any = Class.forName(name)\n");
    let open = format!("open: {path}:1 loads `name`, which is worked out as it runs");
    assert_eq!(faults(&shop), [open]);
    let text = "import com.shop.service.Service\nval text = \"import com.shop.store.Repository\"\n";
    shop.write(path, text);
    assert!(faults(&shop).is_empty(), "{:?}", faults(&shop));
}

#[test]
fn go() {
    let shop = Shop::new(&[
        ("go.mod", "module example.com/shop\n"),
        ("store/repository.go", "package store\n"),
        ("service/service.go", "package service\n"),
        ("web/controller.go", ""),
    ]);
    let files = ["Controller web/controller.go", "Repository store/repository.go"];
    shop.design(&boundaries(), &files);
    for (text, told) in [
        ("package web\nimport \"example.com/shop/store\"\n", "2 `example.com/shop/store` (static)"),
        (
            "package web\nimport (\n\t\"fmt\"\n\trows `example.com/shop/store`\n)\n",
            "4 `example.com/shop/store` (static)",
        ),
        (
            "package web\nimport _ \"example.com/shop/store\"\n",
            "2 `example.com/shop/store` (static)",
        ),
        ("package web\nimport . \"../store\"\n", "2 `../store` (relative)"),
    ] {
        shop.write("web/controller.go", text);
        let want =
            format!("web/controller.go:{told} uses Repository: Controller may not use Repository");
        assert_eq!(faults(&shop), [want]);
    }
    let text =
        "package web\nimport \"example.com/shop/service\"\n// import \"example.com/shop/store\"\n";
    shop.write("web/controller.go", text);
    assert!(faults(&shop).is_empty(), "{:?}", faults(&shop));
}

#[test]
fn csharp() {
    let shop = Shop::new(&[
        ("src/Store/Repository.cs", "namespace Shop.Store;\npublic class Repository {}\n"),
        ("src/Service/Service.cs", "namespace Shop.Service {\n  public class Service {}\n}\n"),
        ("src/Web/Controller.cs", ""),
    ]);
    let files = [
        "Controller src/Web/Controller.cs",
        "Service src/Service/Service.cs",
        "Repository src/Store/Repository.cs",
    ];
    shop.design(&boundaries(), &files);
    for (text, told) in [
        ("using Shop.Store;\n", "1 `Shop.Store` (static)"),
        ("using System;\nusing R = Shop.Store.Repository;\n", "2 `Shop.Store.Repository` (static)"),
        ("global using Shop.Store;\n", "1 `Shop.Store` (re-export)"),
        (
            "class C {\n  object F() => System.Type.GetType(\"Shop.Store.Repository, Shop\");\n}\n",
            "2 `Shop.Store.Repository` (dynamic)",
        ),
    ] {
        shop.write("src/Web/Controller.cs", text);
        let want = format!(
            "src/Web/Controller.cs:{told} uses Repository: Controller may not use Repository"
        );
        assert_eq!(faults(&shop), [want]);
    }
    shop.write(
        "src/Web/Controller.cs",
        "class C {\n  object F(string name) => System.Type.GetType(name);\n}\n",
    );
    let open = "open: src/Web/Controller.cs:2 loads `name`, which is worked out as it runs";
    assert_eq!(faults(&shop), [open]);
    shop.write("src/Web/Controller.cs", "using Shop.Service;\n// using Shop.Store;\n");
    assert!(faults(&shop).is_empty(), "{:?}", faults(&shop));
}

//! The imports of each language, with what looks like one and is none.
#![cfg(feature = "grammars")]
#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

use waypost_imports::{Import, ImportKind, imports_of};

/// An import in one line: where, how, what, and which names.
fn told(import: &Import) -> String {
    let names: Vec<String> = import
        .names
        .iter()
        .map(|it| match it.name == it.local {
            true => it.name.clone(),
            false => format!("{} as {}", it.name, it.local),
        })
        .collect();
    let names = if names.is_empty() { String::new() } else { format!(" {{{}}}", names.join(", ")) };
    let unknown = if import.is_known { "" } else { "?" };
    format!("{} {} {}{unknown}{names}", import.line, import.kind.word(), import.path)
}

#[track_caller]
fn check(path: &str, text: &str, want: &[&str]) {
    let read = imports_of(path, text).unwrap();
    let found: Vec<String> = read.found.iter().map(told).collect();
    assert_eq!(found, want, "{path}");
    assert!(!read.has_errors, "{path} could not be read");
}

#[test]
fn rust_paths_without_an_import() {
    let text = r#"
use crate::deep::known;
fn outer() {
    println!("{} crate::text::Never", crate::store::get(super::kind(1)));
    shop_store::open(known::thing());
    vec![shop_store::Item::make(), String::new()];
    all! { fn inner() { $crate::macros::x(); self.near::<u8>(); use crate::list::{a, b}; } }
    let all = Vec::<crate::store::Item>::new();
}
"#;
    check(
        "src/a.rs",
        text,
        &[
            "2 relative crate::deep::known {known}",
            "4 relative crate::store::get {get}",
            "4 relative super::kind {kind}",
            "5 static shop_store::open {open}",
            "6 static shop_store::Item::make {make}",
            "7 relative crate::macros::x {x}",
            "7 relative crate::list {list}",
            "8 relative crate::store::Item {Item}",
        ],
    );
}

#[test]
fn rust() {
    let text = r##"
//! use crate::comment::Never;
use std::collections::BTreeMap;
use crate::{
    cart::{self, Cart},
    price::Price as Money, // use crate::other;
};
pub use self::shown::Shown;
pub(crate) use super::near::*;
use serde as json;
extern crate alloc;
/* use crate::block; */
const TEXT: &str = "use crate::text::Never;";
const RAW: &str = r#"use crate::raw::Never;"#;
#[cfg(test)]
// Tests may use everything.
mod tests {
    use crate::never::Never;
}
#[cfg(test)]
use crate::never::Never;
#[cfg(unix)]
mod own {
    use super::*;
    use super::super::sibling::Thing;
    use self::inside::Never;
    mod inside {}
    fn inner() { let _ = crate::service::call(); super::own(); }
}
fn outer() -> super::Kind { super::above::<u8>::make() }
"##;
    check(
        "src/a/b.rs",
        text,
        &[
            "3 static std::collections::BTreeMap {BTreeMap}",
            "5 relative crate::cart {cart}",
            "5 relative crate::cart::Cart {Cart}",
            "6 relative crate::price::Price {Price as Money}",
            "8 re-export self::shown::Shown {Shown}",
            "9 re-export super::near::* {*}",
            "10 static serde {serde as json}",
            "11 static alloc",
            "24 relative self::* {*}",
            "25 relative super::sibling::Thing {Thing}",
            "28 relative crate::service::call {call}",
            "28 relative self::own {own}",
            "30 relative super::Kind {Kind}",
            "30 relative super::above {above}",
        ],
    );
}

#[test]
fn python() {
    let text = r#"
"""import never"""
import os, sys as system
import a.b.c
from a.b import (
    c,  # from never import x
    d as e,
)
from . import near
from ..up import thing
from .x import *
if TYPE_CHECKING:
    from typing import Any
try:
    import fast
except ImportError:
    fast = None
text = "import never"
name = "a" + "b"
importlib.import_module("plug.in")
importlib.import_module(name)
__import__('old')
__import__(f"x.{name}")
from __future__ import annotations
"#;
    check(
        "src/pkg/m.py",
        text,
        &[
            "3 static os",
            "3 static sys",
            "4 static a.b.c",
            "5 static a.b {c, d as e}",
            "9 relative . {near}",
            "10 relative ..up {thing}",
            "11 relative .x {*}",
            "13 static typing {Any}",
            "15 static fast",
            "20 dynamic plug.in",
            "21 dynamic name?",
            "22 dynamic old",
            "23 dynamic f\"x.{name}\"?",
        ],
    );
}

#[test]
fn typescript_and_javascript() {
    let text = r#"
// import never from "never";
import type { A, B as C } from "./types";
import whole, * as space from '@/lib/space';
import "./effect";
import old = require("./old");
export { X, Y as Z } from "../x";
export * from "./all";
export * as named from "./named";
import { later } from "./later";
export { later as out };
const text = "import never from './never'";
const other = `require("./never")`;
async function f(name: string) {
  const lazy = await import("./lazy");
  const worked = await import(`./${name}`);
  const plain = await import(`./plain`);
}
const common = require("./common");
const computed = require(name);
"#;
    check(
        "src/a.ts",
        text,
        &[
            "3 relative ./types {A, B as C}",
            "4 static @/lib/space {default as whole, * as space}",
            "5 relative ./effect",
            "6 relative ./old",
            "7 re-export ../x {X, Y as Z}",
            "8 re-export ./all {*}",
            "9 re-export ./named {* as named}",
            "10 relative ./later {later}",
            "10 re-export ./later {later as out}",
            "15 dynamic ./lazy",
            "16 dynamic `./${name}`?",
            "17 dynamic ./plain",
            "19 dynamic ./common",
            "20 dynamic name?",
        ],
    );
    let page = "import { Cart } from './cart';\nexport const a = <div>import x from \"y\"</div>;\n";
    check("src/page.tsx", page, &["1 relative ./cart {Cart}"]);
    let plain = "import a from './a.js';\nmodule.exports = { b: require('./b') };\n";
    check("src/plain.js", plain, &["1 relative ./a.js {default as a}", "2 dynamic ./b"]);
}

#[test]
fn java_and_kotlin() {
    let text = r#"
package com.example.web;
// import com.never.Never;
import com.example.service.AService;
import static com.example.util.Text.*;
import /* why */ com.example
    .model.User;
class A {
    String text = "import com.never.Never;";
    Object a() throws Exception { return Class.forName("com.example.store.ARepository"); }
    Object b(String n) throws Exception { return Class.forName(n); }
}
"#;
    check(
        "src/main/java/com/example/web/A.java",
        text,
        &[
            "4 static com.example.service.AService {AService}",
            "5 static com.example.util.Text.* {*}",
            "6 static com.example.model.User {User}",
            "10 dynamic com.example.store.ARepository",
            "11 dynamic n?",
        ],
    );
    let read = imports_of("A.java", text).unwrap();
    assert_eq!(read.declared.as_deref(), Some("com.example.web"));
    let text = r#"
package com.example.web
// import com.never.Never
import com.example.service.AService
import com.example.util.*
import com.example.model.User as Person
val text = "import com.never.Never"
fun load() = Class.forName("com.example.store.ARepository")
"#;
    check(
        "src/A.kt",
        text,
        &[
            "4 static com.example.service.AService {AService}",
            "5 static com.example.util.* {*}",
            "6 static com.example.model.User {User as Person}",
            "8 dynamic com.example.store.ARepository",
        ],
    );
}

#[test]
fn go() {
    let text = r#"
package web
// import "never"
import "fmt"
import (
	s "example.com/shop/service"
	_ "example.com/shop/driver"
	. `example.com/shop/dsl`
	"../near"
)
var text = "import \"never\""
func f() { _ = `import "never"` }
"#;
    check(
        "web/a.go",
        text,
        &[
            "4 static fmt",
            "6 static example.com/shop/service {* as s}",
            "7 static example.com/shop/driver {* as _}",
            "8 static example.com/shop/dsl {* as .}",
            "9 relative ../near",
        ],
    );
}

#[test]
fn csharp() {
    let text = r#"
global using System.Linq;
using System;
using static Shop.Util.Text;
using Repo = Shop.Store.ARepository;
// using Never;
namespace Shop.Web;
using Shop.Service;
class A {
    string text = "using Never;";
    void F() { using (var x = Open()) { } using var y = Open(); Type.GetType("Shop.Store.B, Shop"); }
}
"#;
    check(
        "src/A.cs",
        text,
        &[
            "2 re-export System.Linq",
            "3 static System",
            "4 static Shop.Util.Text",
            "5 static Shop.Store.ARepository {Shop.Store.ARepository as Repo}",
            "8 static Shop.Service",
            "11 dynamic Shop.Store.B",
        ],
    );
    let read = imports_of("src/A.cs", text).unwrap();
    assert_eq!(read.declared.as_deref(), Some("Shop.Web"));
}

#[test]
fn other_languages_are_said_not_to_be_known() {
    for (path, want) in [("a.rb", "rb"), ("Makefile", ""), ("src/x.zig", "zig")] {
        assert_eq!(imports_of(path, "require 'x'").unwrap_err().extension, want);
    }
}

#[test]
fn a_file_with_faults_is_read_as_far_as_that_goes() {
    let read = imports_of("a.ts", "import { a } from './a';\nconst = ;\nimport './b';\n").unwrap();
    assert!(read.has_errors);
    assert_eq!(read.found[0].path, "./a");
    let deep = "(".repeat(20_000);
    assert!(imports_of("a.py", &deep).unwrap().has_errors);
    assert_eq!(imports_of("a.py", "").unwrap().found, []);
    assert_eq!(ImportKind::ReExport.word(), "re-export");
}

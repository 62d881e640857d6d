//! Ticking changes the box or mark of a task and no other byte.

use crate::tasks_md::{tick, untick};
use waypost_model::id::TaskId;

fn ids(names: &[&str]) -> Vec<TaskId> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

#[test]
fn each_form_has_its_tick() {
    let table = [
        ("### [ ] T1.1: a", "### [x] T1.1: a"),
        ("### [] T1.1: a", "### [x] T1.1: a"),
        ("### **[ ] T1.1**: a", "### **[x] T1.1**: a"),
        ("### Phase 1, T1.1: a", "### Phase 1, T1.1: a ✅"),
        ("### T1.1: a ###  ", "### T1.1: a ✅ ###  "),
        ("### **T1.1: a**", "### **T1.1: a** ✅"),
        ("### T1.1: `a`  \nbody", "### T1.1: `a` ✅  \nbody"),
        ("### T1.1", "### T1.1 ✅"),
        ("T1.1: a\n---", "T1.1: a ✅\n---"),
        ("- [ ] T1.1: a", "- [x] T1.1: a"),
        ("- [] T1.1: a", "- [x] T1.1: a"),
        ("-\t[ ]\tT1.1: a", "-\t[x]\tT1.1: a"),
        ("- T1.1: a  \n  body", "- T1.1: a ✅  \n  body"),
        ("- *T1.1: a\n  b*", "- *T1.1: a ✅\n  b*"),
        ("- [ ]\n  T1.1: a", "- [x]\n  T1.1: a"),
        ("\u{feff}- [ ] T1.1: a", "\u{feff}- [x] T1.1: a"),
        ("### [ ] T1.1: a ✅", "### [x] T1.1: a ✅"),
        // Already ticked, in whatever way.
        ("### [X] T1.1: a", "### [X] T1.1: a"),
        ("### T1.1: a ✅", "### T1.1: a ✅"),
        ("- ✅ T1.1: a", "- ✅ T1.1: a"),
    ];
    for (before, after) in table {
        assert_eq!(tick(before, &ids(&["T1.1"])), after, "{before:?}");
    }
}

#[test]
fn a_tick_is_taken_back() {
    let table = [
        ("### [x] T1.1: a", "### [ ] T1.1: a"),
        ("- [X] T1.1: a", "- [ ] T1.1: a"),
        ("### T1.1: a ✅", "### T1.1: a"),
        ("### T1.1: a ✅ ###  ", "### T1.1: a ###  "),
        ("- T1.1: a ✅  \n  body", "- T1.1: a  \n  body"),
        // A mark that we would not have put there is not ours to take.
        ("- ✅ T1.1: a", "- ✅ T1.1: a"),
        ("### [ ] T1.1: a", "### [ ] T1.1: a"),
        ("### [x] T1.2: a", "### [x] T1.2: a"),
    ];
    for (before, after) in table {
        assert_eq!(untick(before, &ids(&["T1.1"])), after, "{before:?}");
    }
}

#[test]
fn only_the_tasks_that_are_asked_for_change() {
    let text = "# A\r\n\r\n```\r\n- [ ] T1.1: x\r\n```\r\n- [ ] T1.1: a\r\n  - [ ] check\r\n- [ ] T1.2: b\r\n\
                ### T1.3: c\r\n- [ ] check\r\n### T1.4: d\r\n## Summary\r\n- T1.1: mention\r\n";
    let want = text
        .replace("```\r\n- [ ] T1.1: a", "```\r\n- [x] T1.1: a")
        .replace("### T1.3: c", "### T1.3: c ✅");
    assert_eq!(tick(text, &ids(&["T1.3", "T1.1", "T7.7"])), want);
    assert_eq!(tick(text, &[]), text);
}

#[test]
fn a_file_with_faults_is_ticked_all_the_same() {
    let text = "- [ ] T1.1: a (depends on T9)\n- [ ] T1..2: b\n- [ ] T1.1: again\n";
    let want = "- [x] T1.1: a (depends on T9)\n- [ ] T1..2: b\n- [x] T1.1: again\n";
    assert_eq!(tick(text, &ids(&["T1.1"])), want);
}

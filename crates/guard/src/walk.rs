//! The walk over the syntax tree: follows variables, folders, functions and what is piped where,
//! and hands every program that would be started to `program`.
//!
//! Both branches of a condition are walked; what they disagree on is not known afterwards. Nothing
//! here decides whether something may be done.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::thread;

use rable::{ListItem, ListOperator, Node, NodeKind};

use crate::deed::{Context, Deed, Reach, Target, Write};
use crate::embedded;
use crate::output::{input_text, output_of};
use crate::parse::{STACK, Unparsed, needs_room, parse};
use crate::protected;
use crate::word::{Expansion, Inner, Scope, UNKNOWN, expand, expand_whole};

/// The longest text that is read: a longer one hides more than anyone would review.
pub(crate) const TEXT_LIMIT: usize = 64 * 1024;

/// Commands within commands beyond this are refused; it also keeps the stack small.
const DEPTH_LIMIT: u32 = 48;

/// Steps that each byte of a command, a script or a recipe may cost. A plain one costs less than
/// ten; functions that call functions can cost exponentially much, and a judge that takes too long
/// does not refuse.
const STEPS_PER_BYTE: u64 = 64;

/// Steps besides, for short texts with functions and loops.
const STEPS_FREE: u64 = 20_000;

/// Scripts, recipes and aliases that are looked for: each costs reads of files.
const LOOKS: u32 = 100;

/// Bodies of one function or texts of one alias: all are judged at every use.
pub(crate) const MEANINGS: usize = 4;

const TOO_DEEP: &str = "it is nested too deeply to follow";

/// Where a command's standard input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing was said.
    Inherited,
    Text(String),
    File(String),
    Unknown,
}

/// The shell as it would stand at one point of the command.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) scope: Scope,
    /// The folder that the command has changed to, relative to where it began; may be unknown.
    pub(crate) folder: String,
    pub(crate) input: Input,
}

/// Judges a shell command.
pub fn judge_shell(command: &str, context: &Context<'_>) -> Deed {
    judge(context, |walk| walk.text(command))
}

/// Judges a shell command, and lists the programs that it would start as their names come out.
///
/// For tests that compare what is found here with what another parser finds.
pub fn started_programs(command: &str, context: &Context<'_>) -> (Deed, Vec<String>) {
    let programs = Mutex::new(Vec::new());
    let deed = judge(context, |walk| {
        walk.programs = Some(Vec::new());
        walk.text(command);
        let mut programs = programs.lock().unwrap_or_else(PoisonError::into_inner);
        *programs = walk.programs.take().unwrap_or_default();
    });
    (deed, programs.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Judges by a walk, which is started again with a larger stack if it turns out to need one.
pub(crate) fn judge(context: &Context<'_>, work: impl Fn(&mut Walk<'_>) + Sync) -> Deed {
    let mut walk = Walk::new(context);
    work(&mut walk);
    if !walk.wants_room {
        return walk.deed;
    }
    let again = || {
        let mut walk = Walk::new(context);
        walk.has_room = true;
        work(&mut walk);
        walk.deed
    };
    let deed = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, again);
        thread.ok().and_then(|thread| thread.join().ok())
    });
    deed.unwrap_or_else(|| Deed { unknowable: Some(TOO_DEEP.to_owned()), ..Deed::default() })
}

/// A walk under way.
pub(crate) struct Walk<'c> {
    pub(crate) context: &'c Context<'c>,
    pub(crate) deed: Deed,
    pub(crate) shell: Shell,
    /// Every body that a name was ever given: which one holds may depend on the run.
    pub(crate) functions: BTreeMap<String, Vec<Rc<Node>>>,
    pub(crate) aliases: BTreeMap<String, Vec<String>>,
    pub(crate) git_aliases: BTreeMap<String, String>,
    pub(crate) depth: u32,
    pub(crate) script_depth: u32,
    /// Every program that was met, where the caller wants to know.
    pub(crate) programs: Option<Vec<String>>,
    /// The steps that may be taken.
    budget: u64,
    is_spent: bool,
    looks: u32,
    in_loop: bool,
    has_room: bool,
    /// A text was met that this stack may be too small for, and left unread.
    pub(crate) wants_room: bool,
}

impl<'c> Walk<'c> {
    pub(crate) fn new(context: &'c Context<'c>) -> Self {
        let top = context.look.top().map(Into::into);
        let scope = Scope { top, ..Scope::default() };
        let shell = Shell { scope, folder: String::new(), input: Input::Inherited };
        Self {
            context,
            deed: Deed::default(),
            shell,
            functions: BTreeMap::new(),
            aliases: BTreeMap::new(),
            git_aliases: BTreeMap::new(),
            depth: 0,
            script_depth: 0,
            programs: None,
            budget: STEPS_FREE,
            is_spent: false,
            looks: 0,
            in_loop: false,
            has_room: false,
            wants_room: false,
        }
    }

    /// Judges a text as shell commands.
    pub(crate) fn text(&mut self, text: &str) {
        if text.len() > TEXT_LIMIT {
            return self.unknowable("the command is longer than 64 KB");
        }
        if text.contains(UNKNOWN) {
            return self.unknowable("a shell is given text that is only known at run time");
        }
        if !self.has_room && needs_room(text) {
            self.wants_room = true;
            return;
        }
        if self.depth == 0 {
            self.budget += STEPS_PER_BYTE * text.len() as u64;
        }
        if !self.spend(text.len()) {
            return;
        }
        self.deeper(|walk| match parse(text) {
            Ok(nodes) => nodes.iter().for_each(|node| walk.node(node)),
            Err(Unparsed::Invalid) => walk.unknowable("it is not valid bash"),
            Err(Unparsed::TooDeep) => walk.unknowable(TOO_DEEP),
            Err(Unparsed::Unsure) => walk.unknowable("a here-document in it is empty"),
        });
    }

    /// Does `work` one level further down, or nothing but say that it is too deep.
    pub(crate) fn deeper(&mut self, work: impl FnOnce(&mut Self)) {
        if self.depth >= DEPTH_LIMIT {
            return self.unknowable(TOO_DEEP);
        }
        self.depth += 1;
        work(self);
        self.depth -= 1;
    }

    pub(crate) fn unknowable(&mut self, reason: &str) {
        self.deed.unknowable.get_or_insert_with(|| reason.to_owned());
    }

    /// Notes that a file is written; `removes` if whole folders may go with it.
    pub(crate) fn write(&mut self, path: &str, words: &str, removes: bool) {
        if protected::is_device(path) {
            return;
        }
        // A folder before `..` may be a link: the disk is asked about the way as it is written.
        let way = match path.split('/').any(|part| part == "..") {
            true if path.starts_with(['/', '~']) || self.shell.folder.is_empty() => path.to_owned(),
            true => format!("{}/{path}", self.shell.folder),
            false => protected::joined(&self.shell.folder, path),
        };
        let path = protected::joined(&self.shell.folder, path);
        if protected::is_ref(&path) {
            self.note_commit(words);
        }
        let reach = if removes { Reach::Below } else { Reach::File };
        let is_protected = self.is_protected_by_name(&path, removes)
            || (!path.contains(UNKNOWN)
                && (self.context.look.is_protected(&path, reach)
                    || (way != path && self.context.look.is_protected(&way, reach))));
        let is_unknown = path.contains(UNKNOWN) || way.contains(UNKNOWN);
        let target = if is_unknown { Target::Unknown } else { Target::Path(way) };
        let write = Write { target, words: words.to_owned() };
        if is_protected {
            let target = Target::Path(path.replace(UNKNOWN, "…"));
            self.deed.protected.push(Write { target, ..write.clone() });
        }
        self.deed.writes.push(write);
    }

    /// Whether a path is protected, whatever is on the disk; `removes` as for `write`.
    pub(crate) fn is_protected_by_name(&self, path: &str, removes: bool) -> bool {
        protected::is_protected(path, removes, self.context.look.agent_settings())
    }

    pub(crate) fn write_unknown(&mut self, words: &str) {
        self.deed.writes.push(Write { target: Target::Unknown, words: words.to_owned() });
    }

    /// Does `work` in a shell of its own, whose variables and folder are lost afterwards.
    pub(crate) fn apart(&mut self, work: impl FnOnce(&mut Self)) {
        let saved = self.shell.clone();
        work(self);
        self.shell = saved;
    }

    /// Does `work` that may as well not be done: what it changes is not known afterwards.
    fn perhaps(&mut self, work: impl FnOnce(&mut Self)) {
        let before = self.shell.clone();
        work(self);
        self.merge(&before);
    }

    fn merge(&mut self, other: &Shell) {
        self.shell.scope.merge(&other.scope);
        if self.shell.folder != other.folder {
            self.shell.folder = UNKNOWN.to_string();
        }
    }

    /// Counts work before it is done; false if there has been too much of it.
    pub(crate) fn spend(&mut self, steps: usize) -> bool {
        let total = self.deed.steps + steps as u64;
        self.is_spent |= total > self.budget;
        if self.is_spent {
            self.unknowable("it does too much to follow");
            return false;
        }
        self.deed.steps = total;
        true
    }

    /// Allows the work that a text costs which the command brings in.
    pub(crate) fn bring_in(&mut self, text: &str) {
        self.budget += STEPS_PER_BYTE * text.len() as u64;
    }

    /// Counts a look at the disk; false if there have been too many.
    pub(crate) fn look_once(&mut self) -> bool {
        self.looks += 1;
        if self.looks > LOOKS {
            self.unknowable("it runs too many scripts to follow");
        }
        self.looks <= LOOKS
    }

    pub(crate) fn node(&mut self, node: &Node) {
        if self.spend(1) {
            self.deeper(|walk| walk.kind(&node.kind));
        }
    }

    fn kind(&mut self, kind: &NodeKind) {
        match kind {
            NodeKind::Command { assignments, words, redirects } => {
                self.command(assignments, words, redirects);
            }
            NodeKind::Pipeline { commands, .. } => self.pipeline(commands),
            NodeKind::List { items } => {
                let mut before: Option<ListOperator> = None;
                for (command, operator) in flattened(items) {
                    match (before, operator) {
                        (_, Some(ListOperator::Background)) => {
                            self.apart(|walk| walk.node(command));
                        }
                        (Some(ListOperator::Or), _) => self.perhaps(|walk| walk.node(command)),
                        (Some(ListOperator::And), _) => self.after_success(command),
                        _ => self.node(command),
                    }
                    before = operator;
                }
            }
            NodeKind::Function { name, body } => {
                if name == "git" {
                    self.shell.scope.top = None;
                }
                let bodies = self.functions.entry(name.clone()).or_default();
                if bodies.len() >= MEANINGS {
                    return self.unknowable("one name is given many meanings");
                }
                bodies.push(Rc::new((**body).clone()));
            }
            NodeKind::Coproc { command, .. } => self.apart(|walk| walk.node(command)),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
                self.node(pipeline);
            }
            _ => self.compound(kind),
        }
    }

    /// A command after `&&`: a folder that it changes to holds for what follows.
    fn after_success(&mut self, command: &Node) {
        let before = self.shell.scope.clone();
        self.node(command);
        self.shell.scope.merge(&before);
    }

    fn compound(&mut self, kind: &NodeKind) {
        let (NodeKind::If { redirects, .. }
        | NodeKind::While { redirects, .. }
        | NodeKind::Until { redirects, .. }
        | NodeKind::For { redirects, .. }
        | NodeKind::ForArith { redirects, .. }
        | NodeKind::Select { redirects, .. }
        | NodeKind::Case { redirects, .. }
        | NodeKind::Subshell { redirects, .. }
        | NodeKind::BraceGroup { redirects, .. }
        | NodeKind::ArithmeticCommand { redirects, .. }
        | NodeKind::ConditionalExpr { redirects, .. }) = kind
        else {
            return;
        };
        let input = self.redirects(redirects, "a redirection");
        let outer = self.shell.input.clone();
        if let Some(input) = input {
            self.shell.input = input;
        }
        self.body(kind);
        self.shell.input = outer;
    }

    fn body(&mut self, kind: &NodeKind) {
        match kind {
            NodeKind::If { condition, then_body, else_body, .. } => {
                self.node(condition);
                let before = self.shell.clone();
                self.node(then_body);
                let after = std::mem::replace(&mut self.shell, before);
                else_body.iter().for_each(|body| self.node(body));
                self.merge(&after);
            }
            NodeKind::While { condition, body, .. } | NodeKind::Until { condition, body, .. } => {
                self.repeated(|walk| {
                    walk.node(condition);
                    walk.node(body);
                });
            }
            NodeKind::For { var, words, body, .. } | NodeKind::Select { var, words, body, .. } => {
                let words = words.as_deref().unwrap_or_default();
                let values: Vec<String> = words.iter().flat_map(|word| self.fields(word)).collect();
                self.each(var, values, body);
            }
            NodeKind::ForArith { init, cond, incr, body, .. } => {
                [init, cond, incr].into_iter().for_each(|text| self.inside(text));
                self.repeated(|walk| walk.node(body));
            }
            NodeKind::Case { word, patterns, .. } => {
                self.fields(word);
                for each in patterns {
                    each.patterns.iter().for_each(|pattern| drop(self.fields(pattern)));
                    self.perhaps(|walk| each.body.iter().for_each(|body| walk.node(body)));
                }
            }
            NodeKind::Subshell { body, .. } => self.apart(|walk| walk.node(body)),
            NodeKind::BraceGroup { body, .. } => self.node(body),
            NodeKind::ArithmeticCommand { raw_content, .. } => self.inside(raw_content),
            NodeKind::ConditionalExpr { body, .. } => self.condition(body),
            _ => {}
        }
    }

    /// A loop over words: each value is tried while there are few; else the variable is not known.
    fn each(&mut self, name: &str, values: Vec<String>, body: &Node) {
        const VALUES_TRIED: usize = 4;
        let is_few = values.len() <= VALUES_TRIED && !self.in_loop && !values.is_empty();
        let values: Vec<_> =
            if is_few { values.into_iter().map(Some).collect() } else { vec![None] };
        self.repeated(|walk| {
            for value in &values {
                let known = value.clone().filter(|value| !value.contains(['*', '?', '[', UNKNOWN]));
                walk.shell.scope.set(name, known);
                walk.node(body);
            }
        });
    }

    /// A loop: walked again with what the first time may have changed. Loops inside are not, for
    /// the outer one comes round to them twice already.
    fn repeated(&mut self, work: impl Fn(&mut Self)) {
        let is_outermost = !std::mem::replace(&mut self.in_loop, true);
        self.perhaps(&work);
        if is_outermost {
            self.perhaps(&work);
            self.in_loop = false;
        }
    }

    fn condition(&mut self, node: &Node) {
        if let NodeKind::BinaryTest { op, left, right } = &node.kind
            && op.starts_with('-')
        {
            [left, right].into_iter().for_each(|term| self.expression(term));
        }
        if let NodeKind::UnaryTest { op, operand } = &node.kind
            && op == "-v"
        {
            self.expression(operand);
        }
        match &node.kind {
            NodeKind::CondTerm { value, .. } => self.inside(value),
            NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => {
                self.deeper(|walk| walk.condition(operand));
            }
            NodeKind::CondParen { inner } => self.deeper(|walk| walk.condition(inner)),
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => self.deeper(|walk| {
                walk.condition(left);
                walk.condition(right);
            }),
            NodeKind::Word { .. } => drop(self.fields(node)),
            _ => {}
        }
    }

    /// A term that bash takes for an expression.
    fn expression(&mut self, term: &Node) {
        if let NodeKind::CondTerm { value, .. } | NodeKind::Word { value, .. } = &term.kind {
            self.index(value);
        }
    }

    /// Judges the commands inside a text that is itself none.
    fn inside(&mut self, text: &str) {
        self.embedded(embedded::commands(text, true));
    }

    fn embedded(&mut self, commands: Option<Vec<String>>) {
        match commands {
            Some(commands) => commands.iter().for_each(|each| self.apart(|walk| walk.text(each))),
            None => self.unknowable("it is not valid bash"),
        }
    }

    fn pipeline(&mut self, commands: &[Node]) {
        let mut input = self.shell.input.clone();
        for command in commands {
            let output = output_of(command, &self.shell.scope);
            self.apart(|walk| {
                walk.shell.input = input;
                walk.node(command);
            });
            input = output.map_or(Input::Unknown, Input::Text);
        }
    }

    fn command(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        let outer = self.shell.input.clone();
        let fields: Vec<String> = words.iter().flat_map(|word| self.fields(word)).collect();
        let spoken = spoken(&fields);
        let values: Vec<_> = assignments.iter().map(|word| self.whole(word)).collect();
        if let Some(input) = self.redirects(redirects, &spoken) {
            self.shell.input = input;
        }
        if fields.is_empty() {
            values.iter().for_each(|text| self.environment(text));
            values.iter().for_each(|text| self.assign(text));
        } else {
            let before = (self.shell.scope.chosen.clone(), self.shell.scope.led.clone());
            values.iter().for_each(|text| self.environment(text));
            let choices = self.shell.scope.choices;
            self.program(&with_settings(fields, &values));
            // What was set for this command alone is as it was, unless the command set more.
            if self.shell.scope.choices == choices {
                (self.shell.scope.chosen, self.shell.scope.led) = before;
            }
        }
        self.shell.input = outer;
    }

    /// Judges `NAME=VALUE` where the value is something that programs run.
    pub(crate) fn environment(&mut self, text: &str) {
        const RUN: &[&str] = &[
            "BASH_ENV",
            "BROWSER",
            "EDITOR",
            "GH_BROWSER",
            "GH_EDITOR",
            "GH_PAGER",
            "GIT_ASKPASS",
            "GIT_EDITOR",
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "GIT_PROXY_COMMAND",
            "GIT_SEQUENCE_EDITOR",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "LESSCLOSE",
            "LESSOPEN",
            "MANPAGER",
            "PAGER",
            "PROMPT_COMMAND",
            "RSYNC_RSH",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "VISUAL",
        ];
        let Some((name, value)) = text.split_once('=') else { return };
        if RUN.contains(&name) {
            self.apart(|walk| walk.text(value.trim_start_matches(['|', '-', '!'])));
        }
        if name == "PS4" || name == "PS1" {
            self.inside(value);
        }
        self.shell.scope.choose(name);
        let is_setting = ["COUNT", "KEY_", "VALUE_", "PARAMETERS"]
            .iter()
            .any(|end| name.strip_prefix("GIT_CONFIG_").is_some_and(|rest| rest.starts_with(end)));
        if is_setting {
            self.unknowable("git takes a setting from the environment");
        }
    }

    /// Judges the commands in a text that may be taken for an expression: where one names an
    /// element of an array, bash runs what makes the index, quoted or not.
    pub(crate) fn index(&mut self, text: &str) {
        if text.contains('[') && (text.contains("$(") || text.contains('`')) {
            self.embedded(embedded::commands(text, false));
        }
    }

    /// Notes `NAME=VALUE`; anything more than that makes the variable unknown.
    pub(crate) fn assign(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else { return };
        self.index(value);
        let is_plain = !value.contains(UNKNOWN) && !value.starts_with('(');
        let base = name.trim_end_matches('+').split('[').next().unwrap_or_default();
        let value = (is_plain && base == name).then(|| value.to_owned());
        self.shell.scope.set(base, value);
    }

    /// The fields of a word, after judging the commands that run to make them.
    fn fields(&mut self, word: &Node) -> Vec<String> {
        if !self.spend(1) {
            return Vec::new();
        }
        let scope = self.shell.scope.clone();
        let mut expansion = expand(word, &scope);
        let fields = std::mem::take(&mut expansion.fields);
        self.spend(fields.len() + fields.iter().map(String::len).sum::<usize>());
        self.expanded(expansion);
        fields
    }

    fn whole(&mut self, word: &Node) -> String {
        let scope = self.shell.scope.clone();
        let (text, expansion) = expand_whole(word, &scope);
        self.spend(text.len());
        self.expanded(expansion);
        text
    }

    fn expanded(&mut self, expansion: Expansion<'_>) {
        if expansion.unreadable {
            self.unknowable("it holds a substitution that cannot be read");
        }
        for name in &expansion.assigned {
            self.shell.scope.set(name, None);
        }
        for inner in expansion.inner {
            self.apart(|walk| match inner {
                Inner::Text(text) => {
                    // It may be one that reads, too.
                    walk.shell.input = Input::Unknown;
                    walk.text(&text);
                }
                Inner::Reader(command) => {
                    walk.shell.input = Input::Unknown;
                    walk.node(command);
                }
                Inner::Parsed { command, in_backticks } => {
                    walk.shell.scope.in_backticks |= in_backticks;
                    walk.node(command);
                }
            });
        }
    }

    /// Notes what redirections write, and returns where standard input comes from if they say so.
    fn redirects(&mut self, redirects: &[Node], words: &str) -> Option<Input> {
        let mut input = None;
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, .. } => {
                    if !quoted {
                        self.embedded(embedded::commands(content, false));
                    }
                    input = input_text(redirect, &self.shell.scope).map(Input::Text);
                }
                NodeKind::Redirect { op, target, .. } => {
                    let text = self.whole(target);
                    match op.as_str() {
                        "<<<" => input = Some(Input::Text(text)),
                        "<" => input = Some(Input::File(text)),
                        "<&" => input = Some(Input::Unknown),
                        ">&" if text == "-"
                            || text.trim_end_matches('-').parse::<u32>().is_ok() => {}
                        _ => {
                            let shown = text.replace(UNKNOWN, "…");
                            self.write(&text, &format!("{words} {op} {shown}"), false);
                        }
                    }
                }
                _ => {}
            }
        }
        input
    }
}

/// The fields of a command, with the variables that are set for it where it takes them as its own.
pub(crate) fn with_settings(mut fields: Vec<String>, settings: &[String]) -> Vec<String> {
    if fields.first().is_some_and(|name| matches!(name.as_str(), "make" | "gmake")) {
        fields.extend_from_slice(settings);
    }
    fields
}

/// The commands of a list in their order, each with the operator after it. The parser nests a list
/// in the next one; only what is put into the background together has to stay together.
fn flattened(items: &[ListItem]) -> Vec<(&Node, Option<ListOperator>)> {
    let mut flat = Vec::new();
    let mut rest: Vec<_> = items.iter().rev().map(|item| (&item.command, item.operator)).collect();
    while let Some((node, operator)) = rest.pop() {
        match &node.kind {
            NodeKind::List { items } if operator != Some(ListOperator::Background) => {
                let last = items.len().saturating_sub(1);
                rest.extend(items.iter().enumerate().rev().map(|(at, item)| {
                    let is_last = at == last && item.operator.is_none();
                    (&item.command, if is_last { operator } else { item.operator })
                }));
            }
            _ => flat.push((node, operator)),
        }
    }
    flat
}

/// The words of a command as a message shows them.
pub(crate) fn spoken(fields: &[String]) -> String {
    const SHOWN: usize = 80;
    let text = fields.join(" ").replace(UNKNOWN, "…").replace('\n', " ");
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

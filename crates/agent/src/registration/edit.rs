//! Putting one entry into a text and taking one out; each undoes the other to the byte.

use super::{
    entries::{VARIABLES, Wanted, is_our_variable, ours},
    layout::{Layout, Shape, member},
    scan::{BadSettings, Content, Document, Item, Node, bad, comment_length, is_comment, is_space},
    servers::{SERVER_NAME, is_our_server},
};

/// What a text is indented by where it does not show it.
const UNIT: &str = "  ";

/// What is left when an entry of ours was taken out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// There was none.
    Nothing,
    Text(String),
    /// There was nothing else, and the file is ours.
    Everything,
}

/// Something to write into an object or a list.
struct Part<'a> {
    key: Option<&'a str>,
    value: Shape,
}

impl Part<'_> {
    fn render(&self, layout: &Layout) -> String {
        match self.key {
            Some(key) => member(key, &self.value, layout),
            None => self.value.render(layout),
        }
    }
}

/// Puts an entry in its place, and makes what that needs.
pub(super) fn insert(text: &str, wanted: &Wanted) -> Result<String, BadSettings> {
    match wanted {
        Wanted::Group { event, group } => insert_group(text, event, group),
        Wanted::Variable { name, value } => insert_variable(text, name, value),
    }
}

/// Puts an entry at the end of its event's list.
fn insert_group(text: &str, name: &'static str, group: &Shape) -> Result<String, BadSettings> {
    let document = Document::parse(text)?;
    let list = || Shape::Array(vec![group.clone()]);
    let hooks_part = || Part { key: Some("hooks"), value: Shape::Object(vec![(name, list())]) };
    let Some(root) = &document.root else { return Ok(begin(text, &hooks_part())) };
    let Some(hooks) = root.member("hooks") else {
        return Ok(put(&document, root, &hooks_part()));
    };
    if !matches!(hooks.content, Content::Object(_)) {
        return Err(bad(text, hooks.start, "`hooks` is not an object"));
    }
    let Some(event) = hooks.member(name) else {
        return Ok(put(&document, hooks, &Part { key: Some(name), value: list() }));
    };
    if !matches!(event.content, Content::Array(_)) {
        return Err(bad(text, event.start, format!("`hooks.{name}` is not a list")));
    }
    Ok(put(&document, event, &Part { key: None, value: group.clone() }))
}

/// Puts a variable at the end of those of the settings. One of the user's own stays as it is.
fn insert_variable(text: &str, name: &'static str, value: &str) -> Result<String, BadSettings> {
    let document = Document::parse(text)?;
    let whole =
        || Part { key: Some(VARIABLES), value: Shape::Object(vec![(name, Shape::text(value))]) };
    let Some(root) = &document.root else { return Ok(begin(text, &whole())) };
    let Some(variables) = root.member(VARIABLES) else { return Ok(put(&document, root, &whole())) };
    if !matches!(variables.content, Content::Object(_)) {
        return Err(bad(text, variables.start, format!("`{VARIABLES}` is not an object")));
    }
    if variables.member(name).is_some() {
        return Ok(text.to_owned());
    }
    Ok(put(&document, variables, &Part { key: Some(name), value: Shape::text(value) }))
}

/// Begins an object in a text that has none. The blank line at its start says that the text was
/// there before; a second one, that it ended without a line end, which a comment needs.
fn begin(text: &str, part: &Part<'_>) -> String {
    let newline = newline(text);
    let layout = Layout::Lines { newline, indent: UNIT.into(), unit: UNIT.into() };
    let is_open = !is_blank(text) && !text.ends_with('\n');
    let end = if is_open { newline } else { "" };
    let (start, part) = (layout.line_start(), part.render(&layout));
    format!("{text}{end}{{{newline}{end}{start}{part}{newline}}}")
}

/// What `begin` made of nothing, as a file of its own.
pub(super) fn as_new_file(text: &str) -> String {
    format!("{}\n", text.replacen("{\n\n", "{\n", 1))
}

/// Puts a part at the end of an object or a list.
fn put(document: &Document<'_>, container: &Node, part: &Part<'_>) -> String {
    match container.items().last() {
        Some(last) => put_after(document, last, part),
        None => put_first(document, container, part),
    }
}

fn put_first(document: &Document<'_>, container: &Node, part: &Part<'_>) -> String {
    let (text, end) = (document.text, container.end - 1);
    let (newline, unit) = (newline(text), unit(document));
    let outer = line_indent(text, container.start);
    let layout = Layout::Lines { newline, indent: format!("{outer}{unit}"), unit };
    let (start, part) = (layout.line_start(), part.render(&layout));
    // The blank line says that the container was there before.
    format!("{}{start}{part}{newline}{newline}{outer}{}", &text[..end], &text[end..])
}

fn put_after(document: &Document<'_>, last: &Item, part: &Part<'_>) -> String {
    let text = document.text;
    let space = &text[last.space..last.start];
    let (layout, before) = match space.rfind('\n') {
        Some(at) => {
            let (newline, indent) = (newline(text), space[at + 1..].to_owned());
            let layout = Layout::Lines { newline, indent, unit: unit(document) };
            let before = layout.line_start();
            (layout, before)
        }
        None => (Layout::Inline, space.to_owned()),
    };
    let part = part.render(&layout);
    let end = last.comma.map_or(last.value.end, |comma| comma + 1);
    // A comment behind the last part belongs to it, and stays on its line.
    let at = if layout == Layout::Inline { end } else { comments_end(text, end) };
    let (head, between, tail) = (&text[..end], &text[end..at], &text[at..]);
    match last.comma {
        Some(_) => format!("{head}{between}{before}{part},{tail}"),
        None => format!("{head},{between}{before}{part}{tail}"),
    }
}

/// Where the comments end that begin on the same line.
fn comments_end(text: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let rest = &text[end..];
        let rest = rest.trim_start_matches([' ', '\t']);
        if !is_comment(rest) {
            return end;
        }
        let start = text.len() - rest.len();
        let length = comment_length(rest).unwrap_or(rest.len());
        end = start + length;
        if rest.starts_with("//") || text[start..end].contains('\n') {
            return end;
        }
    }
}

/// Takes the last entry of ours out, and what came with it.
pub(super) fn remove_last(text: &str, document: &Document<'_>) -> Removal {
    let Some(root) = &document.root else { return Removal::Nothing };
    match last_entry(root) {
        Some(path) => remove_at(text, root, &path),
        None => Removal::Nothing,
    }
}

/// Takes out what stands at the end of a way, and what came with it.
fn remove_at(text: &str, root: &Node, path: &[(&Node, &Item)]) -> Removal {
    // What has nothing else in it, and was not there before us, goes as a whole.
    let is_ours = |(container, _): &&(&Node, &Item)| is_made_for_its_part(text, container);
    let gone = path.iter().rev().take_while(is_ours).count();
    let Some(kept) = path.len().checked_sub(gone + 1) else { return without_root(text, root) };
    let (container, item) = path[kept];
    Removal::Text(match container.items().len() {
        1 => without_only(text, container, item),
        _ => without(text, container, item),
    })
}

/// Puts a server of tools at the end of those of the settings, in the place of an older one of ours. One of
/// the user's own with the same name stays. `keys` lead to where the servers are.
pub(super) fn insert_server(
    text: &str,
    keys: &[&str],
    server: &Shape,
) -> Result<String, BadSettings> {
    let document = Document::parse(text)?;
    let all: Vec<&str> = keys.iter().copied().chain([SERVER_NAME]).collect();
    let part = |depth: usize| {
        let below = all[depth + 1..].iter().rev();
        let value =
            below.fold(server.clone(), |it, key| Shape::Named((*key).to_owned(), it.into()));
        Part { key: Some(all[depth]), value }
    };
    let Some(root) = &document.root else { return Ok(begin(text, &part(0))) };
    let mut container = root;
    for (depth, key) in all.iter().enumerate() {
        let Some(found) = container.member(key) else {
            return Ok(put(&document, container, &part(depth)));
        };
        if !matches!(found.content, Content::Object(_)) {
            return Err(bad(text, found.start, format!("`{key}` is not an object")));
        }
        container = found;
    }
    Ok(text.to_owned())
}

/// Takes our server out, and what came with it.
pub(super) fn remove_server(text: &str, document: &Document<'_>, keys: &[&str]) -> Removal {
    let Some(root) = &document.root else { return Removal::Nothing };
    let (mut container, mut path) = (root, Vec::new());
    for key in keys.iter().copied().chain([SERVER_NAME]) {
        let Some(item) = last_with_key(container, key) else { return Removal::Nothing };
        path.push((container, item));
        container = &item.value;
    }
    match is_our_server(container) {
        true => remove_at(text, root, &path),
        false => Removal::Nothing,
    }
}

/// The way to our last entry: each container with the part of it that leads there.
fn last_entry(root: &Node) -> Option<Vec<(&Node, &Item)>> {
    last_variable(root).or_else(|| last_group(root))
}

fn last_variable(root: &Node) -> Option<Vec<(&Node, &Item)>> {
    let variables = last_with_key(root, VARIABLES)?;
    let is_ours =
        |item: &&Item| item.key.as_deref().is_some_and(|name| is_our_variable(name, &item.value));
    let ours = variables.value.items().iter().rfind(is_ours)?;
    Some(vec![(root, variables), (&variables.value, ours)])
}

fn last_group(root: &Node) -> Option<Vec<(&Node, &Item)>> {
    let hooks = last_with_key(root, "hooks")?;
    hooks.value.items().iter().rev().find_map(|event| {
        event.value.items().iter().rev().find_map(|group| {
            let list = last_with_key(&group.value, "hooks")?;
            let handlers = list.value.items();
            let handler = handlers.iter().rfind(|handler| ours(&handler.value).is_some())?;
            let mut path = vec![(root, hooks), (&hooks.value, event), (&event.value, group)];
            // A group to which a user has added another handler loses that one only.
            if handlers.iter().any(|handler| ours(&handler.value).is_none()) {
                path.extend([(&group.value, list), (&list.value, handler)]);
            }
            Some(path)
        })
    })
}

fn last_with_key<'n>(node: &'n Node, key: &str) -> Option<&'n Item> {
    node.items().iter().rfind(|item| item.key.as_deref() == Some(key))
}

/// Whether a container has one part and no sign of having been there before it.
fn is_made_for_its_part(text: &str, container: &Node) -> bool {
    let [only] = container.items() else { return false };
    let (before, after) = around(text, container, only);
    is_blank(before) && is_blank(after) && after.matches('\n').count() < 2
}

/// What stands in a container before and after its only part.
fn around<'t>(text: &'t str, container: &Node, only: &Item) -> (&'t str, &'t str) {
    let end = only.comma.map_or(only.value.end, |comma| comma + 1);
    (&text[container.start + 1..only.start], &text[end..container.end - 1])
}

/// The text when its only object goes; `begin` says what the lines at its start mean.
fn without_root(text: &str, root: &Node) -> Removal {
    let (head, tail) = (&text[..root.start], &text[root.end..]);
    let before = root.items().first().map_or("", |only| around(text, root, only).0);
    match before.matches('\n').count() {
        0 | 1 if is_blank(head) && is_blank(tail) => Removal::Everything,
        // Comments of the user's stay, in a file that the program can read.
        0 | 1 => Removal::Text(format!("{head}{{}}{tail}")),
        2 => Removal::Text(format!("{head}{tail}")),
        _ => Removal::Text(format!("{}{tail}", without_line_end(head))),
    }
}

/// The text when a container that was there before loses its only part.
fn without_only(text: &str, container: &Node, only: &Item) -> String {
    let (before, after) = around(text, container, only);
    let line = before.rfind('\n').map_or(before.len(), |at| at + 1);
    let before = without_line_end(&before[..line]);
    // Comments that were put behind our part are not ours.
    let after = if is_blank(after) { "" } else { after };
    let (head, tail) = (&text[..=container.start], &text[container.end - 1..]);
    format!("{head}{before}{after}{tail}")
}

/// The text without one of several parts.
fn without(text: &str, container: &Node, item: &Item) -> String {
    let end = item.value.end;
    if let Some(comma) = item.comma {
        return format!("{}{}{}", &text[..item.space], &text[end..comma], &text[comma + 1..]);
    }
    let before = container.items().iter().rev().nth(1).and_then(|previous| previous.comma);
    let comma = before.unwrap_or(item.space);
    let rest = text[comma..item.space].strip_prefix(',').unwrap_or_default();
    format!("{}{rest}{}", &text[..comma], &text[end..])
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').chars().all(is_space)
}

fn without_line_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// How lines end in a text. One with a carriage return anywhere gets both, so that what we added
/// can be told from what was there.
fn newline(text: &str) -> &'static str {
    if text.contains('\r') { "\r\n" } else { "\n" }
}

/// What the text is indented by, as its first part shows it.
fn unit(document: &Document<'_>) -> String {
    let first = document.root.as_ref().and_then(|root| root.items().first());
    let space = first.map_or("", |first| &document.text[first.space..first.start]);
    let indent = space.rfind('\n').map_or("", |at| &space[at + 1..]);
    if indent.is_empty() { UNIT.to_owned() } else { indent.to_owned() }
}

/// The white space at the start of the line that `at` is on.
fn line_indent(text: &str, at: usize) -> String {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

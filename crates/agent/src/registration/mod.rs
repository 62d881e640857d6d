//! How a hook is registered in the settings of an agent program: text in, text out.
//!
//! Settings belong to the user. They are edited as text, so every byte that is not ours stays, and
//! taking our entries out gives back what stood there before, also where other places were changed
//! in between. What has to be remembered for that is in the form of the text: an object or list
//! that was there and empty has a blank line before its end while our entry is in it; one that
//! came with our entry has none and goes with it.
//!
//! Comments and trailing commas are kept. The command is one text, quoted for a shell: versions
//! that know no `args` run it, and so do those that do.

mod edit;
mod entries;
mod layout;
mod scan;

pub use entries::{Handler, Subscription};
pub use scan::BadSettings;

use crate::product::Product;
use edit::{insert, remove_last};
use entries::{Wanted, ours, wanted};
use scan::{Document, Node};

/// Who should have the hook: the user of this machine, or everybody who clones the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Private,
    Shared,
}

/// The program that answers, word by word; the product's word is added to it.
#[derive(Clone, Copy, Debug)]
pub struct HookProgram<'a> {
    pub words: &'a [String],
}

/// The settings with the hook in them, in the place of older entries of ours. Once it is there,
/// doing it again changes nothing. Without a text, a new file is begun.
pub fn register(
    product: Product,
    text: Option<&str>,
    program: &HookProgram<'_>,
) -> Result<String, BadSettings> {
    let wanted = wanted(product, program);
    let base = match text {
        Some(text) if is_current(&Document::parse(text)?, &wanted) => return Ok(text.to_owned()),
        Some(text) => unregister(product, text)?,
        None => None,
    };
    let is_new = base.is_none();
    let mut text = base.unwrap_or_default();
    for each in &wanted {
        text = insert(&text, each)?;
    }
    if is_new {
        text = edit::as_new_file(&text);
    }
    Ok(text)
}

/// The settings without our entries; `None` if there was nothing else, so that the file can go.
pub fn unregister(_product: Product, text: &str) -> Result<Option<String>, BadSettings> {
    let mut text = text.to_owned();
    // Last in, first out: each step undoes one insertion.
    loop {
        match remove_last(&text, &Document::parse(&text)?) {
            edit::Removal::Nothing => return Ok(Some(text)),
            edit::Removal::Text(shorter) => text = shorter,
            edit::Removal::Everything => return Ok(None),
        }
    }
}

/// Whether every event that we need leads to a program of ours.
pub fn is_registered(product: Product, text: &str) -> bool {
    let Ok(document) = Document::parse(text) else { return false };
    let program = HookProgram { words: &[] };
    wanted(product, &program).iter().all(|each| our_groups(&document, each.event).next().is_some())
}

/// The words of the first command of ours in the settings, without the product's.
pub fn registered_program(product: Product, text: &str) -> Option<Vec<String>> {
    let document = Document::parse(text).ok()?;
    let events = document.root.as_ref()?.member("hooks")?.items();
    let mut groups = events.iter().flat_map(|event| event.value.items());
    let mut words = groups.find_map(|group| {
        group.value.member("hooks")?.items().iter().find_map(|handler| ours(&handler.value))
    })?;
    if words.last().is_some_and(|word| word == product.as_str()) {
        words.pop();
    }
    Some(words)
}

/// Settings as plain values, whatever comments are in them; none where they cannot be read.
pub(crate) fn value(text: &str) -> Option<serde_json::Value> {
    Document::parse(text).ok()?.root.map(|root| root.to_value())
}

/// Whether our entries are there as they should be, once each and nowhere else.
fn is_current(document: &Document<'_>, wanted: &[Wanted]) -> bool {
    let is_as_wanted = |each: &Wanted| {
        let mut groups = our_groups(document, each.event);
        groups.next().is_some_and(|group| each.group.matches(group)) && groups.next().is_none()
    };
    let Some(hooks) = document.root.as_ref().and_then(|root| root.member("hooks")) else {
        return false;
    };
    let found: usize = hooks.items().iter().map(|event| groups_of(&event.value).count()).sum();
    wanted.iter().all(is_as_wanted) && found == wanted.len()
}

fn our_groups<'d>(document: &'d Document<'_>, event: &str) -> impl Iterator<Item = &'d Node> {
    let root = document.root.as_ref();
    let list = root.and_then(|root| root.member("hooks")).and_then(|hooks| hooks.member(event));
    list.into_iter().flat_map(groups_of)
}

/// The groups of an event's list that have a handler of ours.
fn groups_of(list: &Node) -> impl Iterator<Item = &Node> {
    let has_ours = |group: &&Node| {
        let handlers = group.member("hooks").map_or(&[][..], Node::items);
        handlers.iter().any(|handler| ours(&handler.value).is_some())
    };
    list.items().iter().map(|item| &item.value).filter(has_ours)
}

#[cfg(test)]
mod tests;

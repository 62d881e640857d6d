//! How a hook is registered in the settings of an agent program: text in, text out.
//!
//! Settings belong to the user. They are edited as text, so every byte that is not ours stays, and
//! taking our entries out gives back what stood there before, also where other places were changed
//! in between. What has to be remembered for that is in the form of the text: an object or list
//! that was there and empty has a blank line before its end while our entry is in it; one that
//! came with our entry has none and goes with it.
//!
//! Comments and trailing commas are kept. Where a program can start a hook without a shell of its
//! own it is told to: Claude Code wraps everything else in the shell that we register.

mod edit;
mod entries;
mod layout;
mod scan;
mod servers;
pub(crate) mod starter;

pub use entries::{Handler, JOURNAL_OPTION, Ours, Subscription};
pub use scan::BadSettings;
pub use servers::{
    LocalServers, SERVER_NAME, ServerForm, ServerSettings, register_server, registered_server,
    unregister_server,
};

use crate::product::Product;
use edit::{insert, remove_last};
use entries::{VARIABLES, Wanted, groups, is_our_variable, ours, wanted};
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
    /// The journal without which nothing is to be allowed; none where the settings are everybody's.
    pub journal: Option<&'a str>,
    /// The program that shell calls are wrapped in, where the program can be told one.
    pub shell: Option<&'a str>,
}

impl<'a> HookProgram<'a> {
    /// A program that is told no journal and brings no shell.
    pub const fn new(words: &'a [String]) -> Self {
        Self { words, journal: None, shell: None }
    }
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

/// The same for settings that Waypost gives to a program that it starts itself.
pub fn register_given(
    product: Product,
    text: &str,
    program: &HookProgram<'_>,
) -> Result<String, BadSettings> {
    let mut text = register(product, Some(text), program)?;
    for each in groups(product, product.given_subscriptions(), program) {
        text = insert(&text, &each)?;
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
    let program = HookProgram::new(&[]);
    wanted(product, &program).iter().all(|each| match each {
        Wanted::Group { event, .. } => our_groups(&document, event).next().is_some(),
        Wanted::Variable { .. } => true,
    })
}

/// The words of the first command of ours in the settings, without the product's.
pub fn registered_program(product: Product, text: &str) -> Option<Vec<String>> {
    registered(product, text).map(|ours| ours.words)
}

/// The first command of ours in the settings.
pub fn registered(_product: Product, text: &str) -> Option<Ours> {
    let document = Document::parse(text).ok()?;
    let events = document.root.as_ref()?.member("hooks")?.items();
    let mut groups = events.iter().flat_map(|event| event.value.items());
    groups.find_map(|group| {
        group.value.member("hooks")?.items().iter().find_map(|handler| ours(&handler.value))
    })
}

/// The shell that the settings wrap calls in, if it is ours.
pub fn registered_shell(product: Product, text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let name = product.shell_variable()?;
    let value = document.root.as_ref()?.member(VARIABLES)?.member(name)?;
    is_our_variable(name, value).then(|| value.as_text().unwrap_or_default().to_owned())
}

/// Settings as plain values, whatever comments are in them; none where they cannot be read.
pub(crate) fn value(text: &str) -> Option<serde_json::Value> {
    Document::parse(text).ok()?.root.map(|root| root.to_value())
}

/// Whether our entries are there as they should be, once each and nowhere else.
fn is_current(document: &Document<'_>, wanted: &[Wanted]) -> bool {
    let root = document.root.as_ref();
    let variables = root.and_then(|root| root.member(VARIABLES));
    let is_as_wanted = |each: &Wanted| match each {
        Wanted::Group { event, group } => {
            let mut groups = our_groups(document, event);
            groups.next().is_some_and(|found| group.matches(found)) && groups.next().is_none()
        }
        // One of the user's own stays: then there is nothing to be done.
        Wanted::Variable { name, value } => variables
            .and_then(|variables| variables.member(name))
            .is_some_and(|found| !is_our_variable(name, found) || found.as_text() == Some(value)),
    };
    let Some(hooks) = root.and_then(|root| root.member("hooks")) else {
        return false;
    };
    let found: usize = hooks.items().iter().map(|event| groups_of(&event.value).count()).sum();
    let groups = wanted.iter().filter(|each| matches!(each, Wanted::Group { .. })).count();
    let is_wanted = |name: &str| {
        wanted.iter().any(|each| matches!(each, Wanted::Variable { name: it, .. } if *it == name))
    };
    let is_left = variables.is_some_and(|variables| {
        variables.items().iter().any(|item| {
            let name = item.key.as_deref().unwrap_or_default();
            is_our_variable(name, &item.value) && !is_wanted(name)
        })
    });
    wanted.iter().all(is_as_wanted) && found == groups && !is_left
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

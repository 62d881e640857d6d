//! From bytes to a document: decode, read, check, and show in the text what was found.

use super::failure::{Found, Sink};
use super::registry::schema_of;
use super::text::{decode, place};
use super::tree::{FINDINGS_MAX, Node, Path, Value};
use super::{form, json, reader, template, toml, yaml};
use waypost_model::diagnostic::{Diagnostic, Place, Severity};
use waypost_model::document::contract::{ContractIds, ContractLevel, ContractPlace};
use waypost_model::document::{Form, Kind, Syntax, code};

/// A document and what should be corrected in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<D> {
    pub value: D,
    /// Findings that do not keep the file from being used, in the order of the text.
    pub warnings: Vec<Diagnostic>,
}

/// Whether placeholders of a template are replaced or are errors like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Templates {
    Refused,
    Filled,
}

/// Reads a document strictly.
///
/// Every finding has a place in the text. When there is an error, all findings come back,
/// warnings among them, in the order of the text.
pub fn parse<D: Form>(bytes: &[u8]) -> Result<Parsed<D>, Vec<Diagnostic>> {
    read(bytes, Templates::Refused, None)
}

/// As `parse`, for a contract that stands at `place`: what it says of itself has to fit that.
pub fn parse_at<D: Form>(
    bytes: &[u8],
    place: &ContractPlace,
) -> Result<Parsed<D>, Vec<Diagnostic>> {
    read(bytes, Templates::Refused, Some(place))
}

pub(super) fn read<D: Form>(
    bytes: &[u8],
    templates: Templates,
    place: Option<&ContractPlace>,
) -> Result<Parsed<D>, Vec<Diagnostic>> {
    let (text, mut root) = tree::<D>(bytes)?;
    drop_duplicates(&mut root, text)?;
    let (value, warnings): (D, _) =
        read_tree(&mut root, text, templates).map_err(|findings| match place {
            Some(place) => beside(findings, (text, &root), misplaced::<D>(&root, place)),
            None => findings,
        })?;
    let mut found = value.check();
    found.extend(place.into_iter().flat_map(|place| value.check_place(place)));
    finish(value, found, (text, &root), warnings)
}

/// Where a path such as `agents.claude.command` leads in the text of a document, as far as it does;
/// none for text that has no form.
pub fn place_of<D: Form>(bytes: &[u8], path: &str) -> Option<Place> {
    let (text, root) = tree::<D>(bytes).ok()?;
    Some(place(text, root.locate(path)))
}

fn tree<D: Form>(bytes: &[u8]) -> Result<(&str, Node<'_>), Vec<Diagnostic>> {
    let syntax = D::SYNTAX;
    let text = decode(bytes, syntax).map_err(|finding| vec![*finding])?;
    let root = match syntax {
        Syntax::Json => json::tree(text).map_err(|finding| vec![*finding])?,
        Syntax::Yaml => yaml::tree(text).map_err(|finding| vec![*finding])?,
        Syntax::Toml => toml::tree(text)?,
    };
    Ok((text, root))
}

/// A key that occurs twice makes everything below it doubtful, so nothing else is reported.
fn drop_duplicates(root: &mut Node<'_>, text: &str) -> Result<(), Vec<Diagnostic>> {
    let mut found = Vec::new();
    root.drop_duplicates(text, &Path::Root, &mut found);
    if found.is_empty() { Ok(()) } else { Err(in_order(found)) }
}

/// Reads a tree into a document, filling in placeholders for as long as that helps.
fn read_tree<D: Form>(
    root: &mut Node<'_>,
    text: &str,
    templates: Templates,
) -> Result<(D, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    loop {
        let sink = Sink::new(text);
        let value = reader::read::<D>(root, &sink);
        let found = sink.into_found();
        if let (Some(value), true) = (value, found.is_empty()) {
            return Ok((value, warnings));
        }
        let may_fill =
            templates == Templates::Filled && warnings.len() < template::PLACEHOLDERS_MAX;
        let filled = if may_fill { template::fill(root, text, &found) } else { Vec::new() };
        if filled.is_empty() {
            let found = whole::<D>(root, text, found);
            return Err(in_order(errors(found).chain(warnings).collect()));
        }
        warnings.extend(filled);
    }
}

/// With all else that is wrong with the form. Of other documents than those of sessions some names and words are
/// read that their schemas do not have, so that these cannot tell what is unknown.
fn whole<D: Form>(root: &Node<'_>, text: &str, found: Vec<Found>) -> Vec<Found> {
    let is_whole = |kind| ContractLevel::of(kind).is_some() || kind == Kind::Knowledge;
    if !D::DOCUMENT.is_some_and(is_whole) {
        return found;
    }
    let sink = Sink::resumed(text, found);
    form::complete(root, &schema_of::<D>(), &sink);
    sink.into_found()
}

/// What does not fit the place of a contract whose form is wrong, by the ids that can be read.
fn misplaced<D: Form>(root: &Node<'_>, place: &ContractPlace) -> Vec<Diagnostic> {
    let text_of = |name: &str| match &root.value {
        Value::Map(entries) => entries.iter().find_map(|entry| match &entry.node.value {
            Value::Text(text) if entry.key == name => Some(text.to_string()),
            _ => None,
        }),
        _ => None,
    };
    let request = text_of("request_id").and_then(|it| it.parse().ok());
    let task = text_of("task_id").and_then(|it| it.parse().ok());
    let subtask = text_of("subtask_id").and_then(|it| it.parse().ok());
    let ids =
        ContractIds { request: request.as_ref(), task: task.as_ref(), subtask: subtask.as_ref() };
    D::DOCUMENT.map(|kind| place.check(kind, ids)).unwrap_or_default()
}

/// More findings beside those of the form; none beside a wrong version.
fn beside(
    mut findings: Vec<Diagnostic>,
    (text, root): (&str, &Node<'_>),
    more: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    if findings.iter().any(|it| it.code == code::WRONG_VERSION) {
        return findings;
    }
    let room = FINDINGS_MAX.saturating_sub(findings.len());
    findings.extend(more.into_iter().take(room).map(|mut finding| {
        finding.place = Some(place(text, root.locate(&finding.path)));
        finding
    }));
    in_order(findings)
}

/// The findings to report: a wrong version alone, since nothing else can be expected to fit then.
fn errors(found: Vec<Found>) -> impl Iterator<Item = Diagnostic> {
    let is_version = |found: &Found| found.finding.code == code::WRONG_VERSION;
    let only_version = found.iter().any(is_version);
    let shown = move |found: &Found| !only_version || is_version(found);
    found.into_iter().filter(shown).map(|found| found.finding)
}

/// Shows in the text what was found in a document whose every field is well formed.
fn finish<D: Form>(
    value: D,
    mut found: Vec<Diagnostic>,
    (text, root): (&str, &Node<'_>),
    mut findings: Vec<Diagnostic>,
) -> Result<Parsed<D>, Vec<Diagnostic>> {
    // Errors first, so that none is cut off in favour of a warning.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found.truncate(FINDINGS_MAX);
    for finding in &mut found {
        finding.place = Some(place(text, root.locate(&finding.path)));
    }
    let has_error = found.iter().any(|finding| finding.severity == Severity::Error);
    findings.extend(found);
    let findings = in_order(findings);
    if has_error { Err(findings) } else { Ok(Parsed { value, warnings: findings }) }
}

fn in_order(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    findings.sort_by_key(|finding| finding.place);
    findings
}

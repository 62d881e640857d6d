//! Values: kept in the vault first, then told to the machine that asked.

use super::{GivenReply, RecordedReply};
use crate::{
    error::{EngineError, Problem},
    project::Project,
    values::{self, ValueWanted},
};
use waypost_agent::protocol::DependencyKind;
use waypost_model::{
    code::Code,
    id::EntryId,
    inbox::{Reply, WantedKind},
    machine::Rejected,
    next::NextStep,
};
use waypost_redact::Secret;

/// The variable that an entry wants a value for, and the version of the entry; refused as any reply to
/// it would be, before a person has typed something secret for nothing.
pub fn wanted_value(
    project: &mut Project,
    id: &EntryId,
    version: Option<u32>,
) -> Result<(String, u32), EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("giving a value").into());
    }
    let inbox = project.inbox()?;
    let (entry, _) = inbox.read_reply(id, Reply::Provide, version)?;
    let name = entry.question.wanted_value().map(|value| value.name.clone());
    Ok((name.unwrap_or_else(|| entry.question.title.clone()), entry.version))
}

/// Keeps a value in the vault and tells the machine that asked that it is there. The value itself is
/// in no event: should the program die in between, it is in the vault and the entry still waits.
pub fn provide(
    project: &mut Project,
    id: &EntryId,
    value: &Secret,
    version: Option<u32>,
) -> Result<RecordedReply, EngineError> {
    wanted_value(project, id, version)?;
    let inbox = project.inbox()?;
    let question = &inbox.find(id)?.question;
    let (Some(wanted), Some((stream, _))) = (question.wanted_value(), question.subject.read())
    else {
        let message = format!("{id} does not say which value it wants");
        return Err(Problem::new(Code::NotAsked, message).next(NextStep::ShowInbox).into());
    };
    let task = stream.instance().unwrap_or(stream.as_str());
    let (name, kind) = (wanted.name.as_str(), dependency_kind(wanted.kind));
    let kept = values::provide(project, ValueWanted { task, name, kind }, value)?;
    if !kept.is_guarded {
        let text = format!("{} is so short that it cannot be taken out of logs", kept.variable);
        project.notice(text);
    }
    super::record(project, id, GivenReply { reply: Reply::Provide, version })
}

/// The kind of a value in the words of the text protocol.
fn dependency_kind(kind: WantedKind) -> DependencyKind {
    match kind {
        WantedKind::ApiKey => DependencyKind::ApiKey,
        WantedKind::EnvVariable => DependencyKind::EnvVariable,
        WantedKind::Service => DependencyKind::Service,
        WantedKind::File => DependencyKind::File,
        WantedKind::Permission => DependencyKind::Permission,
        WantedKind::Package => DependencyKind::Package,
    }
}

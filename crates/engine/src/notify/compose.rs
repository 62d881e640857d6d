//! What is sent: one notice in the words and bytes of each target.
//!
//! Titles and failures are text of others. Secrets are taken out of them, they are made plain and
//! of limited length, and a target that would read markup in them is told not to.

use super::target::{Channel, Hidden, Reached};
use crate::spelling::{Spelling, in_order};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use sha2::Sha256;
use waypost_model::{
    notice::{Notice, NoticeKind},
    time::Time,
};
use waypost_redact::Redactor;

/// A title is one line, on a phone too.
const TITLE_MAX: usize = 200;

/// ntfy turns what is longer than 4,096 bytes into an attachment.
const TEXT_MAX: usize = 3_000;

/// A notice that may leave the machine: without secrets, plain and short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The same however often and to whichever target it is sent.
    pub(crate) id: String,
    pub(crate) project: String,
    pub(crate) notice: Notice,
}

/// What is posted.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) address: Hidden,
    pub(crate) is_loopback: bool,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl std::fmt::Debug for Post {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Message {
    pub(crate) fn new(id: String, project: &str, notice: &Notice, redactor: &Redactor) -> Self {
        let line = |text: &str| shortened(&one_line(&redactor.clean(text)), TITLE_MAX);
        let text = shortened(redactor.clean(&notice.text).trim(), TEXT_MAX);
        let notice = Notice { title: line(&notice.title), text, ..notice.clone() };
        Self { id, project: line(project), notice }
    }

    /// Says what to do about it, at the end of the text.
    pub(crate) fn spelled(mut self, spelling: Spelling) -> Self {
        let steps = std::mem::take(&mut self.notice.next);
        if !steps.is_empty() {
            let next = in_order(&steps, spelling);
            self.notice.text = format!("{}\nNext: {next}", self.notice.text).trim_start().into();
        }
        self
    }

    /// The message as `target` wants it; `now` is when it is sent.
    pub(crate) fn post(&self, target: &Reached, now: Time) -> Post {
        let (headers, body) = match target.channel {
            Channel::Slack => (vec![("content-type", JSON.to_owned())], self.slack()),
            Channel::Ntfy => (self.ntfy_headers(&target.secret), self.ntfy_body()),
            Channel::Webhook => {
                let body = self.json();
                (self.webhook_headers(&target.secret, &body, now), body)
            }
        };
        let Reached { address, is_loopback, .. } = target;
        Post { address: address.clone(), is_loopback: *is_loopback, headers, body }
    }

    fn headline(&self) -> String {
        format!("{}: {}", self.project, self.notice.title)
    }

    fn slack(&self) -> String {
        #[derive(Serialize)]
        struct Slack {
            text: String,
            mrkdwn: bool,
            unfurl_links: bool,
            unfurl_media: bool,
        }
        let text = format!("{}\n{}", self.headline(), self.notice.text);
        let text = escaped(text.trim_end());
        written(&Slack { text, mrkdwn: false, unfurl_links: false, unfurl_media: false })
    }

    fn ntfy_headers(&self, token: &Hidden) -> Vec<(&'static str, String)> {
        let (priority, tag) = match self.notice.kind {
            NoticeKind::Start => ("3", "arrow_forward"),
            NoticeKind::TaskFailed => ("4", "x"),
            NoticeKind::PhaseDone => ("3", "package"),
            NoticeKind::NeedsYou => ("4", "raised_hand"),
            NoticeKind::DefaultTaken => ("3", "hourglass"),
            NoticeKind::AllDone => ("3", "checkered_flag"),
            NoticeKind::RunStalled => ("4", "warning"),
            NoticeKind::RunStopped => ("4", "stop_button"),
            NoticeKind::EngineLost => ("4", "skull"),
        };
        let mut headers = vec![
            ("content-type", "text/plain; charset=utf-8".to_owned()),
            ("title", encoded_word(&self.headline())),
            ("priority", priority.to_owned()),
            ("tags", tag.to_owned()),
        ];
        if !token.0.is_empty() {
            headers.push(("authorization", format!("Bearer {}", token.0)));
        }
        headers
    }

    /// An empty message would be shown as "triggered".
    fn ntfy_body(&self) -> String {
        let Notice { title, text, .. } = &self.notice;
        if text.is_empty() { title.clone() } else { text.clone() }
    }

    fn json(&self) -> String {
        #[derive(Serialize)]
        struct Json<'a> {
            id: &'a str,
            kind: NoticeKind,
            project: &'a str,
            title: &'a str,
            text: &'a str,
            task: Option<&'a str>,
            phase: Option<u32>,
            time: String,
        }
        let Notice { kind, title, text, task, phase, at, .. } = &self.notice;
        let task = task.as_ref().map(|id| id.as_str());
        let (id, project, time) = (&self.id, &self.project, at.to_string());
        written(&Json { id, kind: *kind, project, title, text, task, phase: *phase, time })
    }

    fn webhook_headers(
        &self,
        secret: &Hidden,
        body: &str,
        now: Time,
    ) -> Vec<(&'static str, String)> {
        let timestamp = now.millis().div_euclid(1_000).to_string();
        let mut headers = vec![("content-type", JSON.to_owned()), ("webhook-id", self.id.clone())];
        if !secret.0.is_empty() {
            let signature = signature(secret, &format!("{}.{timestamp}.{body}", self.id));
            headers.push(("webhook-signature", signature));
        }
        headers.push(("webhook-timestamp", timestamp));
        headers
    }
}

const JSON: &str = "application/json";

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers can be written")
}

/// The signature of Standard Webhooks. A secret that is not in its form is taken as it stands.
pub(super) fn signature(secret: &Hidden, content: &str) -> String {
    let coded = secret.0.strip_prefix("whsec_").and_then(|text| STANDARD.decode(text).ok());
    let key = coded.unwrap_or_else(|| secret.0.clone().into_bytes());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key may have any length");
    mac.update(content.as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Slack's three characters, and no person is called who is only named.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    ["channel", "here", "everyone"]
        .into_iter()
        .fold(text, |text, word| text.replace(&format!("@{word}"), &format!("@\u{2060}{word}")))
}

/// A header's value: as it is, or coded if it has other letters than those of ASCII (RFC 2047).
fn encoded_word(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_owned(),
        false => format!("=?UTF-8?B?{}?=", STANDARD.encode(text)),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `max` bytes: the beginning and the end, which says what to do next.
fn shortened(text: &str, max: usize) -> String {
    const GAP: &str = " … ";
    if text.len() <= max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary((max - GAP.len()) * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - (max - GAP.len()) / 3);
    format!("{}{GAP}{}", &text[..head], &text[tail..])
}

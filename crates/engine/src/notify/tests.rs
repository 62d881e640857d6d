//! What is sent, byte for byte, and what becomes of a row.

use super::{
    Wanted,
    compose::Message,
    target::{Channel, Hidden, Reached},
};
use waypost_model::{
    config::{Config, NotifyConfig},
    notice::{Notice, NoticeKind},
    time::Time,
};
use waypost_redact::Redactor;

const NOW: Time = Time::from_millis(1_614_265_330_999);

fn reached(channel: Channel, secret: &str) -> Reached {
    let address = Hidden("https://h.example/p".into());
    Reached { channel, address, secret: Hidden(secret.into()), is_loopback: false }
}

fn message(title: &str, text: &str) -> Message {
    let notice = Notice::new(NoticeKind::TaskFailed, title, Time::from_millis(1_614_265_000_000));
    let notice = notice.text(text).task("T1.2".parse().unwrap()).phase(1);
    let redactor = Redactor::of(["canary-4711".to_owned()]);
    Message::new("j1-run-7-1".into(), "shop", &notice, &redactor)
}

/// All that is posted: headers in order, an empty line, the body.
fn posted(message: &Message, target: &Reached) -> String {
    let post = message.post(target, NOW);
    let headers = post.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    format!("{}\n{}", headers.collect::<String>(), post.body)
}

#[test]
fn slack_gets_plain_text_that_calls_nobody() {
    let message = message("T1.2 failed: *pay* <!channel> & @here", "no canary-4711\nNext: x");
    assert_eq!(
        posted(&message, &reached(Channel::Slack, "")),
        "content-type: application/json\n\n\
         {\"text\":\"shop: T1.2 failed: *pay* &lt;!channel&gt; &amp; @\u{2060}here\\n\
         no [redacted]\\nNext: x\",\"mrkdwn\":false,\"unfurl_links\":false,\"unfurl_media\":false}"
    );
}

#[test]
fn ntfy_gets_a_title_in_any_script_and_its_token() {
    assert_eq!(
        posted(&message("T1.2 failed", "why"), &reached(Channel::Ntfy, "tk_1")),
        "content-type: text/plain; charset=utf-8\ntitle: shop: T1.2 failed\npriority: 4\n\
         tags: x\nauthorization: Bearer tk_1\n\nwhy"
    );
    assert_eq!(
        posted(&message("장바구니", ""), &reached(Channel::Ntfy, "")),
        "content-type: text/plain; charset=utf-8\n\
         title: =?UTF-8?B?c2hvcDog7J6l67CU6rWs64uI?=\npriority: 4\ntags: x\n\n장바구니"
    );
}

#[test]
fn a_webhook_gets_json_and_a_signature_over_it() {
    let json = "{\"id\":\"j1-run-7-1\",\"kind\":\"task_failed\",\"project\":\"shop\",\
                \"title\":\"T1.2 failed\",\"text\":\"why\",\"task\":\"T1.2\",\"phase\":1,\
                \"time\":\"2021-02-25T14:56:40Z\"}";
    let message = message("T1.2 failed", "why");
    assert_eq!(
        posted(&message, &reached(Channel::Webhook, "")),
        format!(
            "content-type: application/json\nwebhook-id: j1-run-7-1\n\
             webhook-timestamp: 1614265330\n\n{json}"
        )
    );
    let signed = posted(&message, &reached(Channel::Webhook, "any text"));
    assert!(signed.contains("\nwebhook-signature: v1,"), "{signed}");
}

/// The example of the Standard Webhooks libraries.
#[test]
fn signatures_are_those_of_standard_webhooks() {
    let secret = Hidden("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
    let content = "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{\"test\": 2432232314}";
    assert_eq!(
        super::compose::signature(&secret, content),
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    );
}

#[test]
fn long_texts_keep_their_beginning_and_their_end_and_no_half_of_a_secret() {
    let text = format!("begin {} canary-4711 {} end", "가".repeat(600), "b".repeat(9_000));
    let message = message(&"t ".repeat(900), &text);
    let Notice { title, text, .. } = &message.notice;
    assert!(title.len() <= 200 && text.len() <= 3_000, "{} {}", title.len(), text.len());
    assert!(text.starts_with("begin 가") && text.ends_with("b end"), "{text}");
    assert!(text.contains(" … ") && !text.contains("canary"), "{text}");
    assert!(!title.contains('\n'), "{title}");
}

#[test]
fn each_kind_has_its_switch_and_nothing_is_wanted_without_a_target() {
    let nobody = Wanted::of(&Config::default());
    let silent = |change: fn(&mut NotifyConfig)| {
        let mut config = Config::default();
        config.notify.ntfy = "env:NTFY".into();
        change(&mut config.notify);
        let wanted = Wanted::of(&config);
        let is_silent = |kind: &NoticeKind| wanted.targets_of(*kind).is_empty();
        NoticeKind::ALL.into_iter().filter(is_silent).collect::<Vec<_>>()
    };
    assert!(NoticeKind::ALL.iter().all(|kind| nobody.targets_of(*kind).is_empty()));
    assert_eq!(silent(|_| {}), []);
    assert_eq!(silent(|it| it.notify_on_start = false), [NoticeKind::Start]);
    assert_eq!(silent(|it| it.notify_on_task_failed = false), [NoticeKind::TaskFailed]);
    assert_eq!(silent(|it| it.notify_on_phase_done = false), [NoticeKind::PhaseDone]);
    assert_eq!(silent(|it| it.notify_on_needs_you = false), [NoticeKind::NeedsYou]);
    assert_eq!(silent(|it| it.notify_on_default_taken = false), [NoticeKind::DefaultTaken]);
    assert_eq!(silent(|it| it.notify_on_all_done = false), [NoticeKind::AllDone]);
    assert_eq!(silent(|it| it.notify_on_run_stalled = false), [NoticeKind::RunStalled]);
    assert_eq!(silent(|it| it.notify_on_run_stopped = false), [NoticeKind::RunStopped]);
    assert_eq!(silent(|it| it.notify_on_engine_lost = false), [NoticeKind::EngineLost]);
}

mod rows {
    use super::super::{
        deliver::{Parcel, Row, settle},
        send::Outcome,
    };
    use super::NOW;
    use std::time::Duration;
    use waypost_model::{
        notice::{Notice, NoticeKind},
        time::Time,
    };

    fn row(attempts: u32, age: Duration) -> Row {
        let at = Time::from_millis(NOW.millis() - i64::try_from(age.as_millis()).unwrap());
        let notice = Notice::new(NoticeKind::Start, "t", at);
        let parcel = Parcel { target: "slack".into(), notice, attempts, why: String::new() };
        Row { id: 1, notice_key: "run/1/1".into(), due: None, parcel }
    }

    /// How long a row waits after a failure; none: it is given up.
    fn wait(attempts: u32, age: u64, after: Option<u64>) -> Option<u64> {
        let row = row(attempts, Duration::from_secs(age));
        let after = after.map(Duration::from_secs);
        match settle(row, Outcome::Later { why: "no".into(), after }, NOW) {
            (row, Outcome::Later { .. }) => {
                assert_eq!((row.parcel.attempts, row.parcel.why.as_str()), (attempts + 1, "no"));
                Some(row.due.unwrap().since(NOW).as_secs())
            }
            (_, Outcome::Never { why }) => {
                assert_eq!(why, "no, for a day now");
                None
            }
            (_, Outcome::Delivered) => panic!("it was not delivered"),
        }
    }

    #[test]
    fn tries_become_rarer_until_a_day_has_passed() {
        for (attempts, plain) in [(0, 5), (1, 10), (5, 160), (12, 1_800), (4_000, 1_800)] {
            let got = wait(attempts, 60, None).unwrap();
            assert!((plain..=plain * 5 / 4).contains(&got), "{attempts}: {got}");
        }
        assert_eq!(wait(7, 24 * 3_600, None), None);
    }

    #[test]
    fn a_host_that_names_a_time_is_not_asked_before_it() {
        assert_eq!(wait(0, 60, Some(77)), Some(77));
        assert_eq!(wait(0, 60, Some(0)), Some(1));
        assert_eq!(wait(0, 60, Some(u64::MAX)), Some(24 * 3_600));
    }
}

mod outbox {
    use super::super::{Courier, Parcel};
    use crate::project::Project;
    use std::time::Duration;
    use waypost_model::next::Remark;
    use waypost_model::{
        actor::Actor,
        notice::{Notice, NoticeKind},
        time::Time,
    };
    use waypost_store::journal::NewEffect;

    #[test]
    fn what_nobody_is_configured_for_waits_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
        let now = project.clock.now();
        let stream = Project::run_stream();
        let mut tx = project.ensure_journal().unwrap().transaction().unwrap();
        for (key, hours) in [("old@nobody", 25), ("new@nobody", 23)] {
            let age = Duration::from_secs(hours * 3_600);
            let at = Time::from_millis(now.millis() - i64::try_from(age.as_millis()).unwrap());
            let notice = Notice::new(NoticeKind::Start, "t", at);
            let target = "nobody".to_owned();
            let parcel = Parcel { target, notice, attempts: 0, why: String::new() };
            let body = serde_json::to_string(&parcel).unwrap();
            let (stream, kind, body) = (&stream, "notify", body.as_str());
            tx.queue(&[NewEffect { key, stream, stream_seq: 0, kind, body, due: None }]).unwrap();
        }
        tx.commit().unwrap();
        Courier::new(&project).finish(&mut project);
        let view = project.journal.as_mut().unwrap().view().unwrap();
        let open = view.open_effects_of("notify", 9).unwrap();
        let keys: Vec<&str> = open.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["new@nobody"]);
        drop(view);
        assert_eq!(
            project.take_notices(),
            [Remark::from(
                "1 notice for nobody given up: nothing of that name was configured for a day"
            )]
        );
    }
}

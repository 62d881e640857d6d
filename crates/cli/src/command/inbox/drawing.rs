//! Entries of the inbox as a person reads them: a line in the list, and a page.

use crate::{
    output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, styled},
    show, spelling,
};
use std::fmt::Write as _;
use waypost_engine::WaitingEntry;
use waypost_model::{
    inbox::{Entry, PhaseReview, ReplyVerb, ReviewedDiff, VerificationFinding},
    text::plain,
    time::Time,
};

/// An entry as a line of the list.
pub(super) fn line(waiting: &WaitingEntry, now: Time) -> String {
    let WaitingEntry { entry, holds } = waiting;
    let id = styled(BOLD, format!("{:5}", entry.id));
    let age = format!("{} ago", show::duration(now.since(entry.since)));
    let facts = [Some(entry.question.kind.to_string()), held(*holds), Some(age)];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let mut line = format!("{id} {}  {}", entry.question.title, styled(DIM, facts));
    if let Some(left) = default_in(entry, now) {
        let _infallible = write!(line, " · {}", styled(YELLOW, left));
    }
    line
}

/// What waits behind an entry.
fn held(holds: usize) -> Option<String> {
    match holds {
        0 => None,
        1 => Some("holds 1 task".to_owned()),
        count => Some(format!("holds {count} tasks")),
    }
}

/// What is taken without an answer, and how soon.
fn default_in(entry: &Entry, now: Time) -> Option<String> {
    let default = entry.question.otherwise.as_ref()?.reply_in_words();
    let value = entry.question.wanted_value().and_then(|value| value.default.as_ref());
    let default = value.map_or(default, |value| format!("it goes on with {value}"));
    Some(match entry.deadline? {
        deadline if deadline > now => {
            format!("{default} in {}", show::countdown(deadline.since(now)))
        }
        _ => format!("{default} as soon as the engine works"),
    })
}

/// An entry in full.
pub(super) fn page(waiting: &WaitingEntry, now: Time) -> String {
    let WaitingEntry { entry, holds } = waiting;
    let question = &entry.question;
    let mut page = format!("{} {}\n", styled(BOLD, &entry.id), styled(BOLD, &question.title));
    let facts = [
        Some(question.subject.to_string()),
        Some(format!("since {}", entry.since)),
        (entry.version > 1).then(|| format!("version {}", entry.version)),
        held(*holds),
        (!question.is_required).then(|| "optional".to_owned()),
    ];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let _infallible = writeln!(page, "{}", styled(DIM, facts));
    if let Some(left) = default_in(entry, now) {
        let _infallible =
            writeln!(page, "{}", styled(YELLOW, format!("without an answer: {left}")));
    }
    let _infallible = writeln!(page, "\n{}", question.text);
    if let Some(value) = question.wanted_value() {
        let _infallible = writeln!(page, "\n{} {}", styled(CYAN, "variable:"), value.name);
    }
    if let Some(review) = question.phase_review() {
        draw_review(&mut page, review);
    }
    page.push('\n');
    for (at, verb) in question.verbs().into_iter().enumerate() {
        let label = if at == 0 { "answer:" } else { "or:    " };
        let _infallible = writeln!(page, "{} {}", styled(CYAN, label), command(entry, verb));
    }
    if let Some(next) = spelling::any_of(&question.next) {
        let _infallible = writeln!(page, "{} {next}", styled(CYAN, "next:"));
    }
    page.truncate(page.trim_end().len());
    page
}

/// The command line that says this to the entry. A review is approved as it was seen.
fn command(entry: &Entry, verb: ReplyVerb) -> String {
    let line = spelling::command_line(&entry.step(verb));
    match verb {
        ReplyVerb::Approve | ReplyVerb::Changes if entry.question.phase_review().is_some() => {
            format!("{line} --version {}", entry.version)
        }
        _ => line,
    }
}

fn draw_review(page: &mut String, review: &PhaseReview) {
    if !review.deliverables.is_empty() {
        let width = review.deliverables.iter().map(|it| it.path.chars().count()).max().unwrap_or(0);
        heading(page, "deliverables");
        for file in &review.deliverables {
            let (path, size) = (plain(&file.path), show::size(file.bytes));
            let _infallible = writeln!(page, "  {path:width$}  {}", styled(DIM, size));
        }
    }
    if !review.findings.is_empty() {
        heading(page, "findings of the verification");
        review.findings.iter().for_each(|finding| draw_finding(page, finding));
    }
    if !review.comments.is_empty() {
        heading(page, "comments when changes were last asked for");
        for comment in &review.comments {
            let place = styled(BOLD, format!("{}:{}", plain(&comment.file), comment.line));
            let _infallible = writeln!(page, "  {place} {}", indented(&plain(&comment.text)));
        }
    }
    if review.left_out > 0 {
        let text = format!("{} more did not fit here", review.left_out);
        let _infallible = writeln!(page, "  {}", styled(DIM, text));
    }
    if let Some(diff) = &review.diff {
        draw_diff(page, diff);
    }
}

fn heading(page: &mut String, text: &str) {
    let _infallible = writeln!(page, "\n{}", styled(CYAN, format!("{text}:")));
}

fn draw_finding(page: &mut String, finding: &VerificationFinding) {
    let mark = if finding.is_blocking { styled(RED, "!") } else { styled(DIM, "-") };
    let place = match (&finding.file, finding.line) {
        (Some(file), Some(line)) => format!("{}:{line} ", plain(file)),
        (Some(file), None) => format!("{} ", plain(file)),
        _ => String::new(),
    };
    let text = indented(&plain(&finding.text));
    let _infallible = writeln!(page, "  {mark} {}{text}", styled(BOLD, place));
}

/// A text whose further lines stand below its first.
fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n    ")
}

fn draw_diff(page: &mut String, diff: &ReviewedDiff) {
    let ReviewedDiff { files, added, removed, .. } = diff;
    let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    heading(page, &format!("changes since the last phase, {files}, +{added} -{removed}"));
    for line in plain(&diff.text).lines() {
        let line = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => styled(BOLD, line),
            Some(b'+') => styled(GREEN, line),
            Some(b'-') => styled(RED, line),
            Some(b'@') => styled(CYAN, line),
            _ => line.to_owned(),
        };
        let _infallible = writeln!(page, "  {line}");
    }
    if diff.is_cut {
        let ReviewedDiff { folder, base, head, .. } = diff;
        let text = format!("the rest: git -C {folder} diff {base} {head}");
        let _infallible = writeln!(page, "  {}", styled(DIM, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waypost_model::inbox::{
        Command, Inbox, LineComment, Question, QuestionKind, Reply, ReviewedFile, Topic,
    };
    use waypost_model::{
        actor::Actor,
        machine::{Asked, Machine as _},
    };

    fn asked(questions: Vec<Question<Topic>>) -> Vec<Entry> {
        let mut inbox = Inbox::start();
        let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(0) };
        for question in questions {
            let ask = Command::Ask(question.asked_by(&"task:1".parse().unwrap()));
            for event in inbox.decide(&ask, &asked).unwrap().events {
                inbox.apply(&event, asked.now);
            }
        }
        inbox.open().to_vec()
    }

    fn shown(question: Question<Topic>, holds: usize, seconds: i64) -> String {
        let entry = asked(vec![question]).remove(0);
        let (waiting, now) = (WaitingEntry { entry, holds }, Time::from_millis(1_000 * seconds));
        let text = format!("{}\n\n{}", line(&waiting, now), page(&waiting, now));
        anstream::adapter::strip_str(&text).to_string()
    }

    fn question(kind: QuestionKind, topic: &str) -> Question<Topic> {
        Question::new(kind, Topic::new(topic), "which port?", "It has to be free.")
    }

    #[test]
    fn an_optional_question_shows_its_default_and_how_soon() {
        let port = question(QuestionKind::AgentQuestion, "item/1-2").choices(["80", "443"]);
        let port = port.optional(Some(Reply::answer("80")));
        insta::assert_snapshot!("optional", shown(port.clone(), 3, 605));
        let late = shown(port, 1, 4_000);
        assert!(late.contains("`answer 80` as soon as the engine works"), "{late}");
    }

    #[test]
    fn a_review_shows_everything_that_is_to_be_approved() {
        let comment: LineComment = "docs/01_idea.md:12:too vague\nsay more".parse().unwrap();
        let finding = |is_blocking, file: Option<&str>| VerificationFinding {
            is_blocking,
            text: "a placeholder is left".into(),
            file: file.map(str::to_owned),
            line: file.map(|_| 4),
        };
        let text = "--- a/docs/01_idea.md\n+++ b/docs/01_idea.md\n@@ -1 +1 @@\n-old\n+new\u{1b}[2J";
        let review = PhaseReview {
            phase: 1,
            name: "Planning".into(),
            deliverables: vec![
                ReviewedFile { path: "docs/01_idea.md".into(), bytes: 812 },
                ReviewedFile { path: "docs/02_market_of_all.md".into(), bytes: 40_960 },
            ],
            diff: Some(ReviewedDiff {
                folder: "/w/1".into(),
                base: "1234567".into(),
                head: "89abcde".into(),
                files: 1,
                added: 1,
                removed: 1,
                text: text.into(),
                is_cut: true,
            }),
            findings: vec![finding(true, Some("docs/01_idea.md")), finding(false, None)],
            comments: vec![comment],
            left_out: 0,
        };
        let asked = question(QuestionKind::Review, "review/1").review(review);
        insta::assert_snapshot!("review", shown(asked, 1, 7_300));
    }
}

//! What the programs of code hosts do, and other version controls: pull requests and pushes.

use crate::deed::Branch;
use crate::options::{has, positionals, value};
use crate::walk::Walk;
use crate::word::UNKNOWN;

impl Walk<'_> {
    fn note_publish(&mut self, words: &str) {
        self.deed.publishes.get_or_insert_with(|| words.to_owned());
    }

    fn made_at_run_time(&mut self, words: &str) {
        self.unknowable(&format!("what `{words}` does is only known at run time"));
    }

    pub(crate) fn gh(&mut self, arguments: &[String], words: &str) {
        let named = positionals(arguments, &["-R", "--repo", "--hostname"]);
        match named.as_slice() {
            [
                "pr",
                "create" | "new" | "merge" | "ready" | "close" | "reopen" | "revert"
                | "update-branch",
                ..,
            ] => {
                self.note_publish(words);
            }
            ["pr", "edit", ..] if has(arguments, &["--base", "-B"]) => self.note_publish(words),
            ["pr", "checkout" | "co", ..] => self.write_unknown(words),
            ["api", ..] => self.api(arguments, words),
            ["repo", "sync", ..] => self.note_push(Branch::Unknown, words),
            ["alias", "set" | "import", ..] => {
                self.unknowable("an alias of gh would give a command another name");
            }
            [noun, ..] if noun.contains(UNKNOWN) => self.made_at_run_time(words),
            ["pr", verb, ..] if verb.contains(UNKNOWN) => self.made_at_run_time(words),
            _ => {}
        }
    }

    pub(crate) fn hub(&mut self, arguments: &[String], words: &str) {
        match arguments.first().map(String::as_str) {
            Some("pull-request" | "sync") => self.note_publish(words),
            Some("api") => self.api(arguments, words),
            _ => self.git(arguments, words),
        }
    }

    pub(crate) fn glab(&mut self, arguments: &[String], words: &str) {
        let named = positionals(arguments, &["-R", "--repo"]);
        match named.as_slice() {
            [
                "mr",
                "create" | "new" | "for" | "merge" | "accept" | "close" | "reopen" | "rebase",
                ..,
            ] => {
                self.note_publish(words);
            }
            ["mr", "update", ..]
                if has(arguments, &["--target-branch", "--ready", "--draft", "-r"]) =>
            {
                self.note_publish(words);
            }
            ["mr", "checkout", ..] => self.write_unknown(words),
            ["api", ..] => self.api(arguments, words),
            ["alias", "set", ..] => {
                self.unknowable("an alias of glab would give a command another name");
            }
            [noun, ..] if noun.contains(UNKNOWN) => self.made_at_run_time(words),
            ["mr", verb, ..] if verb.contains(UNKNOWN) => self.made_at_run_time(words),
            _ => {}
        }
    }

    /// `gh api`, `hub api` and `glab api`: a request that changes something.
    fn api(&mut self, arguments: &[String], words: &str) {
        let method = value(arguments, &["-X", "--method"]).map(str::to_ascii_uppercase);
        let has_fields = has(arguments, &["-f", "-F", "--field", "--raw-field", "--input"]);
        let reads = match method.as_deref() {
            Some(method) => matches!(method, "GET" | "HEAD"),
            None => !has_fields,
        };
        let text = arguments.join(" ");
        if text.contains("graphql") {
            if text.contains("mutation") {
                self.note_publish(words);
            } else if text.contains(UNKNOWN) || text.contains('@') || has(arguments, &["--input"]) {
                self.made_at_run_time(words);
            }
        } else if !reads {
            self.changing_request(&text, words);
        }
    }

    /// A request that is no mere question, judged by its address.
    fn changing_request(&mut self, text: &str, words: &str) {
        let is_talk = ["/comments", "/reviews", "/requested_reviewers", "/notes"]
            .iter()
            .any(|part| text.contains(part));
        if text.contains("/merge") || (text.contains("/pulls") && !is_talk) {
            self.note_publish(words);
        } else if ["/git/", "/contents", "/repository/commits", "/repository/files"]
            .iter()
            .any(|part| text.contains(part))
        {
            self.note_push(Branch::Unknown, words);
        } else if text.contains(UNKNOWN) {
            self.made_at_run_time(words);
        }
    }

    /// A plain request over the network: only those to the interface of a code host count.
    pub(crate) fn request(&mut self, arguments: &[String], words: &str) {
        let text = arguments.join(" ");
        let is_host = ["api.github.com", "/api/v3", "/api/v4", "/api/graphql"]
            .iter()
            .any(|host| text.contains(host));
        if !is_host {
            return;
        }
        let asks = ["POST", "PUT", "PATCH", "DELETE"].iter().any(|verb| text.contains(verb))
            || ["--data", "--post", "--json", "--form", "--upload-file"]
                .iter()
                .any(|name| arguments.iter().any(|it| it.starts_with(name)))
            || has(arguments, &["-d", "-F", "-T", "-K", "--config"]);
        if asks && text.contains("graphql") {
            self.note_publish(words);
        } else if asks {
            self.changing_request(&text, words);
        }
    }

    pub(crate) fn jj(&mut self, arguments: &[String], words: &str) {
        let named =
            positionals(arguments, &["-R", "--repository", "--at-op", "--config", "--color"]);
        match named.as_slice() {
            ["git", "push", ..] if has(arguments, &["--dry-run"]) => {}
            ["git", "push", ..] => {
                let branch = value(arguments, &["-b", "--bookmark"]);
                let branch = branch.filter(|name| !name.contains([UNKNOWN, '*', ':']));
                let branch = branch.map_or(Branch::Unknown, |name| Branch::Named(name.to_owned()));
                self.note_push(branch, words);
            }
            ["commit" | "ci" | "describe" | "desc" | "squash" | "split" | "rebase", ..] => {
                self.note_commit(words);
            }
            ["restore" | "undo" | "abandon" | "edit" | "new", ..] => self.write_unknown(words),
            [verb, ..] if verb.contains(UNKNOWN) => self.made_at_run_time(words),
            ["git", verb, ..] if verb.contains(UNKNOWN) => self.made_at_run_time(words),
            _ => {}
        }
    }

    pub(crate) fn hg(&mut self, arguments: &[String], words: &str) {
        match positionals(arguments, &["-R", "--repository", "--config", "--cwd"]).first() {
            Some(&"push") => self.note_push(Branch::Unknown, words),
            Some(&("commit" | "ci")) => self.note_commit(words),
            Some(&("update" | "revert" | "merge" | "rebase")) => self.write_unknown(words),
            Some(verb) if verb.contains(UNKNOWN) => self.made_at_run_time(words),
            _ => {}
        }
    }
}

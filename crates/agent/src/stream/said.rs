//! What programs say, in words that are common to all of them.

use crate::limits::{Reset, Trouble};

/// Something that a program said.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The id by which the conversation can be taken up again; said once.
    Session {
        id: String,
    },
    /// The program does not have the conversation that it was to go on with; it takes another.
    Forgotten,
    /// A turn began. The id is there where the program wants it back to stop the turn.
    TurnBegan {
        id: Option<String>,
    },
    /// What the agent itself said: one whole message, never a subagent's, a tool's or a replayed
    /// one. Only this may be searched for signals.
    Text(String),
    /// A tool is used, by the agent or by a subagent of it. `input` is its gist, in one line.
    ToolCall {
        id: String,
        name: String,
        input: String,
    },
    ToolResult {
        id: String,
        is_error: bool,
    },
    /// A call whose result follows was not made: the program itself has turned it down before it asked
    /// anyone, for a tool that it does not have or for an input that the tool does not take.
    NotMade {
        id: String,
    },
    /// Takes the place of what was said before: programs count over the whole conversation.
    Usage(Usage),
    /// What one request to the model used up, as its message tells. Said again with the same id, it
    /// takes the place of what was said before; the next `Usage` has it in it.
    Message {
        id: String,
        model: String,
        usage: Usage,
    },
    /// The model that works, where the program names it apart from its messages.
    Model(String),
    RateLimit {
        status: LimitStatus,
        resets: Option<Reset>,
    },
    /// The service cannot be used, and the program tries again by itself.
    Retrying(Trouble),
    /// The program waits for an answer.
    Asked(Ask),
    /// The program does not want the answer to this request any more, or has it.
    Withdrawn {
        request: String,
    },
    /// The turn ended. The process may live on and take further messages.
    Ended(End),
    /// The line before was longer than a line may be, and lost its end.
    Cut {
        bytes: usize,
    },
    /// A line that says nothing of the above.
    Other(String),
}

/// Tokens and money of a conversation so far, also of its earlier processes and its subagents as
/// far as the program counts them. A number that is smaller than before means that the program
/// began to count again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u64,
    pub output: u64,
    /// The part of the input that came from a cache.
    pub cached: u64,
    /// The part of the input that was written to a cache, which may cost more.
    pub written: u64,
    /// An estimate by the program; most programs make none.
    pub cost_usd: Option<f64>,
}

/// How a limit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitStatus {
    Allowed,
    /// Nearly used up.
    Warning,
    /// The program met the limit and tries again by itself.
    Retrying,
    Rejected,
}

/// A question of a program that holds it up.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Names the request in this conversation.
    pub request: String,
    pub kind: AskKind,
    /// The tool that the question is about or came with.
    pub tool: String,
    /// What is to be answered; a permission has exactly one item.
    pub items: Vec<AskItem>,
    /// All that is asked for, as the program wrote it, and nothing that only names this request. The
    /// text of an item is its gist for people; two requests may have the same.
    pub arguments: String,
    /// The whole line. It is all that an answer needs, so that a question can be stored and
    /// answered by another process.
    pub raw: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskKind {
    /// May the tool be used?
    Permission,
    /// Something that the agent wants to know.
    Question,
    /// A request that we do not know. It can be refused, and has to be: the program waits.
    Unknown,
}

/// One question of several that are asked at once.
#[derive(Clone, Debug, PartialEq)]
pub struct AskItem {
    /// The program's own name for it.
    pub key: String,
    pub text: String,
    /// Empty where any text is an answer.
    pub choices: Vec<Choice>,
    /// Whether more than one choice may be taken.
    pub is_many: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the program wants to hear.
    pub id: String,
    pub label: String,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub why: Why,
    /// The program's own words: its last message, or what went wrong.
    pub detail: String,
}

impl End {
    /// Whether the program reports success and has left nothing open.
    pub fn is_ok(&self) -> bool {
        self.why == Why::Done
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Done,
    /// Something works on in the background; the program begins another turn by itself when that
    /// is over, and has to be left alone until then.
    Background,
    /// A tool call waits for a person; it goes on when the conversation is resumed.
    Deferred,
    /// The turn is said to be over, and a tool call has no result.
    OpenTool,
    TurnLimit,
    Budget,
    RateLimited,
    /// The service cannot be used; the task is not to blame.
    Unavailable(Trouble),
    Interrupted,
    /// The model declined.
    Refused,
    Error,
    /// The stream ended before the turn did.
    Cut,
}

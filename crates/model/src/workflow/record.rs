//! The gate record: what the hook needs of a workflow, compiled into a few lines of text.
//!
//! It stands beside the journal, one per work tree, so that the hook reads neither the journal nor
//! the configuration. It names the files that it was compiled from with what the system said of
//! them then; as soon as one of them is different, the record is as good as none. The last line is
//! a sum over all before it. A record that cannot be read is no record: then the journal is asked.

use crate::{
    config::{McpServerConfig, WallConfig, WallLevel},
    next::NextStep,
    workflow::{Feature, GateName, Phase, Rights, RightsSettings},
};
use std::fmt::Write as _;

/// The first line; another format has another number.
const TITLE: &str = "waypost gate record 4";

/// The largest record that is written or read.
pub const RECORD_SIZE_MAX: usize = 4 << 10;

/// What the hook needs to know of one work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRecord {
    /// The journal that it was compiled from.
    pub journal: String,
    /// The files it was compiled from.
    pub watched: Vec<Watched>,
    /// How the workflow holds the agent; none while no workflow is active.
    pub held: Option<Held>,
    /// What the configuration says of the wall.
    pub wall: WallConfig,
}

/// A file, and what the system said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub path: String,
    /// None: there was no such file.
    pub inode: Option<u64>,
    /// Size and modification time in nanoseconds; none where only its being there matters.
    pub content: Option<(u64, i128)>,
}

/// How an active workflow holds an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub rights: Rights,
    pub phase: Phase,
    /// The gates that are closed, in their order.
    pub closed: Vec<GateName>,
    /// What leads on from here.
    pub next: NextStep,
    /// What may be written in DESIGN and REVIEW.
    pub design_paths: Vec<String>,
    /// Tools of other makers that write files.
    pub writing_tools: Vec<String>,
    /// Tools of other makers that no gate is about.
    pub free_tools: Vec<String>,
}

/// A text that is no record, or not one of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRecord;

impl Held {
    /// How a feature holds an agent; a feature that is done holds no agent.
    pub fn by(feature: &Feature, settings: RightsSettings) -> Option<Self> {
        (!feature.is_done()).then(|| Self {
            rights: Rights::under(feature, settings),
            phase: feature.phase,
            closed: feature.closed_gates().collect(),
            next: feature.next_step(),
            design_paths: Vec::new(),
            writing_tools: Vec::new(),
            free_tools: Vec::new(),
        })
    }
}

impl GateRecord {
    /// The record as text; none if it would be too long, or would not come back as it is.
    pub fn render(&self) -> Option<String> {
        let mut text = format!("{TITLE}\n");
        let mut line = |word: &str, rest: &str| {
            let _infallible = writeln!(text, "{word} {rest}");
        };
        line("journal", &self.journal);
        for Watched { path, inode, content } in &self.watched {
            let number =
                |value: Option<i128>| value.map_or_else(|| "-".to_owned(), |it| it.to_string());
            let [inode, size, time] = [
                inode.map(i128::from),
                content.map(|(size, _)| i128::from(size)),
                content.map(|(_, time)| time),
            ]
            .map(number);
            line("file", &format!("{inode} {size} {time} {path}"));
        }
        if let Some(held) = &self.held {
            line("phase", held.phase.as_str());
            line("rights", &held.rights.words().join(" "));
            let closed: Vec<&str> = held.closed.iter().map(|gate| gate.as_str()).collect();
            line("closed", &closed.join(" "));
            line("next", &held.next.to_string());
            held.design_paths.iter().for_each(|path| line("design", path));
            held.writing_tools.iter().for_each(|tool| line("tool", tool));
            held.free_tools.iter().for_each(|tool| line("free", tool));
        }
        render_wall(&self.wall, &mut line);
        let _infallible = writeln!(text, "sum {:016x}", sum(text.as_bytes()));
        let is_whole = text.len() <= RECORD_SIZE_MAX && Self::parse(&text).as_ref() == Ok(self);
        is_whole.then_some(text)
    }

    pub fn parse(text: &str) -> Result<Self, BadRecord> {
        let end = text.rfind("sum ").ok_or(BadRecord)?;
        let (body, last) = text.split_at(end);
        if last != format!("sum {:016x}\n", sum(body.as_bytes())) {
            return Err(BadRecord);
        }
        let mut lines = body.strip_suffix('\n').ok_or(BadRecord)?.split('\n');
        if lines.next() != Some(TITLE) {
            return Err(BadRecord);
        }
        let journal = lines.next().and_then(|line| line.strip_prefix("journal "));
        let journal = journal.ok_or(BadRecord)?.to_owned();
        let wall = WallConfig::default();
        let mut record = Self { journal, watched: Vec::new(), held: None, wall };
        let mut draft = Draft::default();
        for line in lines {
            let (word, rest) = line.split_once(' ').ok_or(BadRecord)?;
            match word {
                "file" => record.watched.push(Watched::parse(rest)?),
                "wall" => take_wall(&mut record.wall, rest)?,
                _ => draft.take(word, rest)?,
            }
        }
        record.held = draft.finish()?;
        Ok(record)
    }
}

/// The lines about the wall: only what is not as everyone has it.
fn render_wall(wall: &WallConfig, line: &mut dyn FnMut(&str, &str)) {
    let usual = WallConfig::default();
    if wall.require != usual.require {
        line("wall", &format!("require {}", wall.require.as_str()));
    }
    if wall.build_folders != usual.build_folders {
        line("wall", "builds ");
        wall.build_folders.iter().for_each(|path| line("wall", &format!("build {path}")));
    }
    wall.caches.iter().for_each(|path| line("wall", &format!("cache {path}")));
    wall.readable.iter().for_each(|path| line("wall", &format!("readable {path}")));
    for (name, McpServerConfig { variables }) in &wall.mcp {
        line("wall", &format!("server {} {name}", variables.join(",")));
    }
}

fn take_wall(wall: &mut WallConfig, text: &str) -> Result<(), BadRecord> {
    let (word, rest) = text.split_once(' ').ok_or(BadRecord)?;
    match word {
        "require" => wall.require = WallLevel::from_word(rest).ok_or(BadRecord)?,
        // Those that follow stand in the place of the usual ones.
        "builds" => wall.build_folders.clear(),
        "build" => wall.build_folders.push(rest.to_owned()),
        "cache" => wall.caches.push(rest.to_owned()),
        "readable" => wall.readable.push(rest.to_owned()),
        "server" => {
            let (variables, name) = rest.split_once(' ').ok_or(BadRecord)?;
            let variables = variables.split(',').filter(|it| !it.is_empty()).map(str::to_owned);
            let server = McpServerConfig { variables: variables.collect() };
            wall.mcp.insert(name.to_owned(), server);
        }
        _ => return Err(BadRecord),
    }
    Ok(())
}

impl Watched {
    fn parse(text: &str) -> Result<Self, BadRecord> {
        let mut parts = text.splitn(4, ' ');
        let mut part = || parts.next().ok_or(BadRecord);
        let (inode, size, time) = (number(part()?)?, number(part()?)?, number(part()?)?);
        let path = part()?.to_owned();
        let content = size.zip(time);
        Ok(Self { path, inode, content })
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<Option<T>, BadRecord> {
    if text == "-" { Ok(None) } else { text.parse().map(Some).map_err(|_| BadRecord) }
}

/// The lines about a workflow: all of them, or none.
#[derive(Default)]
struct Draft {
    phase: Option<Phase>,
    rights: Option<Rights>,
    closed: Option<Vec<GateName>>,
    next: Option<NextStep>,
    design_paths: Vec<String>,
    writing_tools: Vec<String>,
    free_tools: Vec<String>,
}

impl Draft {
    fn take(&mut self, word: &str, rest: &str) -> Result<(), BadRecord> {
        let words = || rest.split(' ').filter(|word| !word.is_empty());
        match word {
            "phase" => {
                self.phase = Phase::ALL.into_iter().find(|phase| phase.as_str() == rest);
            }
            "rights" => self.rights = Rights::from_words(words()),
            "closed" => self.closed = words().map(GateName::from_word).collect(),
            "next" => self.next = Some(rest.parse().map_err(|_| BadRecord)?),
            "design" => self.design_paths.push(rest.to_owned()),
            "tool" => self.writing_tools.push(rest.to_owned()),
            "free" => self.free_tools.push(rest.to_owned()),
            _ => return Err(BadRecord),
        }
        Ok(())
    }

    fn finish(self) -> Result<Option<Held>, BadRecord> {
        let Self { phase, rights, closed, next, design_paths, writing_tools, free_tools } = self;
        match (phase, rights, closed, next) {
            (None, None, None, None) => Ok(None),
            (Some(phase), Some(rights), Some(closed), Some(next)) => Ok(Some(Held {
                rights,
                phase,
                closed,
                next,
                design_paths,
                writing_tools,
                free_tools,
            })),
            _ => Err(BadRecord),
        }
    }
}

/// A sum that notices a torn or mistyped record (FNV-1a); any program can compute it.
fn sum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> GateRecord {
        let file = |path: &str, inode, content| Watched { path: path.into(), inode, content };
        GateRecord {
            journal: "0123abcd".into(),
            watched: vec![
                file("/p/my project/.git/waypost/journal.db", Some(7), None),
                file("/p/.git/waypost/journal.db-wal", Some(8), Some((4_096, 1_762_000_000_123))),
                file("/p/waypost.toml", None, None),
            ],
            held: Some(Held {
                rights: Rights { write: true, ..Rights::NONE },
                phase: Phase::Implement,
                closed: vec![GateName::ArchitectVerified, GateName::ReReviewClean],
                next: NextStep::StartCheckpoint { id: "cp-1".parse().unwrap() },
                design_paths: vec!["docs/**".into(), "*.md".into()],
                writing_tools: vec!["mcp__files__write".into()],
                free_tools: vec!["mcp__tickets__note".into()],
            }),
            wall: WallConfig::default(),
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        let mut some = record();
        assert_eq!(GateRecord::parse(&some.render().unwrap()), Ok(some.clone()));
        let held = some.held.take().unwrap();
        assert_eq!(GateRecord::parse(&some.render().unwrap()), Ok(some.clone()));
        // Nothing allowed, nothing closed: both lists are empty.
        some.held = Some(Held { rights: Rights::NONE, closed: Vec::new(), ..held });
        assert_eq!(GateRecord::parse(&some.render().unwrap()), Ok(some.clone()));
        some.wall = WallConfig {
            require: WallLevel::B,
            build_folders: Vec::new(),
            caches: vec!["/srv/my data".into()],
            readable: vec!["src/shared".into()],
            mcp: [("my tracker", vec!["A_TOKEN", "B"]), ("plain", Vec::new())]
                .map(|(name, kept)| (name, kept.into_iter().map(str::to_owned).collect()))
                .map(|(name, variables)| (name.to_owned(), McpServerConfig { variables }))
                .into(),
        };
        assert_eq!(GateRecord::parse(&some.render().unwrap()), Ok(some.clone()));
        some.wall.build_folders = vec!["made here".into()];
        assert_eq!(GateRecord::parse(&some.render().unwrap()), Ok(some));
    }

    #[test]
    fn a_record_that_was_cut_or_changed_anywhere_is_none() {
        let text = record().render().unwrap();
        for cut in 0..text.len() {
            assert_eq!(GateRecord::parse(&text[..cut]), Err(BadRecord), "cut at {cut}");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(GateRecord::parse(&changed), Err(BadRecord), "changed at {at}");
        }
        assert_eq!(GateRecord::parse(""), Err(BadRecord));
        assert_eq!(GateRecord::parse("sum cbf29ce484222325\n"), Err(BadRecord));
    }

    #[test]
    fn what_would_not_come_back_is_not_written() {
        let mut some = record();
        some.watched[0].path = "/two\nlines".into();
        assert_eq!(some.render(), None);
        let mut some = record();
        some.wall.mcp.insert("two\nlines".into(), McpServerConfig::default());
        assert_eq!(some.render(), None);
        let mut some = record();
        some.watched[0].path = "x".repeat(RECORD_SIZE_MAX);
        assert_eq!(some.render(), None);
    }
}

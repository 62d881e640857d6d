//! A corpus of at least 2,000 entries in Korean, English and Japanese with judged queries.
//!
//! The judged entries stand in `judged.txt`, each beside the query that it answers or only seems to
//! answer. The rest is made from word lists that share single words with the queries, so that one
//! matching word never is enough. Always the same bytes.

/// An entry of the corpus.
#[derive(Clone, Debug)]
pub(crate) struct CorpusEntry {
    pub(crate) title: String,
    pub(crate) body: String,
    /// When it was written; later ones are newer.
    pub(crate) at: i64,
}

/// A query and the entries that answer it, by their places in the corpus.
#[derive(Clone, Debug)]
pub(crate) struct JudgedQuery {
    pub(crate) text: String,
    pub(crate) relevant: Vec<usize>,
}

/// Entries that the test searches; a benchmark makes more.
pub(crate) const ENTRIES: usize = 2_400;

const BEGIN: i64 = 1_771_236_000_000;
const HOUR: i64 = 3_600_000;

const KOREAN: [[&str; 12]; 3] = [
    [
        "토큰", "결제", "주문", "배포", "로그", "설정", "파일", "권한", "화면", "알림", "문서",
        "작업",
    ],
    [
        "목록", "크기", "순서", "이름", "상태", "형식", "버튼", "색상", "위치", "개수", "요약",
        "제목",
    ],
    [
        "바꿨다",
        "정리했다",
        "다시 썼다",
        "옮겼다",
        "늘렸다",
        "줄였다",
        "나눴다",
        "합쳤다",
        "고쳤다",
        "지웠다",
        "미뤘다",
        "살폈다",
    ],
];

const ENGLISH: [[&str; 12]; 3] = [
    [
        "session", "cache", "worker", "token", "config", "server", "release", "query", "layout",
        "report", "order", "policy",
    ],
    [
        "list", "size", "title", "colour", "label", "status", "owner", "summary", "counter",
        "button", "header", "comment",
    ],
    [
        "was renamed",
        "was moved",
        "got shorter",
        "was split",
        "was merged",
        "was sorted",
        "was hidden",
        "was reviewed",
        "was postponed",
        "was copied",
        "was translated",
        "was measured",
    ],
];

const JAPANESE: [[&str; 12]; 3] = [
    [
        "画面", "設定", "接続", "更新", "処理", "登録", "権限", "ログ", "画像", "試験", "通知",
        "移行",
    ],
    [
        "一覧",
        "大きさ",
        "順番",
        "名前",
        "状態",
        "形式",
        "位置",
        "件数",
        "見出し",
        "色",
        "担当",
        "概要",
    ],
    [
        "変えた",
        "整理した",
        "書き直した",
        "移した",
        "増やした",
        "減らした",
        "分けた",
        "まとめた",
        "直した",
        "隠した",
        "延ばした",
        "見直した",
    ],
];

/// Entries in a fixed order, newest last, and the queries about them.
pub(crate) fn corpus(count: usize) -> (Vec<CorpusEntry>, Vec<JudgedQuery>) {
    let (judged, mut queries) = judged();
    let mut entries: Vec<CorpusEntry> =
        (0..count.saturating_sub(judged.len())).map(filler).collect();
    // Judged entries are spread over the whole time.
    let step = (count / judged.len()).max(1);
    let mut places = Vec::new();
    for (number, (title, body)) in judged.into_iter().enumerate() {
        let place = (number * step).min(entries.len());
        entries.insert(place, CorpusEntry { title, body, at: 0 });
        places.push(place);
    }
    // What is inserted later stands behind: earlier places are not moved.
    for query in &mut queries {
        query.relevant.iter_mut().for_each(|it| *it = places[*it]);
    }
    for (number, entry) in (0..).zip(&mut entries) {
        entry.at = BEGIN + number * HOUR;
    }
    (entries, queries)
}

/// The judged entries in the order of the file, and the queries with numbers of these.
fn judged() -> (Vec<(String, String)>, Vec<JudgedQuery>) {
    let (mut entries, mut queries) = (Vec::new(), Vec::<JudgedQuery>::new());
    for line in include_str!("judged.txt").lines() {
        let Some((mark, rest)) = line.split_once(' ') else { continue };
        match (mark, rest.split_once(" | ")) {
            ("?", _) => {
                queries.push(JudgedQuery { text: rest.to_owned(), relevant: Vec::new() });
            }
            ("+" | "-", Some((title, body))) => {
                if mark == "+" {
                    let query = queries.last_mut().expect("an entry follows its query");
                    query.relevant.push(entries.len());
                }
                entries.push((title.to_owned(), body.to_owned()));
            }
            _ => assert_eq!(mark, "#", "{line}"),
        }
    }
    (entries, queries)
}

fn filler(number: usize) -> CorpusEntry {
    // A step that shares no factor with the lists' length goes through all words.
    let pick =
        |list: &[&'static str; 12], step: usize| list[(number / 3 * step + number / 36) % 12];
    let (title, body) = match number % 3 {
        0 => {
            let [one, two, three] = KOREAN;
            let (a, b, c) = (pick(&one, 1), pick(&two, 5), pick(&three, 7));
            (format!("{a} {b} #{number}"), format!("{a}의 {b}를 {c}. 다음 {a}에서도 {b}부터 본다."))
        }
        1 => {
            let [one, two, three] = ENGLISH;
            let (a, b, c) = (pick(&one, 1), pick(&two, 5), pick(&three, 7));
            (format!("{a} {b} #{number}"), format!("The {b} of the {a} {c}; see {a}_{b}_{number}."))
        }
        _ => {
            let [one, two, three] = JAPANESE;
            let (a, b, c) = (pick(&one, 1), pick(&two, 5), pick(&three, 7));
            (format!("{a}の{b} #{number}"), format!("{a}の{b}を{c}。次の{a}でも{b}から見る。"))
        }
    };
    CorpusEntry { title, body, at: 0 }
}

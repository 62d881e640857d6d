//! A place inside a JSON value: a JSON Pointer (`/shared_data/topic`) or names with dots
//! (`shared_data.topic`).

use super::{Json, OpenMap};
use std::{fmt, str::FromStr};

/// The deepest place that can be named; deeper values are no documents.
const DEPTH_MAX: usize = 64;

/// A place inside a value; the empty one is the value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPath(Vec<String>);

/// A text that names no place, or a place that a value does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPath(String);

impl FromStr for JsonPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let parts: Vec<String> = match text.strip_prefix('/') {
            _ if text.is_empty() => Vec::new(),
            Some(rest) => rest.split('/').map(unescaped).collect::<Result<_, _>>()?,
            None => text.split('.').map(str::to_owned).collect(),
        };
        if !text.starts_with('/') && parts.iter().any(String::is_empty) {
            return Err(BadPath(format!("`{text}` has an empty name between dots")));
        }
        if parts.len() > DEPTH_MAX {
            return Err(BadPath(format!("`{text}` is deeper than {DEPTH_MAX} names")));
        }
        Ok(Self(parts))
    }
}

/// One name of a pointer: `~1` stands for a slash, `~0` for a tilde.
fn unescaped(part: &str) -> Result<String, BadPath> {
    let mut pieces = part.split('~');
    let mut name = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (mark, rest) = piece.split_at_checked(1).unwrap_or(("", ""));
        match mark {
            "0" => name.push('~'),
            "1" => name.push('/'),
            _ => return Err(BadPath(format!("`{part}` has a `~` without 0 or 1 behind it"))),
        }
        name.push_str(rest);
    }
    Ok(name)
}

/// As a JSON Pointer.
impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|name| write!(f, "/{}", name.replace('~', "~0").replace('/', "~1")))
    }
}

impl JsonPath {
    /// The names on the way, outermost first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(value, |value, name| match value {
            Json::Object(map) => map.get(name),
            Json::Array(items) => items.get(name.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Puts `new` there. Objects on the way are made; `-` is the place behind the last item of a list.
    pub fn set(&self, value: &mut Json, new: Json) -> Result<(), BadPath> {
        let Some((last, way)) = self.0.split_last() else {
            *value = new;
            return Ok(());
        };
        let mut place = value;
        for name in way {
            place = self.step_into(place, name)?;
        }
        match place {
            Json::Object(map) => {
                map.insert(last.clone(), new);
            }
            Json::Array(items) if last == "-" => items.push(new),
            Json::Array(items) => *item(items, last).ok_or_else(|| self.missing(last))? = new,
            _ => return Err(self.missing(last)),
        }
        Ok(())
    }

    fn step_into<'a>(&self, place: &'a mut Json, name: &str) -> Result<&'a mut Json, BadPath> {
        match place {
            Json::Object(map) => {
                if !map.contains_key(name) {
                    map.insert(name.to_owned(), OpenMap::new().into());
                }
                map.get_mut(name).ok_or_else(|| self.missing(name))
            }
            Json::Array(items) => item(items, name).ok_or_else(|| self.missing(name)),
            _ => Err(self.missing(name)),
        }
    }

    /// Takes out what is there.
    pub fn unset(&self, value: &mut Json) -> Result<Json, BadPath> {
        let Some((last, way)) = self.0.split_last() else {
            return Err(BadPath("the whole document cannot be taken out".to_owned()));
        };
        let mut place = value;
        for name in way {
            place = match place {
                Json::Object(map) => map.get_mut(name),
                Json::Array(items) => item(items, name),
                _ => None,
            }
            .ok_or_else(|| self.missing(name))?;
        }
        let taken = match place {
            Json::Object(map) => map.remove(last),
            Json::Array(items) => {
                let at = last.parse::<usize>().ok().filter(|at| *at < items.len());
                at.map(|at| items.remove(at))
            }
            _ => None,
        };
        taken.ok_or_else(|| self.missing(last))
    }

    fn missing(&self, name: &str) -> BadPath {
        BadPath(format!("there is no `{name}` on the way to `{self}`"))
    }
}

fn item<'a>(items: &'a mut [Json], name: &str) -> Option<&'a mut Json> {
    items.get_mut(name.parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    fn path(text: &str) -> JsonPath {
        text.parse().unwrap()
    }

    #[test]
    fn pointers_and_dots_name_the_same_places() {
        let value = json(r#"{"a":{"b.c":[1,{"d/e":2}],"~":3}}"#);
        let table = [
            ("", Some(r#"{"a":{"b.c":[1,{"d/e":2}],"~":3}}"#)),
            ("a.~", Some("3")),
            ("/a/~0", Some("3")),
            ("/a/b.c/1/d~1e", Some("2")),
            ("/a/b.c/0", Some("1")),
            ("/a/b.c/2", None),
            ("/a/b.c/x", None),
            ("a.b.c", None),
            ("/a/b.c/0/x", None),
        ];
        for (text, want) in table {
            let found = path(text).find(&value).map(|it| serde_json::to_string(it).unwrap());
            assert_eq!(found.as_deref(), want, "{text}");
            assert_eq!(path(&path(text).to_string()), path(text), "{text}");
        }
        for bad in ["a..b", ".", "a.", "/a/~2", "/~"] {
            assert!(bad.parse::<JsonPath>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_set_is_there_and_can_be_taken_out() {
        let mut value = json(r#"{"list":[1],"text":"x"}"#);
        path("made.on.the.way").set(&mut value, json("true")).unwrap();
        path("list.-").set(&mut value, json("2")).unwrap();
        path("list.0").set(&mut value, json("0")).unwrap();
        let want = json(r#"{"list":[0,2],"text":"x","made":{"on":{"the":{"way":true}}}}"#);
        assert_eq!(value, want);
        for bad in ["text.inside", "list.7", "list.x.y"] {
            assert!(path(bad).set(&mut value, Json::Null).is_err(), "{bad}");
        }
        assert_eq!(path("/list/0").unset(&mut value), Ok(json("0")));
        assert_eq!(path("made.on").unset(&mut value), Ok(json(r#"{"the":{"way":true}}"#)));
        for bad in ["", "made.on", "list.1", "text.x"] {
            assert!(path(bad).unset(&mut value).is_err(), "{bad}");
        }
        assert_eq!(value, json(r#"{"list":[2],"text":"x","made":{}}"#));
    }
}

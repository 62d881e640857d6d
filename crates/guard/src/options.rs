//! Reading of options as programs commonly take them.

/// The index of the first argument that is no option; `valued` are the options that take the next
/// argument as their value.
pub(crate) fn skip(arguments: &[String], valued: &[&str]) -> usize {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        if argument == "--" {
            return at + 1;
        }
        if !argument.starts_with('-') || argument == "-" {
            return at;
        }
        at += if valued.contains(&argument.as_str()) { 2 } else { 1 };
    }
    arguments.len()
}

/// The arguments that are neither options nor their values, wherever they stand.
pub(crate) fn positionals<'a>(arguments: &'a [String], valued: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        if argument == "--" {
            found.extend(arguments[at + 1..].iter().map(String::as_str));
            break;
        }
        if argument.starts_with('-') && argument != "-" {
            at += usize::from(valued.contains(&argument.as_str()));
        } else {
            found.push(argument.as_str());
        }
        at += 1;
    }
    found
}

/// Whether one of `names` is given: `-x`, `--long`, `--long=value`, `-xVALUE`, or `x` in a cluster.
pub(crate) fn has(arguments: &[String], names: &[&str]) -> bool {
    let options = arguments.iter().take_while(|argument| *argument != "--");
    options.into_iter().any(|argument| names.iter().any(|name| is(argument, name)))
}

fn is(argument: &str, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(_) => {
            argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        }
        None => {
            let letter = &name[1..];
            argument == name
                || (argument.starts_with('-')
                    && !argument.starts_with("--")
                    && argument[1..].contains(letter))
        }
    }
}

/// The values of every use of an option.
pub(crate) fn values<'a>(arguments: &'a [String], names: &[&str]) -> Vec<&'a str> {
    let is_use = |at: &usize| names.iter().any(|name| arguments[*at].starts_with(name));
    let places = (0..arguments.len()).filter(is_use);
    places.filter_map(|at| value(&arguments[at..arguments.len().min(at + 2)], names)).collect()
}

/// The value of an option: `--name value`, `--name=value`, `-n value` or `-nvalue`.
pub(crate) fn value<'a>(arguments: &'a [String], names: &[&str]) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(at, argument)| {
        names.iter().find_map(|name| {
            let rest = argument.strip_prefix(name)?;
            match (rest, name.starts_with("--")) {
                ("", _) => arguments.get(at + 1).map(String::as_str),
                (_, true) => rest.strip_prefix('='),
                (_, false) => Some(rest),
            }
        })
    })
}

//! Regular expressions as Go's package `regexp` reads them. Its syntax is that of RE2, which differs from the crate's in this: Perl's classes
//! are ASCII, a class has no operators and contains no class but POSIX', `\Q…\E` is literal, fewer flags exist, and a repetition has a limit.

use regex::Regex;

/// The largest count of a repetition.
const MAX_REPEAT: u32 = 1000;

/// Compiles a pattern.
///
/// # Errors
/// Go's message, where it is known.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    Regex::new(&translated).map_err(|error| go_error(pattern, &error.to_string()))
}

/// Returns the pattern in the crate's syntax.
fn translate(pattern: &str) -> Result<String, String> {
    let mut translated = String::with_capacity(pattern.len());
    let mut rest = pattern;
    // Where the class began that is not closed.
    let mut class: Option<&str> = None;
    // Where the operator began that repeats what stands before it, and whether it is lazy.
    let mut repetition: Option<(usize, bool)> = None;
    while let Some(next) = rest.chars().next() {
        let mut length = next.len_utf8();
        let escaped = rest[length..].chars().next();
        let at = pattern.len() - rest.len();
        repetition = match (next, repetition) {
            ('*' | '+' | '?', None) if class.is_none() => Some((at, false)),
            ('?', Some((start, false))) if class.is_none() => Some((start, true)),
            ('*' | '+' | '?', Some((start, _))) if class.is_none() => {
                return Err(format!(
                    "invalid nested repetition operator: `{}`",
                    &pattern[start..=at]
                ));
            }
            _ => None,
        };
        match (next, class) {
            ('\\', None) if escaped == Some('Q') => {
                let literal = &rest[2..];
                let end = literal.find("\\E").unwrap_or(literal.len());
                translated.push_str(&regex::escape(&literal[..end]));
                length = (end + 4).min(rest.len());
            }
            ('\\', _) if escaped.is_some_and(|escaped| perl_class(escaped).is_some()) => {
                translated.push_str(escaped.and_then(perl_class).unwrap_or_default());
                length = 2;
            }
            ('\\', None) if escaped == Some('b') => {
                translated.push_str(r"(?-u:\b)");
                length = 2;
            }
            ('\\', _) => {
                length += escaped.map_or(0, char::len_utf8);
                translated.push_str(&rest[..length]);
            }
            ('[', None) => {
                class = Some(rest);
                // A bracket at the start of a class is literal.
                length = ["[^]", "[]", "[^"]
                    .iter()
                    .find(|start| rest.starts_with(**start))
                    .map_or(1, |start| start.len());
                translated.push_str(&rest[..length].replace(']', r"\]"));
            }
            ('[', Some(_)) if rest.starts_with("[:") && rest.contains(":]") => {
                length = rest.find(":]").unwrap_or_default() + 2;
                translated.push_str(&rest[..length]);
            }
            ('[' | '&' | '~', Some(_)) => {
                translated.push('\\');
                translated.push(next);
            }
            (']', Some(_)) => {
                class = None;
                translated.push(']');
            }
            ('(', None) => {
                check_flags(rest)?;
                translated.push('(');
            }
            ('{', None) => {
                check_repeat(rest)?;
                translated.push('{');
            }
            _ => translated.push(next),
        }
        rest = &rest[length..];
    }
    match class {
        Some(class) => Err(format!("missing closing ]: `{class}`")),
        None => Ok(translated),
    }
}

/// Returns Perl's class of ASCII characters.
fn perl_class(name: char) -> Option<&'static str> {
    Some(match name {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\f\r ]",
        'S' => r"[^\t\n\f\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// Refuses what follows `(?` in Perl and not in Go: look-around, comments, unknown flags.
fn check_flags(group: &str) -> Result<(), String> {
    let Some(flags) = group.strip_prefix("(?") else {
        return Ok(());
    };
    let is_name = flags.starts_with("P<") || flags.starts_with('<');
    let unknown = flags.find(|flag| !matches!(flag, 'i' | 'm' | 's' | 'U' | '-'));
    let is_unfinished = is_name && !flags.contains('>');
    if flags.starts_with("<=") || flags.starts_with("<!") || is_unfinished {
        return Err(format!("invalid named capture: `{group}`"));
    }
    match unknown.map(|at| (at, flags[at..].chars().next().unwrap_or_default())) {
        _ if is_name => Ok(()),
        Some((_, ':' | ')')) | None => Ok(()),
        Some((at, flag)) => Err(format!(
            "invalid or unsupported Perl syntax: `(?{}`",
            &flags[..at + flag.len_utf8()]
        )),
    }
}

/// Refuses a count over the limit.
fn check_repeat(repeat: &str) -> Result<(), String> {
    let Some(end) = repeat.find('}') else {
        return Ok(());
    };
    let counts = repeat[1..end].split(',').filter(|count| !count.is_empty());
    let counts: Result<Vec<u32>, _> = counts.map(str::parse).collect();
    // What is not a count is literal.
    match counts {
        Ok(counts) if counts.iter().any(|count| *count > MAX_REPEAT) => {
            Err(format!("invalid repeat count: `{}`", &repeat[..=end]))
        }
        _ => Ok(()),
    }
}

/// Go's message for an invalid pattern, where it is known.
fn go_error(pattern: &str, error: &str) -> String {
    let from = |mark: char| pattern.rfind(mark).map_or(pattern, |at| &pattern[at..]);
    match error.rsplit("error: ").next().unwrap_or_default() {
        "unclosed group" => format!("missing closing ): `{pattern}`"),
        "unopened group" => format!("unexpected ): `{pattern}`"),
        "unclosed character class" => format!("missing closing ]: `{}`", from('[')),
        "repetition operator missing expression" => {
            let operator: String = pattern.chars().find(|c| "*+?".contains(*c)).into_iter().collect();
            format!("missing argument to repetition operator: `{operator}`")
        }
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, text, expected) in [
            (r"^\w{1,253}$", "a_1", true),
            (r"^\w+$", "é", false),
            (r"^\d$", "٣", false),
            (r"^[\w-.]+$", "a-b.c", true),
            (r"^[\W]$", "é", true),
            (r"^[^\s]+$", "a b", false),
            (r"\bé\b", "é", false),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[a~~b]+$", "~", true),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "]", false),
            (r"^[[:alpha:]_]+$", "a_", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\Qa+", "a+", true),
            (r"^(?i)a(?P<name>b)(?:c)$", "ABC", true),
            (r"^a{2}$", "aa", true),
            (r"^[{]a\{2\}$", "{a{2}", true),
            (r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", "a-b", true),
        ] {
            let found = compile(pattern).map(|pattern| pattern.is_match(text));
            assert_eq!(found, Ok(expected), "{pattern} {text}");
        }
    }

    /// The messages of Go 1.26.
    #[test]
    fn what_go_refuses_is_refused() {
        for (pattern, expected) in [
            ("^[a-z]{1,2000}$", "invalid repeat count: `{1,2000}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?=a)b", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<!a)b", "invalid named capture: `(?<!a)b`"),
            ("(?<a", "invalid named capture: `(?<a`"),
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
        ] {
            assert_eq!(
                compile(pattern).map(|_| ()),
                Err(expected.to_owned()),
                "{pattern}"
            );
        }
    }
}

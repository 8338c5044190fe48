//! Makes a string that matches a regular expression.

use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind};

/// Returns a short string of at least `shortest` characters that matches. None if the pattern is not a regular
/// expression, or if this simple method finds no match.
pub(super) fn matching(pattern: &str, shortest: usize) -> Option<String> {
    let hir = regex_syntax::parse(pattern).ok()?;
    // Add a repetition wherever the pattern allows one, until the string is long enough.
    (0..=64).find_map(|extra| {
        let mut text = String::new();
        write(&hir, extra, &mut text)?;
        (text.chars().count() >= shortest).then_some(text)
    })
}

fn write(hir: &Hir, extra: u32, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            text.push_str(std::str::from_utf8(&literal.0).ok()?);
            Some(())
        }
        HirKind::Class(Class::Unicode(class)) => {
            // Prefer letters and digits.
            let ranges = || class.ranges().iter();
            let has = |c: &char| ranges().any(|range| range.start() <= *c && *c <= range.end());
            text.push(
                ['a', 'A', '0', '1', ' ']
                    .into_iter()
                    .find(has)
                    .or_else(|| ranges().next().map(ClassUnicodeRange::start))?,
            );
            Some(())
        }
        HirKind::Class(Class::Bytes(class)) => {
            text.push(char::from(class.ranges().first()?.start()));
            Some(())
        }
        HirKind::Repetition(repetition) => {
            let max = repetition.max.unwrap_or(u32::MAX);
            let count = repetition.min.saturating_add(extra).min(max);
            (0..count).try_for_each(|_| write(&repetition.sub, 0, text))
        }
        HirKind::Capture(capture) => write(&capture.sub, extra, text),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, extra, text)),
        HirKind::Alternation(parts) => write(parts.first()?, extra, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_patterns_of_common_apis() {
        let patterns = [
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 0),
            (
                r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
                5,
            ),
            (r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))$", 0),
            (r"^v[1-9]\d*$", 0),
            (r"^(a|b){2,4}$", 3),
            (r"^\d{4}-\d{2}$", 0),
            (r"foo", 0),
            (r"^.+@.+$", 8),
        ];
        for (pattern, shortest) in patterns {
            let text = matching(pattern, shortest).unwrap();
            assert!(
                regex::Regex::new(pattern).unwrap().is_match(&text),
                "{pattern}: {text}"
            );
            assert!(text.len() >= shortest, "{pattern}: {text}");
        }
        assert_eq!(matching("(", 0), None);
        assert_eq!(matching("^a$", 2), None);
    }
}

//! The names of an API group in code and other texts.

use std::collections::BTreeSet;

use super::{InsertError, insertion::SourceText, tokens::all_literals};
use crate::names::ApiVersion;

/// What names a group in a literal: the group, an `apiVersion`, also before other words as in a deprecation, or the name of one of its
/// definitions. A finalizer or the key of a label, as
/// `demo.dev/cleanup`, does not: objects in clusters have it.
#[derive(Debug)]
pub struct GroupNames {
    /// The group.
    pub group: String,
    /// The plurals of its kinds.
    pub plurals: BTreeSet<String>,
}

impl GroupNames {
    /// Returns the text with another group in its literals.
    pub fn rename(&self, text: &str, new: &str) -> Result<String, InsertError> {
        let source = SourceText::parse(text)?;
        let mut edits = Vec::new();
        all_literals(source.tokens(), &mut |literal, value| {
            if self.is_in(value) {
                // A domain name has no character that a literal escapes.
                let range = source.range(literal);
                let renamed = text[range.clone()].replacen(&self.group, new, 1);
                edits.push((range, renamed));
            }
        });
        Ok(source.replace(edits))
    }

    /// Returns the lines with a literal that [`rename`](Self::rename) would change.
    pub fn lines(&self, text: &str) -> Vec<usize> {
        let mut lines = Vec::new();
        all_literals(text.parse().unwrap_or_default(), &mut |literal, value| {
            if self.is_in(value) {
                lines.push(literal.span().start().line);
            }
        });
        lines
    }

    fn is_in(&self, value: &str) -> bool {
        let version = value
            .strip_prefix(&self.group)
            .and_then(|rest| rest.strip_prefix('/'))
            .and_then(|rest| rest.split(' ').next());
        let plural = value
            .strip_suffix(&self.group)
            .and_then(|rest| rest.strip_suffix('.'));
        value == self.group
            || version.is_some_and(|version| version.parse::<ApiVersion>().is_ok())
            || plural.is_some_and(|plural| self.plurals.contains(plural))
    }
}

/// Returns the lines of a text that have the domain, or one below it that is not below one of `others`.
pub fn domain_lines(text: &str, domain: &str, others: &BTreeSet<&str>) -> Vec<usize> {
    let is_below = |name: &str, domain: &str| {
        let rest = name.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let names_domain = |line: &str| {
        line.split(|c| !is_part(c)).any(|name| {
            let name = name.trim_matches(|c| c == '.' || c == '-');
            is_below(name, domain) && !others.iter().any(|other| is_below(name, other))
        })
    };
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| names_domain(line))
        .map(|(at, _)| at + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_plurals_of_the_group_are_renamed() {
        let names = GroupNames {
            group: "demo.dev".to_owned(),
            plurals: BTreeSet::from(["foos".to_owned()]),
        };
        for (value, renamed) in [
            ("demo.dev", "a.b"),
            ("demo.dev/v1", "a.b/v1"),
            ("demo.dev/v1alpha1", "a.b/v1alpha1"),
            ("demo.dev/v1 Foo is deprecated", "a.b/v1 Foo is deprecated"),
            ("foos.demo.dev", "foos.a.b"),
            ("net.demo.dev", "net.demo.dev"),
            ("net.demo.dev/v1", "net.demo.dev/v1"),
            ("demo.dev/cleanup", "demo.dev/cleanup"),
            ("demo.dev/v1/more", "demo.dev/v1/more"),
            ("demo.dev/cleanup of Foo", "demo.dev/cleanup of Foo"),
            ("xdemo.dev", "xdemo.dev"),
        ] {
            let literal = |value: &str| format!("const A: &str = {value:?};");
            assert_eq!(names.rename(&literal(value), "a.b").unwrap(), literal(renamed));
            let is_named = !names.lines(&literal(value)).is_empty();
            assert_eq!(is_named, value != renamed, "{value}");
        }
    }

    #[test]
    fn lines_of_other_domains_are_left_out() {
        let text = "demo.dev.\nnet.demo.dev\na.net.demo.dev/b\nfoos.demo.dev/x\nxdemo.dev\ndemo.dev_foos\n";
        let others = BTreeSet::from(["net.demo.dev"]);
        assert_eq!(domain_lines(text, "demo.dev", &others), [1, 4, 6]);
    }
}

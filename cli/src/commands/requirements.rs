//! The versions in a project's `Cargo.toml`, and their replacement; all other bytes are kept.

use std::{collections::BTreeMap, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use toml::Spanned;

/// A version requirement in the text of a `Cargo.toml`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    /// The crate.
    pub(super) name: String,
    /// The version; none for a path, a repository, or a version of the workspace.
    pub(super) version: Option<Spanned<String>>,
}

/// Returns the requirements of the dependencies and dev-dependencies. The error is the parser's message, with its position.
pub(super) fn read(text: &str) -> Result<Vec<Requirement>, String> {
    let manifest: CargoManifest = toml::from_str(text).map_err(|error| error.to_string())?;
    let tables = [
        manifest.dependencies,
        manifest.dev_dependencies,
        manifest.build_dependencies,
    ];
    let all = tables.into_iter().flatten().map(|(name, dependency)| {
        let span = dependency.span();
        let version = match dependency.into_inner() {
            Dependency::Version(version) => Some(Spanned::new(span, version)),
            Dependency::Table(version) => version,
        };
        Requirement { name, version }
    });
    Ok(all.collect())
}

/// Returns the text with other versions at these places.
pub(super) fn replace(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = text.to_owned();
    for (range, version) in edits.into_iter().rev() {
        text.replace_range(range, &toml::Value::String(version).to_string());
    }
    text
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CargoManifest {
    #[serde(default)]
    dependencies: BTreeMap<String, Spanned<Dependency>>,
    #[serde(default)]
    dev_dependencies: BTreeMap<String, Spanned<Dependency>>,
    #[serde(default)]
    build_dependencies: BTreeMap<String, Spanned<Dependency>>,
}

enum Dependency {
    Version(String),
    /// With the entry `version`.
    Table(Option<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Dependency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DependencyVisitor)
    }
}

struct DependencyVisitor;

impl<'de> Visitor<'de> for DependencyVisitor {
    type Value = Dependency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version or a table")
    }

    fn visit_str<E>(self, version: &str) -> Result<Dependency, E> {
        Ok(Dependency::Version(version.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Dependency, A::Error> {
        let mut version = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "version" {
                version = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Dependency::Table(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[package]\nname = \"shop\" # version = \"1\"\n\n[dependencies]\na = '=0.1.0' # pinned\n\
                        b = { features = [\"x\"], version = \"1\", default-features = false }\nc = { path = \"../c\" }\nd.workspace = true\n\
                        e.version = \"2\"\n\n[dev-dependencies.f]\ngit = \"https://g\"\nversion = \"3\"\n";

    #[test]
    fn versions_are_replaced_and_other_bytes_are_kept() {
        let requirements = read(TEXT).unwrap();
        let version = |found: &Requirement| found.version.as_ref().map(|version| version.get_ref().clone());
        let found: Vec<_> = requirements
            .iter()
            .map(|found| (&*found.name, version(found)))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            ("a", some("=0.1.0")),
            ("b", some("1")),
            ("c", None),
            ("d", None),
            ("e", some("2")),
            ("f", some("3")),
        ];
        assert_eq!(found, expected);
        let versions = requirements.iter().filter_map(|found| found.version.as_ref());
        let edits = versions.map(|version| (version.span(), format!("{}.9", version.get_ref())));
        let after = replace(TEXT, edits.collect());
        let expected = TEXT
            .replace("'=0.1.0'", "\"=0.1.0.9\"")
            .replace("version = \"1\", d", "version = \"1.9\", d")
            .replace("e.version = \"2\"", "e.version = \"2.9\"")
            .replace("version = \"3\"", "version = \"3.9\"");
        assert_eq!(after, expected);
    }

    #[test]
    fn invalid_file_is_an_error_with_its_position() {
        let error = read("[dependencies]\na = \n").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }
}

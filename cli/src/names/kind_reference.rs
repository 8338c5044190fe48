//! A kind that exists, as users name it: `Foo`, `Deployment.apps`, `Deployment.apps/v1`.

use std::{fmt, str::FromStr};

use super::{ApiVersion, NameError, is_dns_label};

/// The name of a kind of the project or of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindReference {
    /// The kind.
    pub kind: String,
    /// The API group, if it is given.
    pub group: Option<String>,
    /// The version, if it is given.
    pub version: Option<String>,
}

impl KindReference {
    /// Whether it may name this kind.
    pub fn matches(&self, group: &str, version: &str) -> bool {
        self.group.as_deref().is_none_or(|given| given == group)
            && self.version.as_deref().is_none_or(|given| given == version)
    }
}

impl FromStr for KindReference {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (name, version) = match text.split_once('/') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let (kind, group) = match name.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (name, None),
        };
        let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.len() <= 63
            && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_group = group.is_none_or(|group| group.split('.').all(is_dns_label));
        let is_version = version.is_none_or(|version| version.parse::<ApiVersion>().is_ok());
        if is_kind && is_group && is_version {
            Ok(Self {
                kind: kind.to_owned(),
                group: group.map(str::to_owned),
                version: version.map(str::to_owned),
            })
        } else {
            Err(NameError::KindReference)
        }
    }
}

impl fmt::Display for KindReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(group) = &self.group {
            write!(f, ".{group}")?;
        }
        if let Some(version) = &self.version {
            write!(f, "/{version}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_and_version_are_optional() {
        for text in ["Foo", "Foo.demo.dev", "Deployment.apps/v1", "Pod/v1"] {
            assert_eq!(text.parse::<KindReference>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "pods",
            "Foo.",
            "Foo/",
            "Foo/1",
            "Foo/v1/v2",
            "apps/v1",
            "../Foo",
            "Foo.a_b",
        ] {
            assert_eq!(
                text.parse::<KindReference>(),
                Err(NameError::KindReference),
                "{text}"
            );
        }
        let reference: KindReference = "Deployment.apps/v1".parse().unwrap();
        assert!(reference.matches("apps", "v1") && !reference.matches("apps", "v2"));
        assert!(!reference.matches("demo.dev", "v1"));
    }
}

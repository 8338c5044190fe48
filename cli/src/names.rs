//! Names, validated before anything is rendered: what parses here is safe in Rust, in YAML and in paths.

use std::{fmt, str::FromStr};

mod reserved;

/// A name that cannot be used, why, and what can.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// The operator's name does not fit cargo and Kubernetes.
    #[error(
        "an operator's name is 1 to 50 of a-z, 0-9 and '-', begins with a letter and ends with none of '-'"
    )]
    OperatorShape,
    /// The operator's name means something else to Rust, cargo or the operating system.
    #[error("this name is taken by {0}; choose another, as in `{1}-operator`")]
    OperatorReserved(&'static str, String),
    /// The kind is no upper camel case name.
    #[error("a kind is 1 to 50 of A-Z, a-z and 0-9 and begins with a capital, as in `Foo` or `BackupPlan`")]
    KindShape,
    /// The kind's module or variable would be a word of the language.
    #[error(
        "`{0}` is a word of the Rust language, and the kind's module would be called so; choose another kind"
    )]
    KindKeyword(String),
    /// The kind, or a type that is derived for it, is called like something that its files use.
    #[error("the kind's files would use `{0}` for two things; choose another kind, as in `{1}Plan`")]
    KindReserved(String, String),
    /// The group is no domain name with a dot.
    #[error("a group is a domain name of yours with a dot: a-z, 0-9, '-' and '.', as in `demo.dev`")]
    GroupShape,
    /// Kubernetes keeps the group for itself.
    #[error(
        "groups under `{0}` are Kubernetes' own: the API server refuses CRDs of others there; use a domain of yours"
    )]
    GroupProtected(&'static str),
    /// The version is none of Kubernetes' form.
    #[error("a version is `v1`, `v1beta2`, `v2alpha1` or the like")]
    ApiVersion,
}

/// The operator's name: a crate, a binary, and the name of Kubernetes objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorName(String);

impl OperatorName {
    /// The crate as Rust code calls it.
    pub fn crate_name(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl FromStr for OperatorName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if !is_dns_label(text) || text.len() > 50 || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(NameError::OperatorShape);
        }
        let name = Self(text.to_owned());
        match reserved::crate_name(&name.crate_name()) {
            Some(by) => Err(NameError::OperatorReserved(by, name.0)),
            None => Ok(name),
        }
    }
}

/// A kind, with the names that follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindName {
    kind: String,
    snake: String,
}

impl KindName {
    /// The kind in lower case: singular, short name, the controller's name.
    pub fn lower(&self) -> String {
        self.kind.to_ascii_lowercase()
    }

    /// The kind in snake case: its module and its variables.
    pub fn snake(&self) -> &str {
        &self.snake
    }

    /// Several of them in snake case: what the informers' method is called.
    pub fn snake_plural(&self) -> String {
        plural(&self.snake)
    }

    /// The resource, as kube-derive makes it from the kind.
    pub fn plural(&self) -> String {
        plural(&self.lower())
    }
}

impl FromStr for KindName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let shape = (1..=50).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().all(|c| c.is_ascii_alphanumeric());
        if !shape {
            return Err(NameError::KindShape);
        }
        let name = Self {
            kind: text.to_owned(),
            snake: snake_case(text),
        };
        if reserved::is_keyword(&name.snake) {
            return Err(NameError::KindKeyword(name.snake));
        }
        match reserved::clash(&name) {
            Some(used) => Err(NameError::KindReserved(used, name.kind)),
            None => Ok(name),
        }
    }
}

/// An API group of one's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(String);

impl FromStr for Group {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let labels: Vec<_> = text.split('.').collect();
        if labels.len() < 2 || text.len() > 253 || !labels.iter().all(|label| is_dns_label(label)) {
            return Err(NameError::GroupShape);
        }
        for own in ["k8s.io", "kubernetes.io"] {
            if text == own || text.strip_suffix(own).is_some_and(|rest| rest.ends_with('.')) {
                return Err(NameError::GroupProtected(own));
            }
        }
        Ok(Self(text.to_owned()))
    }
}

/// A version of an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiVersion(String);

impl FromStr for ApiVersion {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_number = |text: &str| {
            !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let rest = text.strip_prefix('v').ok_or(NameError::ApiVersion)?;
        let fits = ["alpha", "beta"]
            .iter()
            .find_map(|stage| rest.split_once(stage))
            .map_or_else(
                || is_number(rest),
                |(major, minor)| is_number(major) && is_number(minor),
            );
        if fits && text.len() <= 63 {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::ApiVersion)
        }
    }
}

macro_rules! text {
    ($($name:ident . $field:tt),*) => {$(
        impl $name {
            /// The name as it was written.
            pub fn as_str(&self) -> &str {
                &self.$field
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.$field)
            }
        }
    )*};
}

text!(OperatorName.0, KindName.kind, Group.0, ApiVersion.0);

/// Whether Kubernetes takes the text as a name that may be part of a host name (RFC 1123).
pub fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// `BackupPlan` → `backup_plan`, `DNSRecord` → `dns_record`.
fn snake_case(camel: &str) -> String {
    let chars: Vec<char> = camel.chars().collect();
    let mut snake = String::new();
    for (i, c) in chars.iter().enumerate() {
        let after_small = i > 0 && !chars[i - 1].is_ascii_uppercase();
        let ends_acronym = i > 0 && chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_small || ends_acronym) {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// kube-derive's rules, so that the scaffold's code and manifests say what the derive makes.
fn plural(word: &str) -> String {
    let consonant_y = |stem: &str| !stem.is_empty() && !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    if word.ends_with(['s', 'x', 'z']) || word.ends_with("ch") || word.ends_with("sh") {
        format!("{word}es")
    } else if let Some(stem) = word.strip_suffix('y').filter(|stem| consonant_y(stem)) {
        format!("{stem}ies")
    } else {
        format!("{word}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_names_fit_cargo_and_kubernetes() {
        for name in ["shop", "a", "my-shop2"] {
            assert_eq!(name.parse::<OperatorName>().unwrap().as_str(), name);
        }
        for name in [
            "",
            "Shop",
            "my_shop",
            "2shop",
            "-shop",
            "shop-",
            "a.b",
            "süß",
            "../x",
            &"a".repeat(51),
        ] {
            assert_eq!(
                name.parse::<OperatorName>(),
                Err(NameError::OperatorShape),
                "{name}"
            );
        }
        for name in [
            "test",
            "core",
            "std",
            "fn",
            "async",
            "kube",
            "serde-json",
            "k8s-openapi",
            "tokio",
            "deps",
            "con",
        ] {
            let error = name.parse::<OperatorName>().unwrap_err();
            assert!(
                matches!(error, NameError::OperatorReserved(..)),
                "{name}: {error}"
            );
        }
    }

    #[test]
    fn kinds_are_types_of_their_own() {
        for kind in ["Foo", "BackupPlan", "DNSRecord", "V2Ray", "Job"] {
            assert_eq!(kind.parse::<KindName>().unwrap().as_str(), kind);
        }
        for kind in [
            "",
            "foo",
            "Foo_Bar",
            "Foo-Bar",
            "2Foo",
            "Größe",
            "Foo Bar",
            &"A".repeat(51),
        ] {
            assert_eq!(kind.parse::<KindName>(), Err(NameError::KindShape), "{kind}");
        }
        for kind in ["Self", "Type", "Match", "Crate", "Async", "Gen"] {
            assert!(
                matches!(kind.parse::<KindName>(), Err(NameError::KindKeyword(_))),
                "{kind}"
            );
        }
        for kind in [
            "Deployment",
            "Option",
            "Result",
            "String",
            "Lister",
            "Typed",
            "Shared",
            "Update",
            "Pod",
            "Key",
            "Event",
        ] {
            assert!(
                matches!(kind.parse::<KindName>(), Err(NameError::KindReserved(..))),
                "{kind}"
            );
        }
    }

    #[test]
    fn kinds_have_modules_and_plurals() {
        let names = |kind: &str| {
            let kind: KindName = kind.parse().unwrap();
            (kind.snake().to_owned(), kind.plural())
        };
        assert_eq!(names("BackupPlan"), ("backup_plan".into(), "backupplans".into()));
        assert_eq!(names("DNSRecord"), ("dns_record".into(), "dnsrecords".into()));
        assert_eq!(names("V2Ray"), ("v2_ray".into(), "v2rays".into()));
        assert_eq!(names("Proxy"), ("proxy".into(), "proxies".into()));
        assert_eq!(names("Relay"), ("relay".into(), "relays".into()));
        assert_eq!(names("Index"), ("index".into(), "indexes".into()));
    }

    #[test]
    fn groups_are_domains_of_ones_own() {
        for group in ["demo.dev", "a.b-c.example.com"] {
            assert_eq!(group.parse::<Group>().unwrap().as_str(), group);
        }
        for group in [
            "",
            "demo",
            "Demo.dev",
            "demo..dev",
            ".dev",
            "demo.dev.",
            "-a.dev",
            "a_b.dev",
            "a b.dev",
        ] {
            assert_eq!(group.parse::<Group>(), Err(NameError::GroupShape), "{group}");
        }
        for group in ["k8s.io", "apps.kubernetes.io", "x.k8s.io"] {
            assert!(
                matches!(group.parse::<Group>(), Err(NameError::GroupProtected(_))),
                "{group}"
            );
        }
        assert!("mask8s.io".parse::<Group>().is_ok());
    }

    #[test]
    fn versions_are_those_of_kubernetes() {
        for version in ["v1", "v12", "v1alpha1", "v2beta10"] {
            assert_eq!(version.parse::<ApiVersion>().unwrap().as_str(), version);
        }
        for version in [
            "",
            "1",
            "v",
            "v0",
            "v01",
            "v1alpha",
            "v1alpha0",
            "v1gamma1",
            "V1",
            "v1beta1x",
            "v1alpha1beta1",
        ] {
            assert_eq!(
                version.parse::<ApiVersion>(),
                Err(NameError::ApiVersion),
                "{version}"
            );
        }
    }
}

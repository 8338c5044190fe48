//! Validated names. A parsed name is safe in Rust code, in YAML and in paths.

use std::{fmt, path::PathBuf, str::FromStr};

mod built_in;
mod kind_reference;
mod reserved;

pub(crate) use built_in::kubectl_resource;
pub use kind_reference::KindReference;
pub(crate) use reserved::is_keyword;

// ANCHOR: errors
/// Why a name is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// The operator's name is not valid in cargo and Kubernetes.
    #[error(
        "an operator's name has 1 to 50 characters of a-z, 0-9 and '-', begins with a letter and does not end with '-'"
    )]
    OperatorShape,
    /// The path of a new project ends in `..` or is empty.
    #[error("end the path with the operator's name, as in `../shop`")]
    NoName,
    /// The operator's name is reserved by Rust, cargo or the operating system.
    #[error("this name is reserved by {0}: choose another, as in `{1}-operator`")]
    OperatorReserved(&'static str, String),
    /// The kind is not in UpperCamelCase.
    #[error(
        "a kind has 1 to 50 characters of A-Z, a-z and 0-9 and begins with a capital letter, as in `Foo` or `BackupPlan`"
    )]
    KindShape,
    /// The kind's module would be named like a keyword.
    #[error("the kind's module would be called `{0}`, which is a keyword of Rust: choose another kind")]
    KindKeyword(String),
    /// The kind or one of its derived types has a name that the kind's files use already.
    #[error(
        "the name `{0}` would conflict with another one in the kind's files: choose another kind, as in `{1}Plan`"
    )]
    KindReserved(String, String),
    /// The group is not a domain name with a dot.
    #[error("a group is a domain name that you own, of a-z, 0-9, '-' and with a dot, as in `demo.dev`")]
    GroupShape,
    /// The group is protected by Kubernetes.
    #[error(
        "groups under `{0}` are protected: the API server refuses CRDs there; use a domain name that you own"
    )]
    GroupProtected(&'static str),
    /// The text does not name a kind.
    #[error("name a kind as in `Foo`, `Pod`, `Deployment.apps` or `Deployment.apps/v1`")]
    KindReference,
    /// The version does not have the form of Kubernetes API versions.
    #[error("a version has the form `v1`, `v1beta2` or `v2alpha1`")]
    ApiVersion,
}
// ANCHOR_END: errors

/// The operator's name, used for its crate, its binary and its Kubernetes objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorName(String);

impl OperatorName {
    /// Returns the crate name in Rust code.
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
        match reserved::crate_name_owner(&name.crate_name()) {
            Some(owner) => Err(NameError::OperatorReserved(owner, name.0)),
            None => Ok(name),
        }
    }
}

/// The directory of a new project, whose last part is the operator's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPath {
    /// The directory.
    pub path: PathBuf,
    /// The operator's name.
    pub name: OperatorName,
}

impl FromStr for ProjectPath {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let path = PathBuf::from(text);
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(NameError::NoName)?.parse()?;
        Ok(Self { path, name })
    }
}

/// A kind, and the names derived from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindName {
    kind: String,
    snake: String,
}

impl KindName {
    /// Returns the kind in lower case: singular name and name of the controller.
    pub fn lower(&self) -> String {
        self.kind.to_ascii_lowercase()
    }

    /// Returns the kind in snake case, for its module and variables.
    pub fn snake(&self) -> &str {
        &self.snake
    }

    /// Returns the plural in snake case: the method of the informer factory.
    pub fn snake_plural(&self) -> String {
        plural(&self.snake)
    }

    /// Returns the plural name of the resource, as kube-derive makes it.
    pub fn plural(&self) -> String {
        plural(&self.lower())
    }

    /// Returns the resource of Kubernetes, such as `cronjobs.batch`, that kubectl may take the kind's plural or singular for.
    pub fn built_in_resource(&self) -> Option<String> {
        built_in::built_in_resource(&self.plural(), &self.lower())
    }

    /// Returns the resource as users write it for kubectl: the plural, with the group if the name alone is ambiguous.
    pub fn kubectl_resource(&self, group: &Group) -> String {
        kubectl_resource(&self.plural(), &self.lower(), group.as_str())
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
        if is_keyword(&name.snake) {
            return Err(NameError::KindKeyword(name.snake));
        }
        match reserved::find_conflict(&name) {
            Some(used) => Err(NameError::KindReserved(used, name.kind)),
            None => Ok(name),
        }
    }
}

/// A valid API group that Kubernetes does not protect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group(String);

impl FromStr for Group {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let labels: Vec<_> = text.split('.').collect();
        if labels.len() < 2 || text.len() > 253 || !labels.iter().all(|label| is_dns_label(label)) {
            return Err(NameError::GroupShape);
        }
        for protected in ["k8s.io", "kubernetes.io"] {
            if text == protected
                || text
                    .strip_suffix(protected)
                    .is_some_and(|rest| rest.ends_with('.'))
            {
                return Err(NameError::GroupProtected(protected));
            }
        }
        Ok(Self(text.to_owned()))
    }
}

/// An API version, as in `v1beta2`.
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

macro_rules! impl_text {
    ($($name:ident . $field:tt),*) => {$(
        impl $name {
            /// Returns the name as given.
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

impl_text!(OperatorName.0, KindName.kind, Group.0, ApiVersion.0);

/// Whether the text is a DNS label (RFC 1123), as Kubernetes validates it.
pub fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// `BackupPlan` → `backup_plan`, `DNSRecord` → `dns_record`.
pub(crate) fn snake_case(camel: &str) -> String {
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

/// Returns the plural by kube-derive's rules, so that the scaffold matches the derived names.
pub(crate) fn plural(word: &str) -> String {
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
    fn kinds_are_unused_type_names() {
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
    fn kinds_have_module_names_and_plurals() {
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
    fn groups_are_unprotected_domain_names() {
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
    fn versions_have_the_form_of_kubernetes() {
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

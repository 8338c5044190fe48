//! The labels of a namespace: a level and a version for each mode.

use super::PREFIX;
use crate::status::Cause;
use serde_json::Value;
use std::fmt;

/// A level of the Pod Security Standards, the more restrictive the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    #[default]
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "privileged" => Ok(Self::Privileged),
            "baseline" => Ok(Self::Baseline),
            "restricted" => Ok(Self::Restricted),
            _ => Err("must be one of privileged, baseline, restricted"),
        }
    }
}

/// A minor version of Kubernetes 1, whose checks apply. The latest is greater than all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    Minor(i64),
    #[default]
    Latest,
}

impl Version {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        // Go parses an int, which has no leading zeros here.
        let minor = text.strip_prefix("v1.").filter(|minor| {
            minor.bytes().all(|digit| digit.is_ascii_digit()) && (*minor == "0" || !minor.starts_with('0'))
        });
        let minor = minor.and_then(|minor| minor.parse().ok());
        minor.map(Self::Minor).ok_or("must be \"latest\" or \"v1.x\"")
    }
}

/// A level with the version of its checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    pub(super) version: Version,
}

impl LevelVersion {
    fn or_default(level: Option<Level>, version: Option<Version>) -> Self {
        Self {
            level: level.unwrap_or_default(),
            version: version.unwrap_or_default(),
        }
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(formatter, "{level}:latest"),
            Version::Minor(minor) => write!(formatter, "{level}:v1.{minor}"),
        }
    }
}

/// What a namespace demands of its pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: LevelVersion,
    pub(super) audit: LevelVersion,
    pub(super) warn: LevelVersion,
}

impl Policy {
    /// Reads the labels of a namespace; also returns the errors of invalid ones. An invalid level is restricted if it is enforced, else
    /// privileged; an invalid version is the latest.
    pub(super) fn from_labels(labels: &Value) -> (Self, Vec<Cause>) {
        let mut causes = vec![];
        let level = read(labels, "enforce", Level::parse, Level::Restricted, &mut causes);
        let is_enforced = level.is_some() && causes.is_empty();
        let version = read_version(labels, "enforce-version", &mut causes);
        let enforce = LevelVersion::or_default(level, version);
        let level = read(labels, "audit", Level::parse, Level::Privileged, &mut causes);
        let version = read_version(labels, "audit-version", &mut causes);
        let audit = LevelVersion::or_default(level, version);
        let level = read(labels, "warn", Level::parse, Level::Privileged, &mut causes);
        let version = read_version(labels, "warn-version", &mut causes);
        // Pod templates, which are not refused, get warnings by the enforced level.
        let warn = if level.is_none() && is_enforced && enforce.level > Level::Privileged {
            LevelVersion::or_default(Some(enforce.level), version.or(Some(enforce.version)))
        } else {
            LevelVersion::or_default(level, version)
        };
        (Self { enforce, audit, warn }, causes)
    }

    /// True if no pod violates the policy.
    pub(super) fn is_privileged(&self) -> bool {
        let levels = [self.enforce, self.audit, self.warn];
        levels.iter().all(|mode| mode.level == Level::Privileged)
    }
}

/// An invalid version is the latest.
fn read_version(labels: &Value, name: &str, causes: &mut Vec<Cause>) -> Option<Version> {
    read(labels, name, Version::parse, Version::Latest, causes)
}

/// Returns the value of a label, or `invalid`; None if there is no such label.
fn read<T>(
    labels: &Value,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, &'static str>,
    invalid: T,
    causes: &mut Vec<Cause>,
) -> Option<T> {
    let key = format!("{PREFIX}{name}");
    let value = labels.get(&key)?;
    let parsed = parse(value.as_str().unwrap_or_default());
    Some(parsed.unwrap_or_else(|why| {
        causes.push(Cause::invalid(format!("metadata.labels[{key}]"), value, why));
        invalid
    }))
}

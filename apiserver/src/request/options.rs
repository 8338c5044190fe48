//! Options of requests: list and watch options, write options, delete options.

use super::{ContinueToken, Query};
use crate::builtin;
use crate::kinds::{Kind, to_request_version};
use crate::quote::quoted;
use crate::selectors::{FieldSelector, LabelSelector};
use crate::status::{ApiError, Cause};
use crate::storage::Object;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::num::{IntErrorKind, ParseIntError};

/// Options of a list or a watch.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The label selector.
    pub labels: LabelSelector,
    /// The field selector.
    pub fields: FieldSelector,
    /// The requested resource version, if any.
    pub revision: Option<u64>,
    /// How the resource version is interpreted.
    pub version_match: ResourceVersionMatch,
    /// The maximum number of objects; 0 is unlimited.
    pub limit: usize,
    /// The continue token of the previous page.
    pub continue_token: String,
    /// The timeout of a watch in seconds; with a negative one it ends at once.
    pub timeout: Option<i64>,
    /// Whether a watch sends bookmarks.
    pub bookmarks: bool,
    /// Whether a watch starts with the existing objects (`sendInitialEvents`).
    pub initial_events: Option<bool>,
}

impl ListOptions {
    /// True if there is a label or field selector.
    pub fn has_selectors(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    /// True if the object matches the selectors. Without selectors the object is not decoded.
    pub(crate) fn matches(&self, kind: &Kind, object: &Object) -> bool {
        if !self.has_selectors() {
            return true;
        }
        if !self.labels.matches(object.value()) {
            return false;
        }
        // Selectable fields of custom resources may have defaults.
        let converted = kind
            .definition
            .as_ref()
            .and_then(|_| to_request_version(kind, object.value()));
        let object = converted.as_ref().unwrap_or_else(|| object.value());
        self.fields.matches(|field| kind.field_value(object, field))
    }

    /// Returns the past version at which a list is read or a watch starts; None if any version will do.
    pub(crate) fn past_revision(&self, watches: bool) -> Option<u64> {
        if watches {
            let goes_on = self.initial_events != Some(true);
            return self.revision.filter(|revision| goes_on && *revision > 0);
        }
        match self.continue_token.as_str() {
            "" => self.revision.filter(|_| self.requires_exact_version()),
            text => ContinueToken::decode(text).ok()?.revision,
        }
    }

    /// True if the list must be read at exactly the given version. Version 0 means any.
    pub(crate) fn requires_exact_version(&self) -> bool {
        match self.version_match {
            _ if self.revision == Some(0) => false,
            ResourceVersionMatch::Exact => true,
            ResourceVersionMatch::NotOlderThan => false,
            ResourceVersionMatch::Unset => self.limit > 0,
        }
    }
}

/// The values of `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResourceVersionMatch {
    /// Not set.
    #[default]
    Unset,
    /// Exactly the given version.
    Exact,
    /// The given version or a newer one.
    NotOlderThan,
}

impl ListOptions {
    /// Parses the options from the query.
    pub fn parse(query: &Query, watches: bool) -> Result<Self, ApiError> {
        // kube-apiserver parses numbers before selectors; the first error wins.
        let limit = parse_int(query, "limit")?;
        let timeout = parse_int(query, "timeoutSeconds")?;
        let revision = parse_revision(query.get("resourceVersion"));
        let continue_token = query.get("continue").to_owned();
        let options = Self {
            labels: LabelSelector::parse(query.get("labelSelector"))?,
            fields: FieldSelector::parse(query.get("fieldSelector"))?,
            // Beside a continue token, any version but 0 is refused.
            revision: match &revision {
                Err(_) if !watches && !continue_token.is_empty() => Some(u64::MAX),
                Err(_) => None,
                Ok(revision) => *revision,
            },
            version_match: match query.get("resourceVersionMatch") {
                "Exact" => ResourceVersionMatch::Exact,
                "NotOlderThan" => ResourceVersionMatch::NotOlderThan,
                _ => ResourceVersionMatch::Unset,
            },
            limit: usize::try_from(limit.unwrap_or(0)).unwrap_or(0),
            continue_token,
            timeout,
            bookmarks: query.flag("allowWatchBookmarks"),
            initial_events: query
                .has("sendInitialEvents")
                .then(|| query.flag("sendInitialEvents")),
        };
        let causes = options.validate(query, watches);
        if !causes.is_empty() {
            return Err(ApiError::invalid_of("meta.k8s.io", "ListOptions", "", &causes));
        }
        match revision {
            Err(cause) if watches => Err(unparsable_version_error(&cause)),
            Err(cause) if options.continue_token.is_empty() => Err(ApiError::bad_request(format!(
                "invalid resource version: {cause}"
            ))),
            _ => Ok(options),
        }
    }

    fn validate(&self, query: &Query, watches: bool) -> Vec<Cause> {
        let mut causes = vec![];
        let text = query.get("resourceVersionMatch");
        let field = "resourceVersionMatch";
        if watches {
            let is_supported = self.version_match == ResourceVersionMatch::NotOlderThan;
            if self.initial_events.is_some() && !is_supported {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                causes.push(Cause::forbidden(field, why));
            } else if self.initial_events.is_none() && !text.is_empty() {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                causes.push(Cause::forbidden(field, why));
            }
            if !text.is_empty() && !is_supported {
                causes.push(Cause::not_supported(field, &json!(text), &["NotOlderThan"]));
            }
            // A watch from no version sends initial events, which by default sets the match.
            let is_defaulted = self.initial_events.is_none() && self.revision.unwrap_or(0) == 0;
            if !text.is_empty() || is_defaulted {
                causes.extend(self.forbidden_continue());
            }
            return causes;
        }
        let of_events = self.initial_events.map(|_| {
            let why = "sendInitialEvents is forbidden for list";
            Cause::forbidden("sendInitialEvents", why)
        });
        if text.is_empty() {
            causes.extend(of_events);
            return causes;
        }
        if query.get("resourceVersion").is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(field, why));
        }
        causes.extend(self.forbidden_continue());
        if self.version_match == ResourceVersionMatch::Unset {
            let known = ["Exact", "NotOlderThan", ""];
            causes.push(Cause::not_supported(field, &json!(text), &known));
        } else if self.version_match == ResourceVersionMatch::Exact && query.get("resourceVersion") == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(field, why));
        }
        causes.extend(of_events);
        causes
    }

    /// The error of a continue token beside a `resourceVersionMatch`, if there is one.
    fn forbidden_continue(&self) -> Option<Cause> {
        let why = "resourceVersionMatch is forbidden when continue is provided";
        (!self.continue_token.is_empty()).then(|| Cause::forbidden("resourceVersionMatch", why))
    }
}

/// The error of kube-apiserver's storage for a resource version that is not a number.
pub(crate) fn unparsable_version_error(cause: &Cause) -> ApiError {
    ApiError::new(500, "", cause.to_string())
}

/// Parses a resource version; None if empty.
pub(crate) fn parse_revision(text: &str) -> Result<Option<u64>, Cause> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = parse_uint(text).map_err(|why| Cause::invalid("resourceVersion", &json!(text), why));
    parsed.map(Some)
}

/// Parses a number as Go's `strconv.ParseUint` does, with its errors.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    // Go accepts no sign here.
    let digits = if text.starts_with('+') { "" } else { text };
    let parsed = digits.parse::<u64>();
    parsed.map_err(|error| {
        format!(
            "strconv.ParseUint: parsing {}: {}",
            quoted(text),
            go_reason(&error)
        )
    })
}

/// Parses an integer parameter as Go's `strconv.ParseInt` does, with its errors. An empty text is an error.
pub(crate) fn parse_int(query: &Query, key: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = query.values(key).next() else {
        return Ok(None);
    };
    text.parse::<i64>().map(Some).map_err(|error| {
        let why = go_reason(&error);
        ApiError::bad_request(format!("strconv.ParseInt: parsing {}: {why}", quoted(text)))
    })
}

/// Returns why Go does not parse the number.
fn go_reason(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

/// The values of `fieldValidation`: the handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them and warn.
    #[default]
    Warn,
    /// Drop them.
    Ignore,
    /// Refuse the request.
    Strict,
}

/// Options of a write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Does everything except storing.
    pub dry_run: bool,
    /// The field manager; empty means that it is derived from the user agent.
    pub field_manager: String,
    /// The handling of unknown fields.
    pub field_validation: FieldValidation,
    /// Whether an apply takes over fields from other managers.
    pub force: Option<bool>,
    /// Whether the request is a patch.
    pub(crate) is_patch: bool,
    /// The object is the result of an apply: managedFields are up to date.
    pub applied: bool,
    /// Errors of strict decoding of the body, such as `duplicate field "spec.a"`.
    pub strict_errors: Vec<String>,
    /// The body, if it is JSON.
    pub(crate) json: Option<Bytes>,
    /// The options as the client sent them, for webhooks; empty if no webhook is called.
    pub(crate) sent: Map<String, Value>,
}

impl WriteOptions {
    /// Returns the options of a create or an update as webhooks get them.
    pub(crate) fn sent(query: &Query) -> Map<String, Value> {
        let mut sent = Map::new();
        let dry_run: Vec<&str> = query.values("dryRun").collect();
        if !dry_run.is_empty() {
            sent.insert("dryRun".to_owned(), json!(dry_run));
        }
        for key in ["fieldManager", "fieldValidation"] {
            if !query.get(key).is_empty() {
                sent.insert(key.to_owned(), query.get(key).into());
            }
        }
        sent
    }

    /// The options of a write by the server itself, as this field manager.
    pub(crate) fn of_manager(name: &str) -> Self {
        Self {
            field_manager: name.to_owned(),
            ..Self::default()
        }
    }

    /// Parses the options from the query; `kind` is their type in kube-apiserver, such as `CreateOptions`.
    pub fn parse(query: &Query, kind: &str) -> Result<Self, ApiError> {
        let mut causes = vec![];
        let dry_run: Vec<&str> = query.values("dryRun").collect();
        if dry_run.iter().any(|value| *value != "All") {
            causes.push(Cause::not_supported("dryRun", &json!(dry_run), &["All"]));
        }
        let field_validation = match query.get("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::not_supported("fieldValidation", &json!(other), &known));
                FieldValidation::Warn
            }
        };
        let field_manager = query.get("fieldManager").to_owned();
        let invalid = builtin::validate_field_manager(&field_manager, "fieldManager");
        causes.extend(invalid.into_iter().map(Cause::from));
        if !causes.is_empty() {
            return Err(ApiError::invalid_of("meta.k8s.io", kind, "", &causes));
        }
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager,
            field_validation,
            force: query.has("force").then(|| query.flag("force")),
            is_patch: kind == "PatchOptions",
            ..Self::default()
        })
    }
}

/// Options of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Does everything except deleting.
    pub dry_run: bool,
    /// Precondition: the uid.
    pub uid: Option<String>,
    /// Precondition: the resource version.
    pub resource_version: Option<String>,
    /// The grace period in seconds.
    pub grace_period: Option<i64>,
    /// The propagation policy: `Background`, `Foreground` or `Orphan`.
    pub propagation: Option<String>,
    /// Whether the policy was requested by `orphanDependents: false`, for which the response tells if the object is left.
    pub refuses_orphans: bool,
}

impl DeleteOptions {
    /// Returns the options of a deletion as webhooks get them.
    pub(crate) fn sent(query: &Query, body: Option<&Value>) -> Map<String, Value> {
        let mut sent = body
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(|| Self::query_options(query));
        sent.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
        sent
    }

    fn query_options(query: &Query) -> Map<String, Value> {
        let grace_period = parse_int(query, "gracePeriodSeconds").ok().flatten();
        let preconditions = ["uid", "resourceVersion"].map(|key| (key, query.get(key)));
        let preconditions = preconditions.into_iter().filter(|(_, value)| !value.is_empty());
        let preconditions: Map<String, Value> = preconditions
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect();
        let options = json!({
            "dryRun": query.values("dryRun").collect::<Vec<_>>(),
            "gracePeriodSeconds": grace_period,
            "preconditions": (!preconditions.is_empty()).then_some(preconditions),
            "propagationPolicy": query.has("propagationPolicy").then(|| query.get("propagationPolicy")),
            "orphanDependents": query.has("orphanDependents").then(|| query.flag("orphanDependents")),
        });
        options.as_object().cloned().unwrap_or_default()
    }

    /// Parses the options from the body, or from the query without a body.
    pub fn parse(query: &Query, body: Option<&Value>) -> Result<Self, ApiError> {
        if body.is_none() {
            parse_int(query, "gracePeriodSeconds")?;
        }
        let options = body.cloned().unwrap_or_else(|| Self::query_options(query).into());
        let mut causes = vec![];
        let dry_run = options["dryRun"].as_array().cloned().unwrap_or_default();
        if dry_run.iter().any(|value| value != "All") {
            causes.push(Cause::not_supported("dryRun", &json!(dry_run), &["All"]));
        }
        let propagation = options["propagationPolicy"].as_str();
        let orphans = options["orphanDependents"].as_bool();
        if propagation.is_some() && orphans.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid(
                "propagationPolicy",
                &options["propagationPolicy"],
                why,
            ));
        }
        if propagation.is_some_and(|policy| !["Background", "Foreground", "Orphan"].contains(&policy)) {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(Cause::not_supported(
                "propagationPolicy",
                &options["propagationPolicy"],
                &known,
            ));
        }
        if !causes.is_empty() {
            return Err(ApiError::invalid_of("meta.k8s.io", "DeleteOptions", "", &causes));
        }
        let refuses_orphans = orphans == Some(false);
        let orphans = orphans.map(|orphans| if orphans { "Orphan" } else { "Background" });
        let text = |key: &str| options["preconditions"][key].as_str().map(str::to_owned);
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            grace_period: options["gracePeriodSeconds"].as_i64(),
            propagation: propagation.or(orphans).map(str::to_owned),
            refuses_orphans,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_version_match_is_validated() {
        let parse = |query: &str, watches| ListOptions::parse(&Query::parse(query), watches);
        let error = parse("resourceVersionMatch=Exact", false).unwrap_err();
        assert_eq!(error.code, 422);
        assert!(
            error
                .message
                .ends_with("resourceVersionMatch is forbidden unless resourceVersion is provided")
        );
        assert!(parse("resourceVersion=0&resourceVersionMatch=Exact", false).is_err());
        assert!(parse("resourceVersion=5&resourceVersionMatch=Exact", false).is_ok());
        assert!(parse("sendInitialEvents=true", true).is_err());
        let good = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
        assert_eq!(parse(good, true).unwrap().initial_events, Some(true));
        assert_eq!(parse("resourceVersion=x", false).unwrap_err().code, 400);
        assert_eq!(
            parse("limit=x", false).unwrap_err().message,
            r#"strconv.ParseInt: parsing "x": invalid syntax"#
        );
        assert_eq!(parse("limit=", false).unwrap_err().code, 400);
        let error = parse("limit=9223372036854775808", false).unwrap_err();
        assert!(error.message.ends_with("value out of range"));
        assert!(parse("resourceVersion=%2B1", false).is_err());
        assert_eq!(parse("timeoutSeconds=-1", true).unwrap().timeout, Some(-1));
    }

    #[test]
    fn watches_have_no_continue_token() {
        let parse = |query: &str| ListOptions::parse(&Query::parse(query), true).map(|_| ());
        for query in ["continue=x", "continue=x&resourceVersion=0"] {
            assert_eq!(parse(query).unwrap_err().code, 422, "{query}");
        }
        assert!(parse("continue=x&resourceVersion=5").is_ok());
        assert!(parse("sendInitialEvents=true&resourceVersionMatch=NotOlderThan").is_ok());
    }

    #[test]
    fn delete_options_are_read_from_body_or_query() {
        let query = Query::parse("propagationPolicy=Orphan&dryRun=All");
        let options = DeleteOptions::parse(&query, None).unwrap();
        assert!(options.dry_run && options.propagation.as_deref() == Some("Orphan"));
        assert_eq!((options.uid, options.resource_version), (None, None));
        let preconditions = Query::parse("uid=u&resourceVersion=7");
        let options = DeleteOptions::parse(&preconditions, None).unwrap();
        assert_eq!(options.uid.as_deref(), Some("u"));
        assert_eq!(options.resource_version.as_deref(), Some("7"));
        let body = json!({ "preconditions": { "uid": "1" }, "orphanDependents": true });
        let options = DeleteOptions::parse(&query, Some(&body)).unwrap();
        assert!(!options.dry_run && options.uid.as_deref() == Some("1"));
        assert_eq!(options.propagation.as_deref(), Some("Orphan"));
        let body = json!({ "propagationPolicy": "Sometimes" });
        assert_eq!(DeleteOptions::parse(&query, Some(&body)).unwrap_err().code, 422);
    }
}

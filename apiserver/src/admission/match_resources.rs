//! Which requests webhooks and policies apply to: rules and selectors.

use super::hook_request::{HookOperation, HookRequest, HookTarget};
use crate::kinds::Kind;
use crate::selectors::LabelSelector;
use crate::status::ApiError;
use serde_json::Value;

/// The requests that a webhook, a policy or a binding applies to.
#[derive(Debug)]
pub(super) struct MatchResources {
    /// None if all resources match.
    rules: Option<Vec<Rule>>,
    /// What does not match, whatever the rules say.
    excluded: Vec<Rule>,
    /// Whether requests to other versions of a resource match, too (`matchPolicy: Equivalent`).
    matches_equivalent: bool,
    /// None if it is malformed.
    namespace_selector: Option<LabelSelector>,
    /// None if it is malformed.
    object_selector: Option<LabelSelector>,
}

/// A rule: which requests match.
#[derive(Debug)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resources, or `resource/subresource`.
    resources: Vec<String>,
    /// Empty for all names.
    names: Vec<String>,
    /// `*`, `Cluster` or `Namespaced`.
    scope: String,
}

impl MatchResources {
    /// Reads the rules and selectors of a webhook, to which no request applies without rules.
    pub(super) fn of_webhook(hook: &Value) -> Self {
        Self {
            rules: Some(Rule::parse_all(&hook["rules"])),
            excluded: vec![],
            ..Self::selectors(hook)
        }
    }

    /// Reads the constraints of a policy or a binding, to which all requests apply without rules.
    pub(super) fn of_policy(constraints: &Value) -> Self {
        let rules = Rule::parse_all(&constraints["resourceRules"]);
        Self {
            rules: Some(rules).filter(|rules| !rules.is_empty()),
            excluded: Rule::parse_all(&constraints["excludeResourceRules"]),
            ..Self::selectors(constraints)
        }
    }

    fn selectors(fields: &Value) -> Self {
        Self {
            rules: None,
            excluded: vec![],
            matches_equivalent: fields["matchPolicy"] != "Exact",
            namespace_selector: LabelSelector::from_value(&fields["namespaceSelector"]),
            object_selector: LabelSelector::from_value(&fields["objectSelector"]),
        }
    }

    /// Returns the version in which a request matches; None if it does not. `object` is the new object, in any version.
    pub(super) fn target(
        &self,
        request: &HookRequest<'_>,
        object: Option<&Value>,
    ) -> Result<Option<HookTarget>, ApiError> {
        // A namespace that does not exist is an error only if everything else matches.
        let in_namespace = self.is_in_namespace(request, object);
        if matches!(in_namespace, Ok(false)) {
            return Ok(None);
        }
        let Some(selector) = &self.object_selector else {
            return Err(ApiError::internal("the objectSelector is invalid"));
        };
        // The options of a connection have no labels, and match no selector.
        let object = object.filter(|_| request.operation != HookOperation::Connect);
        let mut objects = object.into_iter().chain(request.old);
        if !selector.is_empty() && !objects.any(|object| selector.matches(object)) {
            return Ok(None);
        }
        if self.rule_target(request, &self.excluded).is_some() {
            return Ok(None);
        }
        let target = match &self.rules {
            None => Some(request.target()),
            Some(rules) => self.rule_target(request, rules),
        };
        if target.is_some() {
            in_namespace?;
        }
        Ok(target)
    }

    fn is_in_namespace(&self, request: &HookRequest<'_>, object: Option<&Value>) -> Result<bool, ApiError> {
        if request.namespace.is_empty() && request.resource.plural != "namespaces" {
            return Ok(true);
        }
        let selector = self.namespace_selector.as_ref();
        let selector = selector.ok_or_else(|| ApiError::internal("the namespaceSelector is invalid"))?;
        Ok(selector.is_empty() || selector.matches(&request.namespace_labels(object)?))
    }

    fn rule_target(&self, request: &HookRequest<'_>, rules: &[Rule]) -> Option<HookTarget> {
        if rules.iter().any(|rule| rule.matches(request, request.resource)) {
            return Some(request.target());
        }
        if !self.matches_equivalent || rules.is_empty() {
            return None;
        }
        let equivalents = request.equivalents();
        // Earlier rules are preferred to earlier versions.
        rules.iter().find_map(|rule| {
            let mut equivalents = equivalents.iter();
            equivalents
                .find(|target| rule.matches(request, &target.resource))
                .cloned()
        })
    }
}

impl Rule {
    fn parse_all(rules: &Value) -> Vec<Self> {
        let rules = rules.as_array().into_iter().flatten();
        rules.map(Self::parse).collect()
    }

    fn parse(rule: &Value) -> Self {
        Self {
            operations: texts(&rule["operations"]),
            groups: texts(&rule["apiGroups"]),
            versions: texts(&rule["apiVersions"]),
            resources: texts(&rule["resources"]),
            names: texts(&rule["resourceNames"]),
            scope: rule["scope"].as_str().unwrap_or("*").to_owned(),
        }
    }

    /// True if a request matches that is made to this resource.
    fn matches(&self, request: &HookRequest<'_>, resource: &Kind) -> bool {
        let contains = |list: &[String], value: &str| list.iter().any(|item| item == "*" || item == value);
        let is_namespace = resource.group.is_empty() && resource.plural == "namespaces";
        let is_cluster_scoped = is_namespace || request.namespace.is_empty();
        (match self.scope.as_str() {
            "Namespaced" => !is_cluster_scoped,
            "Cluster" => is_cluster_scoped,
            _ => true,
        }) && contains(&self.operations, request.operation.name())
            && contains(&self.groups, &resource.group)
            && contains(&self.versions, &resource.version)
            && (self.names.is_empty() || self.names.iter().any(|name| name == request.name))
            && self.resources.iter().any(|rule| {
                let (plural, subresource) = rule.split_once('/').unwrap_or((rule, ""));
                (plural == "*" || plural == resource.plural)
                    && (subresource == "*" || subresource == request.subresource)
            })
    }
}

/// Reads a list of strings.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

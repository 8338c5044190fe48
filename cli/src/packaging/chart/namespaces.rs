//! The namespaces that the operator watches, by the value `watchNamespaces`: roles in each of them, and webhooks for their objects.

use kubewright_apiserver::kinds::Catalog;
use serde_json::{Value, json};

use super::{
    CRD, Chart, ManifestObject,
    expressions::{self, expression, raw, when},
    template,
};
use crate::{manifests::webhooks::NAMESPACE_LABEL, yaml::YamlError};

/// The watched namespaces of an operator that watches some.
pub(super) const WATCHED: &str = "($.Values.watchNamespaces | default (list $.Release.Namespace))";

/// The namespace of events about cluster-scoped objects: API servers accept them in no other.
const DEFAULT_NAMESPACE: &str = "default";

/// The condition that `default` is not among the watched namespaces.
pub(super) fn default_is_not_watched() -> String {
    format!("not (has \"{DEFAULT_NAMESPACE}\" {WATCHED})")
}

/// How often a chart has an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Once,
    /// In each watched namespace.
    EachWatched,
    /// Another object is written in each watched namespace, and is this one in its namespace.
    Covered,
}

/// Returns how often the chart has the object. An object that is not in all watched namespaces stays where it is.
pub(super) fn scope(chart: &Chart<'_>, object: &ManifestObject) -> Scope {
    let watched = chart.settings.watched();
    let is_in = |object: &ManifestObject, namespace: &str| object.namespace() == Some(namespace);
    if !matches!(object.kind(), "Role" | "RoleBinding")
        || !watched.iter().any(|namespace| is_in(object, namespace))
    {
        return Scope::Once;
    }
    // A single namespace that is the operator's own has its other roles, too.
    let is_own_role = |object: &ManifestObject| object.name() != chart.settings.name;
    if watched == [chart.settings.namespace.clone()] && is_own_role(object) {
        return Scope::Once;
    }
    let body = |object: &ManifestObject| {
        let mut value = object.value().clone();
        value["metadata"]["namespace"] = Value::Null;
        value
    };
    let wanted = body(object);
    let is_everywhere = watched.iter().all(|namespace| {
        let mut objects = chart.objects.iter();
        objects.any(|other| is_in(other, namespace) && body(other) == wanted)
    });
    if !is_everywhere {
        Scope::Once
    } else if is_in(object, &watched[0]) {
        Scope::EachWatched
    } else {
        Scope::Covered
    }
}

/// Whether this is the role, or its binding, of a namespaced operator for events about cluster-scoped objects.
pub(super) fn is_for_cluster_events(chart: &Chart<'_>, object: &ManifestObject) -> bool {
    let watched = chart.settings.watched();
    matches!(object.kind(), "Role" | "RoleBinding")
        && object.name() == chart.settings.name
        && object.namespace() == Some(DEFAULT_NAMESPACE)
        && !watched.is_empty()
        && !watched.iter().any(|namespace| namespace == DEFAULT_NAMESPACE)
}

/// Returns the template of an object in each watched namespace.
pub(super) fn for_each_watched(mut value: Value) -> Result<String, YamlError> {
    value["metadata"]["namespace"] = expression(".").into();
    let text = template::text(&value)?;
    Ok(format!("{{{{- range {WATCHED} }}}}\n---\n{text}{{{{- end }}}}\n"))
}

/// Returns the template of an object that `text` is the template of: with `watchNamespaces`, the operator's ClusterRole is bound only in
/// these namespaces, and a second one has its rules for what has no namespace.
pub(super) fn limited(chart: &Chart<'_>, object: &ManifestObject, text: String) -> Result<String, YamlError> {
    let name = &chart.settings.name;
    let binds_operator = object.kind() == "ClusterRoleBinding" && object.value()["roleRef"]["name"] == **name;
    let mut objects = chart.objects.iter();
    let role = objects.find(|role| role.kind() == "ClusterRole" && role.name() == name);
    let Some(role) = role.filter(|_| binds_operator && !chart.is_namespaced()) else {
        return Ok(text);
    };
    let mut binding = object.value().clone();
    expressions::localize(&mut binding, &chart.settings.namespace);
    let mut in_namespace = binding.clone();
    in_namespace["kind"] = "RoleBinding".into();
    in_namespace["metadata"]["namespace"] = expression(".").into();
    let mut limited = format!(
        "{{{{- range $.Values.watchNamespaces }}}}\n---\n{}{{{{- end }}}}\n",
        template::text(&in_namespace)?
    );
    let LimitedRules {
        cluster,
        default_namespace,
    } = LimitedRules::of(chart, &role.value()["rules"]);
    let cluster_name = format!("{name}-cluster");
    let mut add = |kind: &str, namespace: Option<&str>, rules: Vec<Value>| -> Result<(), YamlError> {
        let (mut role, mut binding) = (role.value().clone(), binding.clone());
        role["kind"] = kind.into();
        role["rules"] = rules.into();
        binding["kind"] = format!("{kind}Binding").into();
        binding["roleRef"]["kind"] = kind.into();
        binding["roleRef"]["name"] = cluster_name.clone().into();
        for mut value in [role, binding] {
            value["metadata"]["name"] = cluster_name.clone().into();
            if let Some(namespace) = namespace {
                value["metadata"]["namespace"] = namespace.into();
            }
            limited += "---\n";
            limited += &template::text(&value)?;
        }
        Ok(())
    };
    if !cluster.is_empty() {
        add("ClusterRole", None, cluster)?;
    }
    if !default_namespace.is_empty() {
        add("Role", Some(DEFAULT_NAMESPACE), default_namespace)?;
    }
    Ok(format!(
        "{{{{- if $.Values.watchNamespaces }}}}\n{limited}{{{{- else }}}}\n{text}{{{{- end }}}}\n"
    ))
}

/// Has the webhooks of the operator's configurations review only objects in the watched namespaces.
pub(super) fn limit_webhooks(
    chart: &Chart<'_>,
    object: &ManifestObject,
    value: &mut Value,
) -> Result<(), YamlError> {
    if !super::is_webhook_configuration(object) || object.name() != chart.settings.name {
        return Ok(());
    }
    let names = |namespaces: &str| {
        raw(&format!(
            "values:\n{{{{- range {namespaces} }}}}\n- \"{{{{ . }}}}\"\n{{{{- end }}}}\n"
        ))
    };
    let webhooks = value["webhooks"].as_array_mut().into_iter().flatten();
    for webhook in webhooks {
        let expressions = webhook.pointer_mut("/namespaceSelector/matchExpressions");
        let Some(expressions) = expressions.and_then(Value::as_array_mut) else {
            continue;
        };
        if chart.is_namespaced() {
            // The manifests have the list of kubewright.toml. Another list is the user's.
            let watched = json!(chart.settings.watched());
            let is_watched = |expression: &&mut Value| {
                expression["key"] == NAMESPACE_LABEL
                    && expression["operator"] == "In"
                    && expression["values"] == watched
            };
            if let Some(expression) = expressions.iter_mut().find(is_watched) {
                expression["values"] = names(WATCHED);
            }
        } else {
            let watched = "$.Values.watchNamespaces";
            let expression = json!({"key": NAMESPACE_LABEL, "operator": "In", "values": names(watched)});
            expressions.push(raw(&when(watched, &template::item(&expression)?)));
        }
    }
    Ok(())
}

/// The rules of the operator's ClusterRole that `watchNamespaces` does not move into the watched namespaces.
struct LimitedRules {
    /// Those for cluster-scoped resources, for those of unknown scope, and for URLs.
    cluster: Vec<Value>,
    /// Those for events about cluster-scoped objects, if there are any.
    default_namespace: Vec<Value>,
}

impl LimitedRules {
    fn of(chart: &Chart<'_>, rules: &Value) -> Self {
        let catalog = Catalog::built_in().ok();
        let is_namespaced = |group: &str, resource: &str| {
            let plural = resource.split('/').next().unwrap_or_default();
            let own = chart
                .objects
                .iter()
                .filter(|object| object.kind() == CRD)
                .find(|object| {
                    let spec = &object.value()["spec"];
                    spec["group"] == *group && spec["names"]["plural"] == *plural
                });
            match own {
                Some(definition) => definition.value()["spec"]["scope"] == "Namespaced",
                None => catalog
                    .as_ref()
                    .and_then(|catalog| catalog.any_version(group, plural))
                    .is_some_and(|kind| kind.namespaced),
            }
        };
        let texts = |rule: &Value, key: &str| -> Vec<String> {
            let items = rule[key].as_array().into_iter().flatten();
            items
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect()
        };
        let (mut urls, mut cluster, mut default_namespace) = (Vec::new(), Vec::new(), Vec::new());
        for rule in rules.as_array().into_iter().flatten() {
            if rule.get("nonResourceURLs").is_some() {
                urls.push(rule.clone());
                continue;
            }
            let groups = texts(rule, "apiGroups");
            let resources = texts(rule, "resources");
            let limited = |is_kept: &dyn Fn(&str) -> bool| {
                let kept: Vec<_> = resources.iter().filter(|resource| is_kept(resource)).collect();
                let mut limited = rule.clone();
                limited["resources"] = json!(kept);
                (!kept.is_empty()).then_some(limited)
            };
            cluster.extend(limited(&|resource| {
                !groups.iter().all(|group| is_namespaced(group, resource))
            }));
            // A recorder creates and patches; an operator that reads events reads those of the watched namespaces.
            let is_of_events = groups
                .iter()
                .all(|group| group.is_empty() || group == "events.k8s.io");
            if is_of_events && texts(rule, "verbs").iter().any(|verb| verb == "create") {
                default_namespace.extend(limited(&|resource| resource == "events"));
            }
        }
        if cluster.is_empty() {
            default_namespace.clear();
        }
        cluster.extend(urls);
        Self {
            cluster,
            default_namespace,
        }
    }
}

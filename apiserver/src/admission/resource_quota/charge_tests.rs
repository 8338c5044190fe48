use super::*;
use crate::auth::{Authorizer, User};
use crate::kinds::Catalog;
use crate::storage::Store;
use serde_json::json;

/// Charges a write of a core object in the namespace `n` to quotas. Returns the quotas' new usages.
fn charge(
    kind: &str,
    (subresource, old): (&str, Option<&Value>),
    object: &Value,
    quotas: &[Value],
) -> Result<Vec<Value>, String> {
    let (store, catalog, user) = (Store::default(), Catalog::built_in().unwrap(), User::system());
    let authorizer = Authorizer::new(&[]);
    let attributes = Attributes {
        operation: old.map_or(Operation::Create, |old| Operation::Update { old }),
        kind: catalog.kind("v1", kind).unwrap(),
        namespace: "n",
        name: "x",
        subresource,
        user: &user,
        store: &store,
        catalog: &catalog,
        authorizer: &authorizer,
        dry_run: false,
        report: None,
        webhooks: None,
    };
    if !is_charged(&attributes, object) {
        return Ok(vec![]);
    }
    let quotas: Vec<_> = quotas
        .iter()
        .cloned()
        .map(Object::never_stored)
        .map(Arc::new)
        .collect();
    let charges = quota_charges(&attributes, object, &quotas);
    let charges = charges.map_err(|error| {
        let prefix = format!("{} \"x\" is forbidden: ", attributes.kind.plural);
        error
            .message
            .strip_prefix(&prefix)
            .unwrap_or(&error.message)
            .to_owned()
    });
    Ok(charges?.into_iter().map(|charge| charge.used.into()).collect())
}

const CREATE: (&str, Option<&Value>) = ("", None);

fn quota(name: &str, hard: &Value, used: &Value) -> Value {
    json!({ "metadata": { "name": name }, "status": { "hard": hard, "used": used } })
}

fn scoped(mut quota: Value, spec: &Value) -> Value {
    quota["spec"] = spec.clone();
    quota
}

fn pod(spec: &Value) -> Value {
    json!({ "metadata": { "name": "x" }, "spec": spec })
}

#[test]
fn creates_are_charged_up_to_the_limit() {
    let hard = json!({ "count/configmaps": "2", "pods": "1" });
    let used = |count: &str| json!({ "count/configmaps": count, "pods": "0" });
    let object = json!({});
    let after = |count: &str| charge("ConfigMap", CREATE, &object, &[quota("q", &hard, &used(count))]);
    assert_eq!(after("1"), Ok(vec![used("2")]));
    assert_eq!(
        after("2").unwrap_err(),
        "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2"
    );
    let unknown = quota("q", &hard, &json!({ "pods": "0" }));
    assert_eq!(
        charge("ConfigMap", CREATE, &object, &[unknown]).unwrap_err(),
        "status unknown for quota: q, resources: count/configmaps"
    );
    assert_eq!(
        charge("Secret", CREATE, &object, &[quota("q", &hard, &used("9"))]),
        Ok(vec![])
    );
    assert_eq!(
        charge(
            "Event",
            CREATE,
            &object,
            &[quota("q", &json!({ "count/events": "0" }), &json!({}))]
        ),
        Ok(vec![])
    );
}

#[test]
fn all_quotas_are_checked_before_any_is_exceeded() {
    let container = json!({ "name": "c", "resources": { "requests": { "cpu": "2" } } });
    let object = pod(&json!({ "containers": [container] }));
    let full = quota(
        "a",
        &json!({ "pods": "1", "cpu": "1500m" }),
        &json!({ "pods": "1", "cpu": "0" }),
    );
    let strict = quota("b", &json!({ "limits.cpu": "9" }), &json!({ "limits.cpu": "0" }));
    let wide = quota("c", &json!({ "pods": "9" }), &json!({ "pods": "3" }));
    let charge = |quotas: &[Value]| charge("Pod", CREATE, &object, quotas);
    assert_eq!(
        charge(&[full.clone(), strict]).unwrap_err(),
        "failed quota: b: must specify limits.cpu for: c"
    );
    assert_eq!(
        charge(&[wide.clone(), full]).unwrap_err(),
        "exceeded quota: a, requested: cpu=2,pods=1, used: cpu=0,pods=1, limited: cpu=1500m,pods=1"
    );
    assert_eq!(charge(&[wide.clone(), wide]), Ok(vec![json!({ "pods": "4" }); 2]));
}

#[test]
fn scopes_select_the_counted_objects() {
    let best_effort = json!({ "containers": [{ "name": "c" }] });
    let burstable = json!({ "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" } } }] });
    let with = |key: &str, value: Value| {
        let mut spec = best_effort.clone();
        spec[key] = value;
        spec
    };
    let scope = |name: &str| json!({ "scopes": [name] });
    let selector = |name: &str, operator: &str, values: Value| json!({ "scopeSelector": { "matchExpressions": [{ "scopeName": name, "operator": operator, "values": values }] } });
    let affinity = |kind: &str, rule: &str, term: Value| {
        let name = format!("{rule}DuringSchedulingIgnoredDuringExecution");
        with("affinity", json!({ kind: { name: [term] } }))
    };
    let high = with("priorityClassName", json!("high"));
    let deadline = with("activeDeadlineSeconds", json!(0));
    let classes = json!(["high", "higher"]);
    for (spec, conditions, is_counted) in [
        (&best_effort, scope("BestEffort"), true),
        (&burstable, scope("BestEffort"), false),
        (&best_effort, scope("NotBestEffort"), false),
        (&burstable, scope("NotBestEffort"), true),
        (&deadline, scope("Terminating"), true),
        (&deadline, scope("NotTerminating"), false),
        (&best_effort, scope("Terminating"), false),
        (
            &best_effort,
            json!({ "scopes": ["NotTerminating", "BestEffort"] }),
            true,
        ),
        (
            &deadline,
            json!({ "scopes": ["NotTerminating", "BestEffort"] }),
            false,
        ),
        (&high, scope("PriorityClass"), true),
        (&best_effort, scope("PriorityClass"), false),
        (&high, selector("PriorityClass", "In", classes.clone()), true),
        (
            &best_effort,
            selector("PriorityClass", "In", classes.clone()),
            false,
        ),
        (&high, selector("PriorityClass", "NotIn", classes.clone()), false),
        (&best_effort, selector("PriorityClass", "NotIn", classes), true),
        (&high, selector("PriorityClass", "DoesNotExist", json!([])), false),
        (
            &best_effort,
            selector("PriorityClass", "DoesNotExist", json!([])),
            true,
        ),
        (&best_effort, scope("CrossNamespacePodAffinity"), false),
        (
            &affinity("podAffinity", "required", json!({ "namespaces": ["a"] })),
            scope("CrossNamespacePodAffinity"),
            true,
        ),
        (
            &affinity("podAffinity", "required", json!({ "namespaces": [] })),
            scope("CrossNamespacePodAffinity"),
            false,
        ),
        (
            &affinity(
                "podAntiAffinity",
                "preferred",
                json!({ "podAffinityTerm": { "namespaceSelector": {} } }),
            ),
            scope("CrossNamespacePodAffinity"),
            true,
        ),
        (&best_effort, scope("VolumeAttributesClass"), false),
    ] {
        let quota = scoped(
            quota("q", &json!({ "pods": "1" }), &json!({ "pods": "0" })),
            &conditions,
        );
        let charges = charge("Pod", CREATE, &pod(spec), &[quota]).unwrap();
        assert_eq!(charges.len(), usize::from(is_counted), "{spec} {conditions}");
    }
    let hard = json!({ "services": "0" });
    let terminating = scoped(quota("q", &hard, &hard), &scope("Terminating"));
    assert_eq!(charge("Service", CREATE, &json!({}), &[terminating]), Ok(vec![]));
}

#[test]
fn volume_claims_count_for_all_their_attributes_classes() {
    let claim = json!({
        "spec": { "volumeAttributesClassName": "new" },
        "status": { "currentVolumeAttributesClassName": "old", "modifyVolumeStatus": { "targetVolumeAttributesClassName": "next" } },
    });
    let is_counted = |claim: &Value, operator: &str, values: &[&str]| {
        let selector =
            json!({ "scopeName": "VolumeAttributesClass", "operator": operator, "values": values });
        let hard = json!({ "persistentvolumeclaims": "1" });
        let quota = quota("q", &hard, &json!({ "persistentvolumeclaims": "0" }));
        let quota = scoped(
            quota,
            &json!({ "scopeSelector": { "matchExpressions": [selector] } }),
        );
        charge("PersistentVolumeClaim", CREATE, claim, &[quota])
            .unwrap()
            .len()
            == 1
    };
    for class in ["new", "old", "next"] {
        assert!(is_counted(&claim, "In", &[class]));
    }
    assert!(!is_counted(&claim, "In", &["other"]) && is_counted(&claim, "NotIn", &["new"]));
    assert!(is_counted(&claim, "Exists", &[]) && !is_counted(&claim, "DoesNotExist", &[]));
    let plain = json!({ "spec": {} });
    assert!(is_counted(&plain, "DoesNotExist", &[]) && is_counted(&plain, "NotIn", &["new"]));
    assert!(!is_counted(&plain, "Exists", &[]));
}

#[test]
fn updates_are_charged_with_the_increase() {
    let service =
        |kind: &str, ports: usize| json!({ "spec": { "type": kind, "ports": vec![json!({}); ports] } });
    let limits = |node_ports: &str| json!({ "services": "1", "services.nodeports": node_ports });
    let update = |old: &Value, new: &Value| {
        let quota = quota("q", &limits("3"), &limits("1"));
        charge("Service", ("", Some(old)), new, &[quota])
    };
    let (plain, one, three) = (
        service("ClusterIP", 1),
        service("NodePort", 1),
        service("NodePort", 3),
    );
    assert_eq!(update(&plain, &one), Ok(vec![limits("2")]));
    assert_eq!(update(&one, &three), Ok(vec![limits("3")]));
    assert_eq!(update(&one, &plain), Ok(vec![]));
    assert_eq!(
        update(&plain, &three).unwrap_err(),
        "exceeded quota: q, requested: services.nodeports=3, used: services.nodeports=1, limited: services.nodeports=3"
    );
}

#[test]
fn updates_that_bring_an_object_into_a_scope_are_charged_in_full() {
    let (old, mut new) = (pod(&json!({})), pod(&json!({})));
    new["spec"]["activeDeadlineSeconds"] = json!(5);
    let quota = |scope: &str| {
        scoped(
            quota(scope, &json!({ "pods": "9" }), &json!({ "pods": "1" })),
            &json!({ "scopes": [scope] }),
        )
    };
    let quotas = [quota("NotTerminating"), quota("Terminating")];
    let charge = |old: &Value, new: &Value| charge("Pod", ("", Some(old)), new, &quotas);
    assert_eq!(charge(&old, &new), Ok(vec![json!({ "pods": "2" })]));
    assert_eq!(charge(&old, &old), Ok(vec![]));
}

#[test]
fn only_some_subresources_are_charged() {
    let container = |cpu: &str| json!({ "name": "c", "resources": { "requests": { "cpu": cpu } } });
    let pods = |cpu: &str| pod(&json!({ "containers": [container(cpu)] }));
    let (old, new) = (pods("1"), pods("3"));
    let quota = quota("q", &json!({ "cpu": "2" }), &json!({ "cpu": "1" }));
    let charge_pod = |subresource: &str| {
        charge(
            "Pod",
            (subresource, Some(&old)),
            &new,
            std::slice::from_ref(&quota),
        )
    };
    assert_eq!(
        charge_pod("resize").unwrap_err(),
        "exceeded quota: q, requested: cpu=2, used: cpu=1, limited: cpu=2"
    );
    for subresource in ["", "status", "ephemeralcontainers"] {
        assert_eq!(charge_pod(subresource), Ok(vec![]), "{subresource}");
    }
}

#[test]
fn volume_claim_status_is_charged_over_the_limit() {
    let old = json!({ "spec": { "resources": { "requests": { "storage": "1Gi" } } } });
    let mut new = old.clone();
    new["status"] = json!({ "allocatedResources": { "storage": "3Gi" } });
    let quota = quota(
        "q",
        &json!({ "requests.storage": "2Gi" }),
        &json!({ "requests.storage": "1Gi" }),
    );
    let charge = |subresource: &str| {
        charge(
            "PersistentVolumeClaim",
            (subresource, Some(&old)),
            &new,
            std::slice::from_ref(&quota),
        )
    };
    assert_eq!(charge("status"), Ok(vec![json!({ "requests.storage": "3Gi" })]));
    assert_eq!(
        charge("").unwrap_err(),
        "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=1Gi, limited: requests.storage=2Gi"
    );
}

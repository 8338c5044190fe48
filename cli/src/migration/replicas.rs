//! Whether every replica of the operator converts: the Deployments behind its Service are rolled out.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use kube::core::params::ListParams;
use kubewright::{
    NamespacedName,
    client::{Connection, Get, List, TypedClient},
};

use super::cluster_definition::ClusterDefinition;
use crate::error::MigrationError;

/// Fails if a Deployment behind the conversion Service is not rolled out. Does nothing without a conversion Service.
pub(super) async fn check(
    connection: &Connection,
    definition: &ClusterDefinition,
) -> Result<(), MigrationError> {
    let Some(service) = definition.conversion_service() else {
        return Ok(());
    };
    let name = NamespacedName::namespaced(&*service.namespace, &*service.name);
    let services = TypedClient::<Service, (Get,)>::new(connection.clone());
    let selector = services
        .get(&name)
        .await?
        .spec
        .and_then(|spec| spec.selector)
        .unwrap_or_default();
    let deployments = TypedClient::<Deployment, (List,)>::new(connection.clone());
    let deployments = deployments
        .list(Some(&service.namespace), &ListParams::default())
        .await?;
    let is_selected = |deployment: &&Deployment| {
        let template = deployment
            .spec
            .as_ref()
            .and_then(|spec| spec.template.metadata.as_ref());
        let labels = template.and_then(|metadata| metadata.labels.as_ref());
        let has = |(key, value): (&String, &String)| labels.and_then(|labels| labels.get(key)) == Some(value);
        !selector.is_empty() && selector.iter().all(has)
    };
    let mut selected = deployments.items.iter().filter(is_selected).peekable();
    if selected.peek().is_none() {
        return Err(MigrationError::NotReady(format!(
            "no Deployment is behind Service {name}, which converts: deploy the operator first"
        )));
    }
    match selected.find_map(unfinished) {
        Some(unfinished) => Err(MigrationError::NotReady(unfinished)),
        None => Ok(()),
    }
}

/// Returns the error of a Deployment that is not rolled out.
fn unfinished(deployment: &Deployment) -> Option<String> {
    let wanted = deployment.spec.as_ref()?.replicas.unwrap_or(1);
    let status = deployment.status.clone().unwrap_or_default();
    let [all, updated, ready] =
        [status.replicas, status.updated_replicas, status.ready_replicas].map(Option::unwrap_or_default);
    let is_observed = status.observed_generation >= deployment.metadata.generation;
    if is_observed && wanted > 0 && [all, updated, ready] == [wanted; 3] {
        return None;
    }
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
    Some(format!(
        "Deployment {namespace}/{name} is not rolled out: of {wanted} wanted replicas {all} exist, {updated} are of this release, {ready} are \
         ready; an older one may not convert: wait for `kubectl rollout status deployment/{name} --namespace {namespace}`"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn deployment(replicas: i32, generation: i64, status: &Value) -> Deployment {
        let template = json!({"metadata": {"labels": {"app": "shop"}}});
        let spec = json!({"replicas": replicas, "selector": {}, "template": template});
        let metadata = json!({"name": "shop", "namespace": "shop-system", "generation": generation});
        from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
    }

    #[test]
    fn only_a_whole_rollout_is_finished() {
        let status = |observed: i64, [all, updated, ready]: [i32; 3]| json!({"observedGeneration": observed, "replicas": all, "updatedReplicas": updated, "readyReplicas": ready});
        assert_eq!(unfinished(&deployment(2, 3, &status(3, [2, 2, 2]))), None);
        for (replicas, observed, counts) in [
            (2, 2, [2, 2, 2]),
            (2, 3, [3, 2, 2]),
            (2, 3, [2, 1, 2]),
            (2, 3, [2, 2, 1]),
            (0, 3, [0, 0, 0]),
        ] {
            let found = unfinished(&deployment(replicas, 3, &status(observed, counts)));
            assert!(found.is_some(), "{replicas} {observed} {counts:?}");
        }
        assert_eq!(
            unfinished(&deployment(2, 3, &status(3, [3, 1, 2]))).unwrap(),
            "Deployment shop-system/shop is not rolled out: of 2 wanted replicas 3 exist, 1 are of this release, 2 are ready; an older one \
             may not convert: wait for `kubectl rollout status deployment/shop --namespace shop-system`"
        );
        assert!(unfinished(&deployment(1, 1, &Value::Null)).is_some());
    }
}

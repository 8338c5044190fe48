//! The controller's permissions: none is missing, none unused.

use kubewright::testing::TestOperator;
use kubewright_controllers::register;
use kubewright_testkit::{AuditEvent, PermissionUnit, until};
use serde_json::{Value, json};

use crate::scenario::{Scenario, named, options, owners, stateful_set, with_image};

#[tokio::test]
async fn controller_uses_exactly_its_permissions() {
    let scenario = Scenario::start().await;
    let mut wanted = stateful_set(2);
    wanted["spec"]["revisionHistoryLimit"] = json!(1);
    wanted["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    let set = scenario.apply(&wanted);
    scenario.complete(&set).await;
    // Claims get owners: pods that are scaled down.
    scenario.patch(&set, &json!({"spec": {"replicas": 1}}));
    scenario.names(&["web-0"]).await;
    // Adoption of a revision and of a pod, which is corrected.
    let uid = set["metadata"]["uid"].as_str().unwrap();
    let revision = scenario.list("apps/v1", "ControllerRevision").remove(0);
    let pod = scenario.pods().remove(0);
    scenario.patch(&revision, &json!({"metadata": {"ownerReferences": null}}));
    let lost = json!({"metadata": {"ownerReferences": null, "labels": {"statefulset.kubernetes.io/pod-name": null}}});
    scenario.patch(&pod, &lost);
    for object in [&revision, &pod] {
        scenario
            .cluster
            .wait_until(object, |found| owners(found, "StatefulSet") == [uid])
            .await;
    }
    // The name of the next revision is taken, by one with the same template. Its owner exists: it would be collected otherwise.
    let mut owner = named("v1", "ConfigMap", "other");
    owner["data"] = json!({});
    let owner = scenario.apply(&owner);
    let taken = json!({"metadata": {"ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": owner["metadata"]["uid"], "controller": true,
    }]}});
    scenario.patch(&revision, &taken);
    // Takes that name, rolls back to the set's own second revision, and then exceeds the limit of the history.
    for image in ["second", "first", "third", "second", "fourth", "fifth"] {
        scenario.patch(&set, &with_image(image));
        scenario.complete(&set).await;
    }
    // The API server's log does not show where the other one is used: see the next test.
    let units = units_without_deletion_of_claims();
    until("every permission is used", async || {
        let audit = scenario.cluster.audit().map_err(|error| error.to_string())?;
        let checked = audit.check_exact(&units, scenario.identity.user());
        checked.map_err(|error| error.to_string())
    })
    .await;
}

/// The admission plugin OwnerReferencesPermissionEnforcement asks for it.
#[tokio::test]
async fn claims_get_no_owners_without_the_permission_to_delete_them() {
    let scenario = Scenario::start_with(&units_without_deletion_of_claims()).await;
    let mut wanted = stateful_set(1);
    wanted["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Retain", "whenScaled": "Delete"});
    let set = scenario.apply(&wanted);
    scenario.names(&["web-0"]).await;
    scenario.patch(&set, &json!({"spec": {"replicas": 0}}));
    until("the update of a claim's owners is forbidden", async || {
        let audit = scenario.cluster.audit().map_err(|error| error.to_string())?;
        let forbidden = audit.by_user(scenario.identity.user()).forbidden();
        let is_update =
            |event: &AuditEvent| event.resource == "persistentvolumeclaims" && event.verb == "update";
        forbidden
            .iter()
            .any(is_update)
            .then_some(())
            .ok_or_else(|| format!("{forbidden:?}"))
    })
    .await;
}

fn units_without_deletion_of_claims() -> Vec<PermissionUnit> {
    let mut units = units();
    let count = units.len();
    units.retain(|unit| unit.resource != "persistentvolumeclaims" || unit.verbs != ["delete"]);
    assert_eq!(units.len(), count - 1);
    units
}

/// The controller's permissions, each with one resource.
fn units() -> Vec<PermissionUnit> {
    let permissions = TestOperator::permissions(|setup| register(setup, &options()));
    let texts = |list: &Value| -> Vec<String> {
        let texts = list.as_array().unwrap().iter();
        texts.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let units = permissions.iter().map(|permission| {
        let permission = json!(permission);
        let (groups, resources) = (texts(&permission["apiGroups"]), texts(&permission["resources"]));
        assert_eq!((groups.len(), resources.len()), (1, 1), "{permission}");
        PermissionUnit::new(&groups[0], &resources[0], texts(&permission["verbs"]))
    });
    units.collect()
}

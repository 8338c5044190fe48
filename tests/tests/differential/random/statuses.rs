//! Example statuses as controllers write them, for `exhaustive.rs`.

use serde_json::{Value, json};

/// Returns the example statuses of a kind; many kinds have none.
pub(super) fn statuses(kind: &str) -> Vec<Value> {
    const TIME: &str = "2026-01-01T00:00:00Z";
    const LATER: &str = "2026-01-01T00:01:00Z";
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": TIME });
    let balanced = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.4", "ipMode": "VIP", "ports": [{ "port": 80, "protocol": "TCP" }] }, { "hostname": "a.b" }] } });
    match kind {
        "Deployment" => vec![
            json!({ "observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": 1,
            "terminatingReplicas": 1, "collisionCount": 1, "conditions": [condition("Available")] }),
        ],
        "StatefulSet" => vec![
            json!({ "observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "currentReplicas": 1,
            "currentRevision": "c", "updateRevision": "u", "collisionCount": 1, "conditions": [condition("X")] }),
        ],
        "ReplicaSet" | "ReplicationController" => vec![
            json!({ "observedGeneration": 1, "replicas": 2, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "conditions": [condition("ReplicaFailure")] }),
        ],
        "DaemonSet" => vec![
            json!({ "observedGeneration": 1, "currentNumberScheduled": 1, "numberMisscheduled": 1, "desiredNumberScheduled": 1, "numberReady": 1,
            "updatedNumberScheduled": 1, "numberAvailable": 1, "numberUnavailable": 1, "collisionCount": 1, "conditions": [condition("X")] }),
        ],
        "Job" => vec![
            json!({ "active": 1, "ready": 1, "terminating": 0, "startTime": TIME, "failed": 1, "succeeded": 1,
                "uncountedTerminatedPods": { "succeeded": ["a"], "failed": ["b"] }, "conditions": [condition("Suspended")] }),
            json!({ "succeeded": 2, "startTime": TIME, "completionTime": LATER, "completedIndexes": "0-1", "conditions": [condition("SuccessCriteriaMet"), condition("Complete")] }),
            json!({ "failed": 2, "startTime": TIME, "failedIndexes": "1", "completedIndexes": "0", "conditions": [condition("FailureTarget"), condition("Failed")] }),
        ],
        "CronJob" => vec![
            json!({ "active": [{ "kind": "Job", "name": "j", "namespace": "n", "apiVersion": "batch/v1" }], "lastScheduleTime": TIME, "lastSuccessfulTime": TIME }),
        ],
        "Pod" => vec![
            json!({ "phase": "Running", "conditions": [condition("Ready")], "hostIP": "10.0.0.1", "hostIPs": [{ "ip": "10.0.0.1" }], "podIP": "10.1.0.1", "podIPs": [{ "ip": "10.1.0.1" }],
            "startTime": TIME, "qosClass": "BestEffort", "nominatedNodeName": "n", "message": "m", "reason": "R",
            "containerStatuses": [{ "name": "c", "image": "i", "imageID": "d", "containerID": "x://1", "ready": true, "started": true, "restartCount": 1,
                "state": { "running": { "startedAt": TIME } }, "lastState": { "terminated": { "exitCode": 1, "reason": "Error", "startedAt": TIME, "finishedAt": TIME } } }] }),
            json!({ "initContainerStatuses": [{ "name": "i", "image": "i", "imageID": "d", "ready": false, "restartCount": 0,
                    "user": { "linux": { "uid": 1, "gid": 2, "supplementalGroups": [3] } }, "allocatedResourcesStatus": [{ "name": "cpu", "resources": [{ "resourceID": "a", "health": "Healthy" }] }] }],
                "ephemeralContainerStatuses": [{ "name": "e", "image": "i", "imageID": "d", "ready": false, "restartCount": 0, "state": { "waiting": { "reason": "R" } } }],
                "resourceClaimStatuses": [{ "name": "d", "resourceClaimName": "r" }] }),
        ],
        "Service" | "Ingress" => vec![balanced],
        "PersistentVolumeClaim" => vec![
            json!({ "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "1Gi" }, "conditions": [condition("Resizing")],
            "allocatedResources": { "storage": "1Gi" }, "allocatedResourceStatuses": { "storage": "ControllerResizeInProgress" } }),
        ],
        "PersistentVolume" => {
            vec![json!({ "phase": "Bound", "message": "m", "reason": "r", "lastPhaseTransitionTime": TIME })]
        }
        "PodDisruptionBudget" => vec![
            json!({ "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
            "disruptedPods": { "p": TIME }, "conditions": [condition("DisruptionAllowed")] }),
        ],
        "HorizontalPodAutoscaler" => vec![
            json!({ "observedGeneration": 1, "currentReplicas": 1, "desiredReplicas": 1, "lastScaleTime": TIME, "conditions": [condition("ScalingActive")],
            "currentMetrics": [{ "type": "Resource", "resource": { "name": "cpu", "current": { "averageUtilization": 5, "averageValue": "1" } } }] }),
        ],
        "Node" => vec![
            json!({ "capacity": { "cpu": "1" }, "conditions": [condition("Ready")], "addresses": [{ "type": "InternalIP", "address": "1.2.3.4" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } }, "nodeInfo": { "kubeletVersion": "v1" }, "images": [{ "names": ["a"], "sizeBytes": 1 }], "volumesInUse": ["v"] }),
        ],
        "Toy" => vec![json!({ "ready": true, "count": 1 })],
        _ => vec![],
    }
}

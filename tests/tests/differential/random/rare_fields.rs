//! Example objects with rarely set fields, and of rarely used kinds, for `exhaustive.rs`.

use serde_json::{Value, json};

/// Plurals of the cluster-scoped examples.
pub(super) const CLUSTER_SCOPED: [&str; 8] = [
    "clusterroles",
    "clusterrolebindings",
    "mutatingwebhookconfigurations",
    "nodes",
    "persistentvolumes",
    "priorityclasses",
    "storageclasses",
    "validatingwebhookconfigurations",
];

/// Returns the examples: path of the API group, plural, object.
pub(super) fn rare_field_examples() -> Vec<(&'static str, &'static str, Value)> {
    [workloads(), services(), cluster()].concat()
}

type Examples = Vec<(&'static str, &'static str, Value)>;

fn of(version: &str, kind: &str, spec: Value) -> Value {
    let mut object = json!({ "apiVersion": version, "kind": kind });
    object["spec"] = spec;
    object
}

fn workloads() -> Examples {
    let labels = json!({ "matchLabels": { "a": "b" }, "matchExpressions": [{ "key": "a", "operator": "In", "values": ["b"] }] });
    let template = json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "c": "d" } }, "spec": { "containers": [{ "name": "c", "image": "x" }] } });
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("Never");
    vec![
        ("/api/v1", "pods", of("v1", "Pod", containers())),
        ("/api/v1", "pods", of("v1", "Pod", volumes())),
        ("/api/v1", "pods", of("v1", "Pod", scheduling())),
        ("/api/v1", "pods", of("v1", "Pod", pod_level_fields())),
        ("/api/v1", "pods", of("v1", "Pod", windows_pod())),
        (
            "/apis/apps/v1",
            "deployments",
            of(
                "apps/v1",
                "Deployment",
                json!({ "selector": labels, "template": template, "minReadySeconds": 1, "revisionHistoryLimit": 2, "paused": true,
                    "progressDeadlineSeconds": 60, "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": "10%" } } }),
            ),
        ),
        (
            "/apis/apps/v1",
            "deployments",
            of(
                "apps/v1",
                "Deployment",
                json!({ "selector": labels, "template": template, "strategy": { "type": "Recreate" } }),
            ),
        ),
        (
            "/apis/apps/v1",
            "statefulsets",
            of(
                "apps/v1",
                "StatefulSet",
                json!({ "serviceName": "s", "selector": labels, "template": template, "podManagementPolicy": "Parallel", "minReadySeconds": 1,
                    "ordinals": { "start": 3 }, "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 1, "maxUnavailable": 2 } }, "revisionHistoryLimit": 2,
                    "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Delete", "whenScaled": "Retain" } }),
            ),
        ),
        (
            "/apis/apps/v1",
            "daemonsets",
            of(
                "apps/v1",
                "DaemonSet",
                json!({ "selector": labels, "template": template, "minReadySeconds": 1, "revisionHistoryLimit": 2,
                    "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 0, "maxSurge": 1 } } }),
            ),
        ),
        (
            "/api/v1",
            "replicationcontrollers",
            of(
                "v1",
                "ReplicationController",
                json!({ "replicas": 1, "minReadySeconds": 1, "selector": { "a": "b" }, "template": template }),
            ),
        ),
        (
            "/apis/batch/v1",
            "jobs",
            of(
                "batch/v1",
                "Job",
                json!({ "completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1, "maxFailedIndexes": 1, "activeDeadlineSeconds": 9,
                    "ttlSecondsAfterFinished": 5, "suspend": true, "podReplacementPolicy": "Failed", "successPolicy": { "rules": [{ "succeededIndexes": "0-1", "succeededCount": 1 }] },
                    "podFailurePolicy": { "rules": [{ "action": "FailIndex", "onExitCodes": { "containerName": "c", "operator": "In", "values": [1] } },
                        { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] }] }, "template": once }),
            ),
        ),
        (
            "/apis/batch/v1",
            "cronjobs",
            of(
                "batch/v1",
                "CronJob",
                json!({ "schedule": "*/5 1-3 * * 1,2", "timeZone": "Etc/UTC", "concurrencyPolicy": "Forbid", "startingDeadlineSeconds": 9, "suspend": true,
                    "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 2, "jobTemplate": { "metadata": { "labels": { "a": "b" } }, "spec": { "template": once } } }),
            ),
        ),
    ]
}

fn containers() -> Value {
    let first = json!({ "name": "c", "image": "x", "workingDir": "/w", "terminationMessagePath": "/t", "terminationMessagePolicy": "FallbackToLogsOnError",
        "imagePullPolicy": "IfNotPresent", "stdin": true, "stdinOnce": true, "tty": true,
        "ports": [{ "containerPort": 80, "hostPort": 8080, "name": "http", "protocol": "UDP" }],
        "env": [{ "name": "A", "valueFrom": { "configMapKeyRef": { "name": "m", "key": "k", "optional": true } } },
            { "name": "B", "valueFrom": { "secretKeyRef": { "name": "m", "key": "k" } } },
            { "name": "C", "valueFrom": { "resourceFieldRef": { "resource": "limits.cpu", "containerName": "c", "divisor": "1m" } } }],
        "envFrom": [{ "secretRef": { "name": "s", "optional": false } }],
        "resources": { "limits": { "cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "example.dev/device": "1" }, "requests": { "cpu": "500m" } },
        "resizePolicy": [{ "resourceName": "cpu", "restartPolicy": "NotRequired" }],
        "startupProbe": { "tcpSocket": { "port": 80, "host": "h" }, "initialDelaySeconds": 1, "timeoutSeconds": 2, "periodSeconds": 3, "successThreshold": 1, "failureThreshold": 4 },
        "livenessProbe": { "grpc": { "port": 9, "service": "s" }, "terminationGracePeriodSeconds": 3 },
        "readinessProbe": { "httpGet": { "port": 80, "path": "/", "scheme": "HTTPS", "host": "h", "httpHeaders": [{ "name": "A", "value": "b" }] }, "successThreshold": 2 },
        "lifecycle": { "postStart": { "exec": { "command": ["x"] } }, "preStop": { "httpGet": { "port": "http" } }, "stopSignal": "SIGTERM" },
        "securityContext": { "runAsNonRoot": true, "runAsGroup": 1, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "procMount": "Default",
            "seccompProfile": { "type": "Localhost", "localhostProfile": "p" }, "appArmorProfile": { "type": "RuntimeDefault" }, "capabilities": { "drop": ["ALL"] },
            "seLinuxOptions": { "level": "s0" } } });
    let helper = json!({ "name": "i", "image": "x", "resources": { "requests": { "memory": "1Mi" } } });
    json!({ "containers": [first, { "name": "d", "image": "y" }], "initContainers": [helper], "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 30 })
}

/// Returns a pod spec with pod-level resources and container restart rules.
fn pod_level_fields() -> Value {
    let resources = json!({ "requests": { "cpu": "500m", "memory": "1Gi" }, "limits": { "cpu": "1" } });
    let rules = json!([{ "action": "Restart", "exitCodes": { "operator": "In", "values": [1] } }]);
    json!({ "containers": [{ "name": "c", "image": "x", "resources": resources, "restartPolicy": "Never", "restartPolicyRules": rules,
            "lifecycle": { "preStop": { "sleep": { "seconds": 3 } } } }],
        "initContainers": [{ "name": "i", "image": "x", "resources": { "requests": { "cpu": "250m" } }, "restartPolicy": "Always" }],
        "resources": { "requests": { "cpu": "1" }, "limits": { "cpu": "2", "memory": "2Gi" } }, "imagePullSecrets": [{ "name": "s" }],
        "resourceClaims": [{ "name": "d", "resourceClaimTemplateName": "t" }] })
}

fn windows_pod() -> Value {
    let user = json!({ "windowsOptions": { "gmsaCredentialSpecName": "g", "gmsaCredentialSpec": "{}", "runAsUserName": "A\\b", "hostProcess": true } });
    json!({ "containers": [{ "name": "c", "image": "x", "securityContext": user }], "securityContext": user, "hostNetwork": true, "os": { "name": "windows" } })
}

fn volumes() -> Value {
    let sources = [
        json!({ "hostPath": { "path": "/h", "type": "Directory" } }),
        json!({ "secret": { "secretName": "s", "defaultMode": 420, "optional": true, "items": [{ "key": "k", "path": "p", "mode": 256 }] } }),
        json!({ "persistentVolumeClaim": { "claimName": "c", "readOnly": true } }),
        json!({ "emptyDir": { "medium": "Memory" } }),
        json!({ "downwardAPI": { "defaultMode": 420, "items": [{ "path": "p", "fieldRef": { "fieldPath": "metadata.labels" } }, { "path": "q", "resourceFieldRef": { "containerName": "c", "resource": "limits.cpu" } }] } }),
        json!({ "projected": { "sources": [{ "configMap": { "name": "m", "items": [{ "key": "k", "path": "a" }] } }, { "secret": { "name": "s" } },
            { "serviceAccountToken": { "path": "t", "audience": "a", "expirationSeconds": 3600 } }, { "downwardAPI": { "items": [{ "path": "b", "fieldRef": { "fieldPath": "metadata.name" } }] } }] } }),
        json!({ "projected": { "sources": [{ "clusterTrustBundle": { "name": "b", "path": "p" } }, { "podCertificate": { "signerName": "a.dev/s", "keyType": "ED25519", "keyPath": "k" } }] } }),
        json!({ "nfs": { "server": "s", "path": "/p", "readOnly": true } }),
        json!({ "csi": { "driver": "d.dev", "volumeAttributes": { "a": "b" } } }),
        json!({ "ephemeral": { "volumeClaimTemplate": { "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } } } }),
        json!({ "image": { "reference": "x", "pullPolicy": "Always" } }),
    ];
    let named = |(at, mut volume): (usize, Value)| {
        volume["name"] = json!(format!("v{at}"));
        volume
    };
    let volumes: Vec<Value> = sources.into_iter().enumerate().map(named).collect();
    let mounts = json!([{ "name": "v0", "mountPath": "/0", "mountPropagation": "HostToContainer" }, { "name": "v1", "mountPath": "/1", "readOnly": true, "recursiveReadOnly": "Disabled" },
        { "name": "v2", "mountPath": "/2", "subPath": "p" }, { "name": "v3", "mountPath": "/3", "subPathExpr": "$(A)" }]);
    json!({ "containers": [{ "name": "c", "image": "x", "env": [{ "name": "A", "value": "1" }], "volumeMounts": mounts }], "volumes": volumes, "automountServiceAccountToken": false, "serviceAccountName": "default" })
}

fn scheduling() -> Value {
    let labels = json!({ "matchLabels": { "a": "b" } });
    let term = json!({ "topologyKey": "z", "labelSelector": labels, "namespaceSelector": labels, "namespaces": ["n"], "matchLabelKeys": ["k"], "mismatchLabelKeys": ["l"] });
    let node = json!({ "matchExpressions": [{ "key": "k", "operator": "Gt", "values": ["1"] }], "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n"] }] });
    json!({ "containers": [{ "name": "c", "image": "x" }], "nodeName": "n", "hostNetwork": true, "hostPID": false, "hostIPC": true, "shareProcessNamespace": true, "hostname": "h", "subdomain": "s",
        "setHostnameAsFQDN": true, "schedulerName": "mine", "priority": 0, "preemptionPolicy": "PreemptLowerPriority", "enableServiceLinks": false, "activeDeadlineSeconds": 9, "os": { "name": "linux" },
        "readinessGates": [{ "conditionType": "a.dev/b" }], "dnsPolicy": "ClusterFirstWithHostNet", "dnsConfig": { "searches": ["a.b"], "options": [{ "name": "ndots", "value": "2" }] },
        "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [node] },
                "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1, "preference": { "matchExpressions": [{ "key": "k", "operator": "Exists" }] } }] },
            "podAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 5, "podAffinityTerm": term }] } },
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": labels, "minDomains": 2, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore", "matchLabelKeys": ["k"] }],
        "schedulingGroup": { "podGroupName": "g" },
        "tolerations": [{ "key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule" }, { "operator": "Exists" }],
        "securityContext": { "runAsUser": 1, "runAsGroup": 2, "runAsNonRoot": true, "supplementalGroups": [3], "supplementalGroupsPolicy": "Merge", "fsGroupChangePolicy": "Always", "fsGroup": 4,
            "sysctls": [{ "name": "vm.x", "value": "1" }], "seLinuxOptions": { "user": "u" }, "appArmorProfile": { "type": "Unconfined" } } })
}

fn services() -> Examples {
    let policy = json!({ "type": "Pods", "value": 4, "periodSeconds": 60 });
    vec![
        (
            "/api/v1",
            "services",
            of(
                "v1",
                "Service",
                json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerSourceRanges": ["10.0.0.0/8"], "loadBalancerClass": "a.dev/b", "allocateLoadBalancerNodePorts": false,
                    "externalIPs": ["8.8.8.8"], "publishNotReadyAddresses": true, "trafficDistribution": "PreferClose", "internalTrafficPolicy": "Local", "loadBalancerIP": "1.2.3.4",
                    "ports": [{ "port": 80, "appProtocol": "http", "targetPort": 81 }], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack" }),
            ),
        ),
        (
            "/api/v1",
            "services",
            of(
                "v1",
                "Service",
                json!({ "type": "ExternalName", "externalName": "a.b", "ports": [{ "port": 80 }] }),
            ),
        ),
        (
            "/api/v1",
            "services",
            of(
                "v1",
                "Service",
                json!({ "clusterIP": "None", "selector": { "a": "b" }, "ports": [{ "port": 80 }] }),
            ),
        ),
        (
            "/api/v1",
            "endpoints",
            json!({ "apiVersion": "v1", "kind": "Endpoints", "subsets": [{ "addresses": [{ "ip": "10.1.2.3", "hostname": "h", "nodeName": "n", "targetRef": { "kind": "Pod", "name": "p" } }],
                "notReadyAddresses": [{ "ip": "10.1.2.4" }], "ports": [{ "name": "p", "port": 80, "protocol": "TCP", "appProtocol": "http" }] }] }),
        ),
        (
            "/apis/discovery.k8s.io/v1",
            "endpointslices",
            json!({ "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "FQDN", "ports": [{ "name": "p", "port": 80, "protocol": "UDP", "appProtocol": "http" }],
                "endpoints": [{ "addresses": ["a.b"], "hostname": "h", "nodeName": "n", "zone": "z", "conditions": { "ready": true, "serving": true, "terminating": false },
                    "deprecatedTopology": { "a": "b" }, "targetRef": { "kind": "Pod", "name": "p", "namespace": "n" }, "hints": { "forZones": [{ "name": "z" }] } }] }),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "ingresses",
            of(
                "networking.k8s.io/v1",
                "Ingress",
                json!({ "ingressClassName": "c", "defaultBackend": { "resource": { "apiGroup": "a.dev", "kind": "K", "name": "n" } }, "tls": [{ "hosts": ["a.dev"], "secretName": "s" }],
                    "rules": [{ "host": "*.b.dev", "http": { "paths": [{ "path": "/x", "pathType": "ImplementationSpecific", "backend": { "service": { "name": "s", "port": { "name": "web" } } } }] } }] }),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "networkpolicies",
            of(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                json!({ "podSelector": {}, "policyTypes": ["Egress", "Ingress"],
                    "egress": [{ "to": [{ "podSelector": { "matchLabels": { "a": "b" } }, "namespaceSelector": { "matchLabels": { "a": "b" } } }], "ports": [{ "port": 80, "endPort": 90, "protocol": "UDP" }] }],
                    "ingress": [{ "ports": [{ "port": "http" }] }] }),
            ),
        ),
        (
            "/apis/autoscaling/v2",
            "horizontalpodautoscalers",
            of(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                json!({ "maxReplicas": 3, "scaleTargetRef": { "kind": "Deployment", "name": "d", "apiVersion": "apps/v1" },
                    "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } } },
                        { "type": "Pods", "pods": { "metric": { "name": "m", "selector": { "matchLabels": { "a": "b" } } }, "target": { "type": "AverageValue", "averageValue": "1" } } },
                        { "type": "Object", "object": { "metric": { "name": "m" }, "describedObject": { "kind": "K", "name": "n" }, "target": { "type": "Value", "value": "2" } } },
                        { "type": "External", "external": { "metric": { "name": "m" }, "target": { "type": "Value", "value": "2" } } },
                        { "type": "ContainerResource", "containerResource": { "name": "cpu", "container": "c", "target": { "type": "Utilization", "averageUtilization": 50 } } }],
                    "behavior": { "scaleUp": { "stabilizationWindowSeconds": 3, "selectPolicy": "Min", "policies": [policy] }, "scaleDown": { "policies": [policy] } } }),
            ),
        ),
        (
            "/apis/policy/v1",
            "poddisruptionbudgets",
            of(
                "policy/v1",
                "PodDisruptionBudget",
                json!({ "maxUnavailable": "10%", "selector": { "matchLabels": { "a": "b" } }, "unhealthyPodEvictionPolicy": "AlwaysAllow" }),
            ),
        ),
        (
            "/apis/coordination.k8s.io/v1",
            "leases",
            of(
                "coordination.k8s.io/v1",
                "Lease",
                json!({ "holderIdentity": "me", "leaseTransitions": 1, "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z" }),
            ),
        ),
        (
            "/api/v1",
            "events",
            json!({ "apiVersion": "v1", "kind": "Event", "involvedObject": { "kind": "Pod", "name": "p", "apiVersion": "v1", "fieldPath": "spec" }, "reason": "R", "message": "m", "type": "Normal", "count": 1,
                "source": { "component": "c", "host": "h" }, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z" }),
        ),
        (
            "/apis/events.k8s.io/v1",
            "events",
            json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": { "kind": "Pod", "name": "p" }, "reason": "R", "note": "m", "type": "Normal", "action": "A",
                "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "a.dev/c", "reportingInstance": "i", "series": { "count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z" } }),
        ),
        (
            "/api/v1",
            "secrets",
            json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "immutable": false, "data": { "tls.crt": "MQ==", "tls.key": "MQ==" } }),
        ),
        (
            "/api/v1",
            "configmaps",
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": { "a": "1" }, "binaryData": { "b": "MQ==" } }),
        ),
        (
            "/api/v1",
            "serviceaccounts",
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{ "name": "s" }], "imagePullSecrets": [{ "name": "p" }] }),
        ),
        (
            "/api/v1",
            "persistentvolumeclaims",
            of(
                "v1",
                "PersistentVolumeClaim",
                json!({ "accessModes": ["ReadWriteMany"], "resources": { "requests": { "storage": "1Gi" }, "limits": { "storage": "2Gi" } }, "volumeMode": "Block", "volumeName": "v",
                    "selector": { "matchLabels": { "a": "b" } }, "dataSource": { "kind": "PersistentVolumeClaim", "name": "c" } }),
            ),
        ),
        (
            "/apis/apps/v1",
            "controllerrevisions",
            json!({ "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": { "a": 1 } }),
        ),
    ]
}

fn cluster() -> Examples {
    let webhook = |kind: &str, more: Value| {
        let mut hook = json!({ "name": "a.b.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 5,
            "clientConfig": { "service": { "name": "s", "namespace": "n", "path": "/p", "port": 443 } },
            "rules": [{ "apiGroups": ["none.dev"], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"], "scope": "Namespaced" }],
            "namespaceSelector": { "matchLabels": { "a": "b" } }, "objectSelector": { "matchLabels": { "a": "b" } }, "matchConditions": [{ "name": "c", "expression": "true" }] });
        if let (Some(hook), Some(more)) = (hook.as_object_mut(), more.as_object()) {
            hook.extend(more.clone());
        }
        json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "webhooks": [hook] })
    };
    let rbac = "rbac.authorization.k8s.io/v1";
    vec![
        (
            "/apis/rbac.authorization.k8s.io/v1",
            "clusterroles",
            json!({ "apiVersion": rbac, "kind": "ClusterRole", "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] },
                "rules": [{ "nonResourceURLs": ["/x"], "verbs": ["get"] }, { "apiGroups": [""], "resources": ["pods"], "resourceNames": ["n"], "verbs": ["get"] }] }),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1",
            "clusterrolebindings",
            json!({ "apiVersion": rbac, "kind": "ClusterRoleBinding", "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r" },
                "subjects": [{ "kind": "ServiceAccount", "name": "u", "namespace": "n" }, { "kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io" }] }),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1",
            "validatingwebhookconfigurations",
            webhook("ValidatingWebhookConfiguration", json!({})),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1",
            "mutatingwebhookconfigurations",
            webhook(
                "MutatingWebhookConfiguration",
                json!({ "reinvocationPolicy": "IfNeeded" }),
            ),
        ),
        (
            "/api/v1",
            "nodes",
            of(
                "v1",
                "Node",
                json!({ "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "p", "unschedulable": true,
                    "taints": [{ "key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z" }] }),
            ),
        ),
        (
            "/api/v1",
            "persistentvolumes",
            of(
                "v1",
                "PersistentVolume",
                json!({ "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "hostPath": { "path": "/h" }, "storageClassName": "s", "persistentVolumeReclaimPolicy": "Retain",
                    "volumeMode": "Filesystem", "mountOptions": ["ro"], "claimRef": { "name": "c", "namespace": "n" },
                    "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "k", "operator": "In", "values": ["v"] }] }] } } }),
            ),
        ),
        (
            "/apis/scheduling.k8s.io/v1",
            "priorityclasses",
            json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 5, "globalDefault": false, "description": "d", "preemptionPolicy": "Never" }),
        ),
        (
            "/apis/storage.k8s.io/v1",
            "storageclasses",
            json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "a.dev/b", "parameters": { "a": "b" }, "reclaimPolicy": "Retain", "mountOptions": ["ro"],
                "allowVolumeExpansion": true, "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [{ "matchLabelExpressions": [{ "key": "k", "values": ["v"] }] }] }),
        ),
    ]
}

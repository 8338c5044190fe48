//! The example objects that are mutated.

use serde_json::{Value, json};

/// Returns the CRD of the custom resource in the examples.
pub(crate) fn definition() -> Value {
    let spec = json!({ "type": "object", "required": ["size"], "properties": {
        "size": { "type": "integer", "minimum": 0, "maximum": 10 },
        "colour": { "type": "string", "enum": ["red", "blue"], "default": "red" },
        "parts": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "count": { "type": "integer" } } } },
        "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string", "maxLength": 5 } },
        "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "port": { "x-kubernetes-int-or-string": true } } });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": { "type": "object", "properties": { "ready": { "type": "boolean" }, "count": { "type": "integer" } } } } });
    json!({ "metadata": { "name": "toys.random.dev" }, "spec": {
        "group": "random.dev", "scope": "Namespaced", "names": { "plural": "toys", "kind": "Toy" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {}, "scale": { "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count" } }, "schema": { "openAPIV3Schema": schema } }] } })
}

/// Returns the frequent examples: path of the API group, plural, object.
pub(super) fn examples() -> Vec<(&'static str, &'static str, Value)> {
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [
        { "name": "c", "image": "nginx:1", "ports": [{ "containerPort": 80 }], "env": [{ "name": "A", "value": "1" }] }] } });
    vec![
        (
            "/api/v1",
            "configmaps",
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "1", "b": "2" } }),
        ),
        (
            "/api/v1",
            "secrets",
            json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": { "a": "MQ==" }, "stringData": { "b": "2" } }),
        ),
        (
            "/api/v1",
            "serviceaccounts",
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": true }),
        ),
        (
            "/api/v1",
            "services",
            json!({ "apiVersion": "v1", "kind": "Service", "spec": { "selector": { "a": "b" }, "ports": [{ "port": 80, "name": "web", "targetPort": "http" }] } }),
        ),
        (
            "/api/v1",
            "pods",
            json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "containers": [{ "name": "c", "image": "nginx", "resources": { "requests": { "cpu": "100m" } } }], "restartPolicy": "Never" } }),
        ),
        (
            "/apis/apps/v1",
            "deployments",
            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "replicas": 2, "selector": { "matchLabels": { "a": "b" } }, "template": template } }),
        ),
        (
            "/apis/batch/v1",
            "cronjobs",
            json!({ "apiVersion": "batch/v1", "kind": "CronJob", "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": { "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "x" }] } } } } } }),
        ),
        (
            "/apis/coordination.k8s.io/v1",
            "leases",
            json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": { "holderIdentity": "me", "leaseDurationSeconds": 15 } }),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1",
            "roles",
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] }),
        ),
        (
            "/apis/random.dev/v1",
            "toys",
            json!({ "apiVersion": "random.dev/v1", "kind": "Toy", "spec": { "size": 3, "parts": [{ "name": "x", "count": 1 }], "tags": ["a", "b"], "port": 80 } }),
        ),
    ]
}

/// Returns further examples, which are used less often.
pub(super) fn more_examples() -> Vec<(&'static str, &'static str, Value)> {
    let labels = json!({ "matchLabels": { "a": "b" } });
    let container = json!({ "name": "c", "image": "nginx", "command": ["a"], "args": ["$(A)"],
        "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }, { "name": "B", "value": "" }],
        "envFrom": [{ "prefix": "P", "configMapRef": { "name": "m" } }],
        "livenessProbe": { "httpGet": { "port": "http", "path": "/" }, "periodSeconds": 3 },
        "readinessProbe": { "exec": { "command": ["true"] } },
        "lifecycle": { "preStop": { "sleep": { "seconds": 1 } } },
        "securityContext": { "runAsUser": 1, "capabilities": { "add": ["NET_ADMIN"] }, "privileged": false },
        "volumeMounts": [{ "name": "v", "mountPath": "/v" }], "ports": [{ "containerPort": 80, "name": "http" }],
        "resources": { "limits": { "memory": "1Gi" }, "requests": { "memory": "1.5Ki" } }, "imagePullPolicy": "Always" });
    let spec = json!({ "containers": [container], "initContainers": [{ "name": "i", "image": "x", "restartPolicy": "Always" }],
        "volumes": [{ "name": "v", "emptyDir": { "sizeLimit": "1Mi" } }, { "name": "w", "configMap": { "name": "m", "items": [{ "key": "k", "path": "p" }] } }],
        "tolerations": [{ "key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3 }],
        "nodeSelector": { "disk": "ssd" }, "securityContext": { "fsGroup": 1, "seccompProfile": { "type": "RuntimeDefault" } },
        "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{ "topologyKey": "z", "labelSelector": labels }] } },
        "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": labels }],
        "hostAliases": [{ "ip": "10.1.2.3", "hostnames": ["h"] }], "dnsPolicy": "None", "dnsConfig": { "nameservers": ["1.1.1.1"] },
        "imagePullSecrets": [{ "name": "s" }], "terminationGracePeriodSeconds": 5, "serviceAccountName": "default" });
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "x" }] } });
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("OnFailure");
    let of =
        |version: &str, kind: &str, spec: Value| json!({ "apiVersion": version, "kind": kind, "spec": spec });
    vec![
        ("/api/v1", "pods", of("v1", "Pod", spec)),
        (
            "/apis/apps/v1",
            "statefulsets",
            of(
                "apps/v1",
                "StatefulSet",
                json!({ "serviceName": "s", "selector": labels, "template": template,
                "volumeClaimTemplates": [{ "metadata": { "name": "v" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }] }),
            ),
        ),
        (
            "/apis/apps/v1",
            "replicasets",
            of(
                "apps/v1",
                "ReplicaSet",
                json!({ "replicas": 1, "selector": labels, "template": template }),
            ),
        ),
        (
            "/apis/apps/v1",
            "daemonsets",
            of(
                "apps/v1",
                "DaemonSet",
                json!({ "selector": labels, "template": template, "updateStrategy": { "rollingUpdate": { "maxUnavailable": "10%" } } }),
            ),
        ),
        (
            "/apis/batch/v1",
            "jobs",
            of(
                "batch/v1",
                "Job",
                json!({ "completions": 2, "parallelism": 1, "backoffLimit": 3, "template": once }),
            ),
        ),
        (
            "/apis/policy/v1",
            "poddisruptionbudgets",
            of(
                "policy/v1",
                "PodDisruptionBudget",
                json!({ "minAvailable": 1, "selector": labels }),
            ),
        ),
        (
            "/apis/autoscaling/v2",
            "horizontalpodautoscalers",
            of(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                json!({ "maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": { "kind": "Deployment", "name": "d", "apiVersion": "apps/v1" } }),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "ingresses",
            of(
                "networking.k8s.io/v1",
                "Ingress",
                json!({ "rules": [{ "host": "a.dev", "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "s", "port": { "number": 80 } } } }] } }] }),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "networkpolicies",
            of(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                json!({ "podSelector": labels, "ingress": [{ "from": [{ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"] } }], "ports": [{ "port": 80 }] }] }),
            ),
        ),
        (
            "/api/v1",
            "persistentvolumeclaims",
            of(
                "v1",
                "PersistentVolumeClaim",
                json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } }, "storageClassName": "s" }),
            ),
        ),
        (
            "/apis/discovery.k8s.io/v1",
            "endpointslices",
            json!({ "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [{ "name": "p", "port": 80 }], "endpoints": [{ "addresses": ["10.1.2.3"], "conditions": { "ready": true } }] }),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1",
            "rolebindings",
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" }, "subjects": [{ "kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io" }] }),
        ),
        (
            "/api/v1",
            "services",
            of(
                "v1",
                "Service",
                json!({ "type": "NodePort", "sessionAffinity": "ClientIP", "ports": [{ "port": 80, "name": "a" }, { "port": 81, "name": "b", "protocol": "UDP" }] }),
            ),
        ),
    ]
}

//! Generates applications. Each is a template of its Pods, as the API server would send them.

use rand::{RngExt as _, rngs::StdRng};
use serde_json::{Value, json};

use super::{
    PREFIX, managed,
    template::Blank::{Address, Id, LastTime, Node, Suffix, Time, Uuid, Version},
};

const WORDS: [&str; 32] = [
    "account",
    "analytics",
    "audit",
    "basket",
    "billing",
    "catalog",
    "checkout",
    "config",
    "courier",
    "delivery",
    "edge",
    "events",
    "export",
    "gateway",
    "identity",
    "import",
    "inventory",
    "ledger",
    "mailer",
    "media",
    "metrics",
    "notify",
    "orders",
    "payments",
    "pricing",
    "profile",
    "ranking",
    "reports",
    "search",
    "session",
    "stock",
    "tracking",
];
const ROLES: [&str; 8] = ["api", "worker", "web", "consumer", "cron", "proxy", "db", "cache"];
const SIDECARS: [&str; 5] = [
    "proxy",
    "log-shipper",
    "metrics-exporter",
    "config-reloader",
    "auth-agent",
];
const REGISTRIES: [&str; 3] = [
    "registry.example.com",
    "ghcr.example.net/platform",
    "eu-docker.example.dev/prod",
];

/// Data that all parts of an application's template share.
struct App<'a> {
    name: String,
    team: &'static str,
    random: &'a mut StdRng,
}

/// Returns the Pod template of application `number`, with blanks.
pub(super) fn template(number: usize, random: &mut StdRng) -> String {
    let (team, role) = (WORDS[number % 32], ROLES[number / 32 % 8]);
    let mut app = App {
        name: format!("{team}-{role}-{number}"),
        team,
        random,
    };
    let hash = app.hex(10);
    // Most Pods have one container.
    let containers = match app.random.random_range(0..20) {
        0..16 => 1,
        16..18 => 2,
        18 => 3,
        _ => 4,
    };
    let names: Vec<String> = (0..containers)
        .map(|position| match position {
            0 => app.name.clone(),
            _ => SIDECARS[(number + position) % SIDECARS.len()].to_owned(),
        })
        .collect();
    let metadata = app.metadata(&hash);
    let spec = app.spec(&names);
    let status = app.status(&names);
    to_json(&metadata, &spec, &status)
}

/// Writes the Pod with its fields in the API server's order where scanners depend on it: metadata first, and managedFields last in it.
fn to_json(metadata: &Value, spec: &Value, status: &Value) -> String {
    const FIELDS: [&str; 9] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "labels",
        "annotations",
        "ownerReferences",
    ];
    let created = json!({
        "metadata": {
            "annotations": metadata["annotations"], "generateName": metadata["generateName"],
            "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"],
        },
        "spec": managed::as_created(spec),
    });
    let network =
        json!({"metadata": {"annotations": {"cni.example.org/podIP": 0, "cni.example.org/containerID": 0}}});
    let managers = [
        managed::entry("kube-controller-manager", None, &Time.placeholder(0), &created),
        managed::entry("multus", Some("status"), &Time.placeholder(1), &network),
        managed::entry(
            "kubelet",
            Some("status"),
            &LastTime.placeholder(0),
            &json!({"status": status}),
        ),
    ];
    let fields = FIELDS.map(|field| format!("{}:{}", json!(field), metadata[field]));
    let managers = json!(managers);
    let fields = fields.join(",");
    format!(r#"{PREFIX}"metadata":{{{fields},"managedFields":{managers}}},"spec":{spec},"status":{status}}}"#)
}

impl App<'_> {
    fn hex(&mut self, length: usize) -> String {
        let digit = |_| char::from(b"0123456789abcdef"[self.random.random_range(0..16)]);
        (0..length).map(digit).collect()
    }

    fn metadata(&mut self, hash: &str) -> Value {
        let name = self.name.clone();
        let mut labels = json!({
            "app.kubernetes.io/name": name, "app.kubernetes.io/instance": format!("{name}-production"),
            "app.kubernetes.io/part-of": self.team, "pod-template-hash": hash,
        });
        if self.random.random_bool(0.5) {
            labels["topology.example.com/tier"] =
                ["frontend", "backend", "batch"][self.random.random_range(0..3)].into();
        }
        let mut annotations = json!({
            "cni.example.org/podIP": format!("{}/32", Address.placeholder(0)),
            "cni.example.org/containerID": Id.placeholder(0),
        });
        if self.random.random_bool(0.7) {
            annotations["checksum/config"] = self.hex(64).into();
        }
        if self.random.random_bool(0.5) {
            annotations["prometheus.io/port"] = self.random.random_range(2000..10_000).to_string().into();
            annotations["prometheus.io/scrape"] = "true".into();
        }
        json!({
            "name": format!("{name}-{hash}-{}", Suffix.placeholder(0)), "generateName": format!("{name}-{hash}-"),
            "namespace": self.team, "uid": Uuid.placeholder(0), "resourceVersion": Version.placeholder(0),
            "creationTimestamp": Time.placeholder(0), "labels": labels, "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{name}-{hash}"), "controller": true,
                "blockOwnerDeletion": true,
                "uid": format!("{}-{}-4{}-a{}-{}", self.hex(8), self.hex(4), self.hex(3), self.hex(3), self.hex(12)),
            }],
        })
    }

    fn spec(&mut self, names: &[String]) -> Value {
        let volumes = self.random.random_range(0..2);
        let containers: Vec<Value> = names.iter().map(|name| self.container(name, volumes)).collect();
        let mut sources = vec![
            json!({"name": managed::TOKEN_VOLUME, "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ]}}),
        ];
        let name = self.name.clone();
        sources.extend((0..volumes).map(|volume| match volume % 3 {
            0 => json!({"name": format!("volume-{volume}"), "configMap": {"name": format!("{name}-config"), "defaultMode": 420}}),
            1 => json!({"name": format!("volume-{volume}"), "secret": {"secretName": format!("{name}-tls"), "defaultMode": 420}}),
            _ => json!({"name": format!("volume-{volume}"), "emptyDir": {}}),
        }));
        json!({
            "containers": containers, "volumes": sources,
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
            "nodeName": format!("node-{}.eu-central-1.compute.internal", Node.placeholder(0)), "priority": 0,
            "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {"runAsNonRoot": true, "fsGroup": self.random.random_range(1000..70_000)},
            "serviceAccount": name, "serviceAccountName": name, "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
                {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300},
            ],
        })
    }

    fn container(&mut self, name: &str, volumes: usize) -> Value {
        let port = self.random.random_range(3000..9999);
        let env = (0..self.random.random_range(0..4)).map(|position| {
            let name = format!("{}_{}", WORDS[self.random.random_range(0..32)], ["URL", "TOKEN", "LIMIT", "MODE"][position % 4]);
            match position % 3 {
                0 => json!({"name": name.to_uppercase(), "value": format!("http://{}.svc:{port}/v1", WORDS[self.random.random_range(0..32)])}),
                1 => json!({"name": name.to_uppercase(), "value": self.hex(24)}),
                _ => json!({"name": name.to_uppercase(), "valueFrom": {"secretKeyRef": {"name": format!("{}-secret", self.team), "key": "token"}}}),
            }
        });
        let env: Vec<Value> = env.collect();
        let mounts = (0..volumes).map(|volume| {
            json!({"name": format!("volume-{volume}"), "mountPath": format!("/etc/{name}/{volume}"), "readOnly": true})
        });
        let token = json!({
            "name": managed::TOKEN_VOLUME, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true,
        });
        let mounts: Vec<Value> = mounts.chain([token]).collect();
        let probe = json!({
            "httpGet": {"path": "/healthz", "port": port, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1,
            "failureThreshold": 3, "successThreshold": 1,
        });
        let mut container = json!({
            "name": name, "image": self.image(name), "imagePullPolicy": "IfNotPresent", "env": env, "livenessProbe": probe,
            "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
            "resources": {
                "limits": {"memory": format!("{}Mi", 64 * self.random.random_range(1..33))},
                "requests": {"cpu": format!("{}m", 10 * self.random.random_range(1..100)), "memory": "64Mi"},
            },
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "volumeMounts": mounts,
        });
        if self.random.random_bool(0.3) {
            container["readinessProbe"] = probe;
        }
        container
    }

    fn image(&mut self, name: &str) -> String {
        // Derive registry and version from the names, so that every call returns the same image.
        let number = self
            .name
            .bytes()
            .chain(name.bytes())
            .map(usize::from)
            .sum::<usize>();
        let (major, minor) = (number % 7, number % 53);
        format!(
            "{}/{}/{name}:v{major}.{minor}.0",
            REGISTRIES[number % 3],
            self.team
        )
    }

    fn status(&mut self, names: &[String]) -> Value {
        let conditions = [
            ("PodReadyToStartContainers", Time.placeholder(2)),
            ("Initialized", Time.placeholder(0)),
            ("Ready", LastTime.placeholder(0)),
            ("ContainersReady", LastTime.placeholder(0)),
            ("PodScheduled", Time.placeholder(0)),
        ];
        let containers = names.iter().enumerate();
        let containers = containers.map(|(position, name)| {
            let image = self.image(name);
            let repository = image.split(":v").next().unwrap_or(&image);
            json!({
                "name": name, "ready": true, "restartCount": self.random.random_range(0..4), "started": true, "lastState": {},
                "image": image, "imageID": format!("{repository}@sha256:{}", self.hex(64)),
                "containerID": format!("containerd://{}", Id.placeholder(position + 1)),
                "state": {"running": {"startedAt": Time.placeholder(position + 3)}},
            })
        });
        let containers: Vec<Value> = containers.collect();
        json!({
            "conditions": conditions.map(|(kind, time)| json!({
                "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": time,
            })),
            "containerStatuses": containers,
            "hostIP": Address.placeholder(1), "phase": "Running",
            "podIP": Address.placeholder(0), "podIPs": [{"ip": Address.placeholder(0)}],
            "qosClass": "Burstable", "startTime": Time.placeholder(0),
        })
    }
}

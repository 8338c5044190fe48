//! `kubewright package`: snapshots in `tests/golden/packages`, and refusals. `cargo xtask check-packages` compares the snapshots with what
//! kubectl, helm and OLM's validator make of them.
//!
//! `UPDATE_GOLDEN=1 cargo test -p kubewright-cli package` updates them.

use std::{collections::BTreeMap, fs, path::Path};

use kubewright_cli::exit;

use crate::{
    certificates::manifests_with_webhooks,
    support::{Sandbox, collect, manifests, manifests_with},
};
use serde_json::json;

const KUSTOMIZATION: &str = "manifests/deploy/Kustomization";

const TRANSFORMERS: &str = "
patches:
  - path: memory.yaml
  - patch: |-
      - op: add
        path: /metadata/annotations
        value: {team: \"a {{ b }}\"}
    target: {kind: Deployment, name: sh.*}
  - patch: |-
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: unused, namespace: shop-system}
      $patch: delete
  - patch: |-
      apiVersion: monitoring.coreos.com/v1
      kind: ServiceMonitor
      metadata: {name: shop, namespace: shop-system}
      spec: {endpoints: [{port: metrics, interval: 30s, tlsConfig: {serverName: shop-metrics.shop-system.svc}}], jobLabel: null}
labels:
  - pairs: {team: shops}
    includeTemplates: true
replicas:
  - {name: shop, count: 3}
";

const PATCH: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop-system}
spec:
  template:
    spec:
      containers:
        - name: proxy
          image: registry:5000/proxy:1
        - name: operator
          args: [--log-format=json]
          resources: {limits: {memory: 1Gi}}
";

const METRICS: &str = "manifests/deploy/metrics.yaml";
const METRICS_OBJECTS: &str = "apiVersion: v1
kind: Service
metadata: {name: shop-metrics, namespace: shop-system}
spec:
  selector: {app.kubernetes.io/name: shop}
  ports: [{name: metrics, port: 8080}]
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop, namespace: shop-system}
spec:
  selector: {matchLabels: {team: shops}}
  namespaceSelector: {matchNames: [shop-system]}
  jobLabel: x
  endpoints: [{port: metrics, tlsConfig: {serverName: shop-metrics.shop-system.svc}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unused, namespace: shop-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop-system}
data: {template: \"{{ .Values }}\"}
";

/// A project with everything that kustomizations of users may have.
fn customized() -> Sandbox {
    let project = Sandbox::project();
    let spec = json!({"type": "object", "description": "Go's templates have {{ .Values }}. YAML: #, \": \".", "properties": {
        "deploymentName": {"type": "string", "description": "The name.\nTwo lines {{ and"},
        "replicas": {"type": "integer"},
    }});
    project.set_manifests(&manifests_with(&spec));
    for setting in ["network_policy", "dashboard"] {
        project.edit(
            "kubewright.toml",
            &format!("\n{setting} = false\n"),
            &format!("\n{setting} = true\n"),
        );
    }
    project.kubewright("generate").expect(0);
    project.edit(
        KUSTOMIZATION,
        "  - operator.yaml",
        "  - operator.yaml\n  - metrics.yaml",
    );
    project.edit(
        KUSTOMIZATION,
        "images:",
        "images:\n  - {name: \"registry:5000/proxy\", newName: b/proxy, digest: \"sha256:ab\"}",
    );
    let text = project.read(KUSTOMIZATION);
    project.write(KUSTOMIZATION, &(text + TRANSFORMERS));
    project.write("manifests/deploy/memory.yaml", PATCH);
    project.write(METRICS, METRICS_OBJECTS);
    project
}

/// A project with webhooks; without settings, they convert a kind.
fn with_webhooks(settings: &[(&str, &str)]) -> Sandbox {
    let project = Sandbox::project();
    let mut manifests = manifests_with_webhooks();
    if !settings.is_empty() {
        let spec = manifests.pointer_mut("/kinds/0/crd/spec").unwrap();
        spec.as_object_mut().unwrap().remove("conversion");
    }
    project.set_manifests(&manifests);
    for (old, new) in settings {
        project.edit("kubewright.toml", old, new);
    }
    project.kubewright("generate").expect(0);
    project
}

#[test]
fn packages_of_customized_manifests() {
    compare("customized", &customized(), "");
}

#[test]
fn packages_with_webhooks() {
    compare("webhooks", &with_webhooks(&[]), "");
}

#[test]
fn packages_of_namespaced_operator_with_cert_manager() {
    let settings = [
        ("= \"own\"", "= \"cert-manager\""),
        ("scope = \"cluster\"", "scope = \"namespaced\""),
        ("# namespaces", "namespaces"),
    ];
    compare("namespaced", &with_webhooks(&settings), "--crds folder");
}

/// Makes all packages twice, and compares the second result with the first and with the snapshot.
fn compare(name: &str, project: &Sandbox, helm_options: &str) {
    let commands = [
        "package install",
        &format!("package helm {helm_options}"),
        "package bundle",
    ];
    for command in commands {
        let planned = project
            .kubewright(&format!("{command} --dry-run"))
            .expect(0)
            .stdout;
        assert!(!planned.is_empty());
        let done = project.kubewright(command).expect(0).stderr;
        assert!(done.contains(&planned), "{done}\n{planned}");
    }
    let mut found = project.files();
    for command in ["package install", "package helm", "package bundle"] {
        project
            .kubewright(command)
            .expect(0)
            .stderr_contains("all files are up to date");
    }
    assert_eq!(project.files(), found);
    let folders = ["manifests/", "dist/", "chart/", "bundle"];
    found.retain(|path, _| folders.iter().any(|folder| path.starts_with(folder)));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden/packages")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        for folder in ["manifests", "dist", "chart", "bundle"] {
            let _ = fs::remove_dir_all(golden.join(folder));
        }
        for (path, bytes) in &found {
            let path = golden.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        return;
    }
    let mut expected = BTreeMap::new();
    collect(&golden, &golden, &mut expected);
    expected.retain(|path, _| !path.starts_with("rendered/"));
    let texts = |files: BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
        let texts = files.into_iter();
        texts
            .map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap()))
            .collect()
    };
    let (found, expected) = (texts(found), texts(expected));
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (path, text) in found {
        assert_eq!(
            text, expected[&path],
            "{path}: run with UPDATE_GOLDEN=1 to update it"
        );
    }
}

/// Events about cluster-scoped objects are in the namespace `default`.
#[test]
fn limited_operator_may_write_events_in_its_namespaces_and_about_the_cluster() {
    let project = Sandbox::project();
    let mut manifests = manifests();
    let unit = |scope: &str, group: &str, resource: &str, verbs: &[&str]| {
        json!({
            "unit": format!("{resource} in {scope}"), "scope": scope, "apiGroups": [group], "resources": [resource], "verbs": verbs, "why": "",
        })
    };
    let mut package = |units: &[serde_json::Value]| {
        let permissions = manifests["permissions"].as_array_mut().unwrap();
        permissions.extend_from_slice(units);
        project.set_manifests(&manifests);
        project.kubewright("generate").expect(0);
        project.kubewright("package helm").expect(0);
        let text = project.read("chart/templates/rbac/role_binding.yaml");
        text.split("{{- else }}").next().unwrap().to_owned()
    };
    let recorder = |scope| unit(scope, "events.k8s.io", "events", &["create", "patch"]);
    // The core group's rule also has another resource.
    let others = ["configmaps", "events"].map(|resource| unit("watched", "", resource, &["create", "get"]));
    let limited = package(&[recorder("watched"), others[0].clone(), others[1].clone()]);
    assert!(!limited.contains("events"), "{limited}");
    let limited = package(&[
        unit("cluster", "", "nodes", &["list", "watch"]),
        // A kind of another project, which is not for the namespace `default`.
        unit("cluster", "calendar.dev", "events", &["create", "delete"]),
        recorder("default"),
    ]);
    let role = "kind: Role
metadata:
  name: shop-cluster
  namespace: default
rules:
- apiGroups:
  - \"\"
  resources:
  - events
  verbs:
  - create
  - get
- apiGroups:
  - events.k8s.io
  resources:
  - events
  verbs:
  - create
  - patch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: shop-cluster
  namespace: default
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: shop-cluster
";
    assert!(limited.contains(role), "{limited}");
    assert_eq!(limited.matches("- events\n").count(), 3, "{limited}");
    assert_eq!(limited.matches("- calendar.dev\n").count(), 1, "{limited}");
    assert_eq!(limited.matches("- nodes\n").count(), 1, "{limited}");
    assert!(!limited.contains("configmaps"), "{limited}");

    // A namespaced operator has the role in `default`, unless the values have it watch that.
    project.edit("kubewright.toml", "scope = \"cluster\"", "scope = \"namespaced\"");
    project.kubewright("generate").expect(0);
    project.kubewright("package helm").expect(0);
    for file in ["role", "role_binding"] {
        let text = project.read(&format!("chart/templates/rbac/{file}.yaml"));
        let condition = "{{- if not (has \"default\" ($.Values.watchNamespaces | default (list $.Release.Namespace))) }}\n";
        assert!(text.contains(condition), "{text}");
    }
}

#[test]
fn image_can_be_replaced() {
    let project = customized();
    project
        .kubewright("package install --image example.dev/shop@sha256:ab")
        .expect(0);
    let text = project.read("dist/install.yaml");
    assert!(text.contains("image: example.dev/shop@sha256:ab\n"), "{text}");
    project
        .kubewright("package install --image a`b")
        .expect(exit::USAGE)
        .stderr_contains("it must be a reference without blanks and backticks");
}

#[test]
fn edits_of_templates_and_values_survive_changes_of_the_manifests() {
    let project = customized();
    project.kubewright("package helm").expect(0);
    let (template, values) = ("chart/templates/deploy/operator.yaml", "chart/values.yaml");
    project.edit(
        template,
        "    terminationGracePeriodSeconds: 40\n",
        "    terminationGracePeriodSeconds: 40\n    hostNetwork: true\n",
    );
    project.edit(values, "  pullPolicy: \"\"", "  pullPolicy: Always");
    project.edit("manifests/deploy/memory.yaml", "1Gi", "2Gi");
    project.edit("manifests/deploy/operator.yaml", "path: /readyz", "path: /ready");
    project.kubewright("package helm").expect(0);
    let (text, values_text) = (project.read(template), project.read(values));
    assert!(
        text.contains("hostNetwork: true") && text.contains("path: /ready\n"),
        "{text}"
    );
    assert!(
        values_text.contains("pullPolicy: Always") && values_text.contains("memory: 2Gi"),
        "{values_text}"
    );

    project.edit(values, "memory: 2Gi", "memory: 3Gi");
    project.edit("manifests/deploy/memory.yaml", "2Gi", "4Gi");
    let files = project.files();
    project
        .kubewright("package helm")
        .expect(exit::CONFLICT)
        .stderr_contains("run `kubewright package helm --keep chart/values.yaml` to keep your version");
    assert_eq!(project.files(), files);
    project
        .kubewright("package helm --keep chart/values.yaml")
        .expect(0);
    assert!(project.read(values).contains("memory: 3Gi"));
}

#[test]
fn files_of_removed_objects_are_deleted_unless_they_were_edited() {
    let project = customized();
    let extra =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, namespace: shop-system}\ndata: {a: b}\n";
    project.write("manifests/deploy/extra.yaml", extra);
    project.edit(
        KUSTOMIZATION,
        "\n  - metrics.yaml",
        "\n  - metrics.yaml\n  - extra.yaml",
    );
    project.kubewright("package helm").expect(0);
    project.kubewright("package helm --crds folder").expect(0);
    assert!(!project.cwd.join("chart/templates/crds").exists());
    assert!(
        project
            .read("chart/crds/demo.dev_foos.yaml")
            .contains("{{ .Values }}")
    );
    project.edit("chart/templates/deploy/extra.yaml", "a: b", "a: c");
    project.edit(KUSTOMIZATION, "\n  - extra.yaml", "");
    project
        .kubewright("package helm")
        .expect(0)
        .stderr_contains("warning: chart/templates/deploy/extra.yaml is not part of the package any more, and was edited by hand: delete it");
    fs::remove_file(project.cwd.join("chart/templates/deploy/extra.yaml")).unwrap();
    let done = project.kubewright("package helm").expect(0).stderr;
    assert!(!done.contains("warning"), "{done}");
}

#[test]
fn edited_install_file_is_refused() {
    let project = customized();
    project.kubewright("package install").expect(0);
    project.edit("dist/install.yaml", "replicas: 3", "replicas: 4");
    project.edit("manifests/deploy/memory.yaml", "1Gi", "2Gi");
    project
        .kubewright("package install")
        .expect(exit::EDITED)
        .stderr_contains("`kubewright package install --overwrite dist/install.yaml`");
    project
        .kubewright("package install --overwrite dist/install.yaml")
        .expect(0);
}

#[test]
fn uncommitted_files_are_refused() {
    let project = customized();
    project.kubewright("package install").expect(0);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.edit("manifests/deploy/memory.yaml", "1Gi", "2Gi");
    project.kubewright("package install").expect(0);
    project.edit("manifests/deploy/memory.yaml", "2Gi", "3Gi");
    project
        .kubewright("package install")
        .expect(exit::UNCOMMITTED)
        .stderr_contains("dist/install.yaml would be changed and has uncommitted changes");
    project.kubewright("package install --allow-dirty").expect(0);
}

/// Command, file, edit of the file, and the message.
const REFUSED: &[(&str, &str, (&str, &str), &str)] = &[
    (
        "install",
        KUSTOMIZATION,
        ("images:", "namePrefix: x-\nimages:"),
        "manifests/deploy/Kustomization:8: `namePrefix` is not supported",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("images:", "namespace: x\nimages:"),
        "8: `namespace` is not supported here: set it in kubewright.toml",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("- operator.yaml", "- https://a.dev/b.yaml"),
        ":6: https://a.dev/b.yaml is not a file of the project",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("- metrics", "- ../../../metrics"),
        "../../../metrics.yaml is outside of the project",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("- operator.yaml", "- other.yaml"),
        ":6: manifests/deploy/other.yaml does not exist",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("- operator.yaml", "- operator.yaml\n  - operator.yaml"),
        "operator.yaml:4: Namespace shop-system is in",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("- operator.yaml", "- ../deploy"),
        ":6: ../deploy contains this kustomization",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("target:", "options: {allowNameChange: true}\n    target:"),
        "`options` is not supported",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("replicas:\n", "replicas: 2\nx:\n"),
        "`replicas` is a list: write each entry after a dash",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("name: sh.*", "name: sh(*"),
        "`name` is not a regular expression",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("op: add", "op: remove"),
        "the patch does not apply to Deployment shop",
    ),
    (
        "install",
        KUSTOMIZATION,
        ("{name: shop, count", "{name: shap, count"),
        "no Deployment or StatefulSet is called \"shap\"",
    ),
    (
        "install",
        "manifests/deploy/memory.yaml",
        ("name: shop,", "name: shap,"),
        "memory.yaml:1: no object of the kustomization has",
    ),
    (
        "install",
        METRICS,
        ("kind: Service\n", "kindd: Service\n"),
        "metrics.yaml:1: an object has",
    ),
    (
        "helm",
        "Cargo.toml",
        ("version = \"0.1.0\"", "version = \"1\""),
        "Cargo.toml:3: `version` of the package is \"1\"",
    ),
    (
        "bundle",
        METRICS,
        (
            "kind: ConfigMap\nmetadata: {name: settings",
            "kind: Pod\nmetadata: {name: settings",
        ),
        "metrics.yaml:22: OLM creates no Pod",
    ),
    (
        "bundle",
        METRICS,
        (
            "name: shop-metrics, namespace: shop-system",
            "name: m, namespace: x",
        ),
        "OLM creates objects only in the operator's namespace",
    ),
];

#[test]
fn what_packages_cannot_express_is_refused_with_its_place() {
    let project = customized();
    for &(command, file, (old, new), message) in REFUSED {
        let before = project.read(file);
        project.edit(file, old, new);
        let files = project.files();
        project
            .kubewright(&format!("package {command}"))
            .expect(exit::PACKAGE)
            .stderr_contains(message)
            .stderr_contains("; nothing was written");
        assert_eq!(project.files(), files);
        project.write(file, &before);
    }
}

#[test]
fn project_without_manifests_is_refused() {
    let project = Sandbox::project();
    project.set_manifests(&manifests());
    project
        .kubewright("package install")
        .expect(exit::PACKAGE)
        .stderr_contains("manifests/Kustomization:1: this file does not exist: run `kubewright generate`");
}

#[test]
fn operator_is_found_among_deployments_and_containers() {
    let project = with_webhooks(&[]);
    let file = "manifests/deploy/operator.yaml";
    project.edit(file, "- name: operator\n", "- name: main\n");
    project.kubewright("package helm").expect(0);
    project.edit(
        file,
        "- name: main\n",
        "- name: proxy\n          image: proxy\n        - name: main\n",
    );
    project
        .kubewright("package helm")
        .expect(exit::PACKAGE)
        .stderr_contains(
            "operator.yaml:37: the operator's container is unknown among several: call it `operator`",
        );
    project.edit(file, "kind: Deployment", "kind: StatefulSet");
    project
        .kubewright("package helm")
        .expect(exit::PACKAGE)
        .stderr_contains("the manifests have no Deployment shop, which runs the operator");
}

/// The operator's own name may have the words that names of objects for metrics have.
#[test]
fn objects_without_metrics_do_not_depend_on_them() {
    let project = Sandbox::new();
    project
        .kubewright("new metrics-agent --kind Foo --group demo.dev --kubewright-version 0.1.0")
        .expect(0);
    let project = project.in_folder("metrics-agent");
    project.kubewright("package helm").expect(0);
    let files = project.files();
    let templates: Vec<_> = files
        .keys()
        .filter(|file| file.starts_with("chart/templates/"))
        .filter(|file| {
            project
                .read(file)
                .starts_with("{{- if $.Values.metrics.enable }}")
        })
        .collect();
    assert_eq!(templates, ["chart/templates/rbac/metrics.yaml"]);
}

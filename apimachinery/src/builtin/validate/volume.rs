//! Validation of the volumes of pods.

use super::mounts::VolumesByName;
use super::persistent_volume_source::SOURCES;
use super::{
    Check, Constraint, FieldRule, claims, container, fields, items, names, projected, text, volume_source,
};
use serde_json::Value;

/// The volume sources in kube-apiserver's order of validation.
const SOURCE_ORDER: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// The required fields of volume sources that PersistentVolumes do not have.
const REQUIRED_FIELDS: &[(&str, &[&str])] = &[
    ("configMap", &["name"]),
    ("ephemeral", &["volumeClaimTemplate"]),
    ("gitRepo", &["repository"]),
    ("persistentVolumeClaim", &["claimName"]),
    ("secret", &["secretName"]),
];

/// Metadata fields that a claim template must not set, in the order of validation.
const FORBIDDEN_CLAIM_METADATA: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Validates the volumes of a pod or template and returns the valid ones, which can be mounted. `pod` is the name of the pod; `None` for a
/// template.
pub(super) fn validate_volumes<'a>(
    check: &mut Check,
    spec: &'a Value,
    pod: Option<&str>,
    path: &str,
) -> VolumesByName<'a> {
    let mut known = VolumesByName::new();
    let generated_claims: Vec<String> = items(spec, "volumes", path)
        .filter(|(volume, _)| volume["ephemeral"].is_object())
        .filter_map(|(volume, _)| {
            let pod = pod.filter(|pod| !pod.is_empty())?;
            Some(format!("{pod}-{}", text(volume, "name")))
        })
        .collect();
    for (volume, path) in items(spec, "volumes", path) {
        let (name, before) = (text(volume, "name"), check.errors.len());
        let name_field = format!("{path}.name");
        validate_sources(check, volume, pod, &path);
        if check.require(&volume["name"], &name_field) {
            check.validate_format(&name_field, name, names::label_errors);
        }
        if known.contains_key(name) {
            check.duplicate(&name_field, name);
        }
        if check.errors.len() == before {
            known.insert(name, volume);
        }
        let claim = text(&volume["persistentVolumeClaim"], "claimName");
        if generated_claims.iter().any(|generated| generated == claim) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            let field = format!("{path}.persistentVolumeClaim.claimName");
            check.invalid(&field, claim, detail);
        }
    }
    known
}

fn validate_sources(check: &mut Check, volume: &Value, pod: Option<&str>, path: &str) {
    let mut kinds: Vec<&str> = fields(volume)
        .map(|(name, _)| name.as_str())
        .filter(|name| *name != "name")
        .collect();
    // kube-apiserver validates sources in its own order and rejects the second one.
    kinds.sort_by_key(|kind| SOURCE_ORDER.iter().position(|known| known == kind));
    for (index, kind) in kinds.into_iter().enumerate() {
        // The paths have kube-apiserver's spelling.
        let (first, second) = match kind {
            "gcePersistentDisk" => ("persistentDisk", kind),
            "cephfs" => (kind, "cephFS"),
            "downwardAPI" => (kind, "downwarAPI"),
            _ => (kind, kind),
        };
        if index == 0 {
            validate_source(
                check,
                kind,
                &volume[kind],
                pod.is_some(),
                &format!("{path}.{first}"),
            );
        } else {
            let detail = "may not specify more than 1 volume type";
            check.forbidden(&format!("{path}.{second}"), detail);
        }
        let name = text(volume, "name");
        if kind == "iscsi" {
            volume_source::validate_iscsi_portal(check, name, &volume[kind], name, &format!("{path}.name"));
        }
        if let ("ephemeral", 0, Some(pod)) = (kind, index, pod)
            && !name.is_empty()
            && !pod.is_empty()
        {
            let claim = format!("{pod}-{name}");
            for message in names::subdomain_errors(&claim) {
                let detail = format!("PVC name {claim:?}: {message}");
                check.invalid(&format!("{path}.name"), name, detail);
            }
        }
    }
}

/// Validates one source of a volume of a pod or template.
fn validate_source(check: &mut Check, kind: &str, source: &Value, in_pod: bool, path: &str) {
    let at = |name: &str| format!("{path}.{name}");
    let mut all_fields = REQUIRED_FIELDS.iter().chain(SOURCES);
    let required_fields = all_fields.find(|(known, _)| *known == kind);
    let mut complete = true;
    for name in required_fields.into_iter().flat_map(|(_, names)| *names) {
        complete &= check.require(&source[*name], &at(name));
    }
    match kind {
        "emptyDir" if container::quantity_value(&source["sizeLimit"]).is_some_and(|amount| amount < 0.0) => {
            let detail = "SizeLimit field must be a valid resource quantity";
            check.forbidden(&at("sizeLimit"), detail);
        }
        "hostPath" if complete => validate_host_path(check, source, path),
        "gitRepo" => check.validate_local_path(text(source, "directory"), &at("directory")),
        "configMap" | "secret" => check.apply(KEYS_TO_PATHS, source, None, path),
        "projected" => projected::validate_projected(check, source, path),
        "downwardAPI" => projected::validate_downward_api(check, source, path),
        "csi" => validate_csi_driver(check, source, path),
        "ephemeral" if complete => {
            let template = &source["volumeClaimTemplate"];
            let metadata = at("volumeClaimTemplate.metadata");
            validate_template_metadata(check, &template["metadata"], &metadata);
            claims::validate_claim_spec(check, &template["spec"], &at("volumeClaimTemplate.spec"));
        }
        "image" => {
            if in_pod {
                check.require(&source["reference"], &at("reference"));
            }
            let policies = ["Always", "IfNotPresent", "Never"];
            check.require_supported(source, "pullPolicy", path, &policies);
        }
        _ => volume_source::validate_source(check, kind, source, None, path),
    }
}

/// Validates a `hostPath` source.
pub(super) fn validate_host_path(check: &mut Check, source: &Value, path: &str) {
    let kinds = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    check.reject_backsteps(text(source, "path"), &format!("{path}.path"));
    check.require_supported(source, "type", path, &kinds);
}

/// Validates a `csi` source.
fn validate_csi_driver(check: &mut Check, source: &Value, path: &str) {
    validate_driver_name(check, &source["driver"], &format!("{path}.driver"));
    let secret = &source["nodePublishSecretRef"];
    if secret.is_object() && check.require(&secret["name"], &format!("{path}.nodePublishSecretRef.name")) {
        let name = text(secret, "name");
        check.validate_format(&format!("{path}.name"), name, names::subdomain_errors);
    }
}

/// Validates the metadata of a template of claims: only labels and annotations.
pub(super) fn validate_template_metadata(check: &mut Check, metadata: &Value, path: &str) {
    check.validate_labels_and_annotations(metadata, path);
    for &name in FORBIDDEN_CLAIM_METADATA {
        if !metadata[name].is_null() {
            // The path has kube-apiserver's spelling.
            let name = if name == "uid" { "uID" } else { name };
            check.forbidden(&format!("{path}.{name}"), "cannot be set");
        }
    }
}

pub(super) fn validate_driver_name(check: &mut Check, name: &Value, path: &str) {
    if check.require(name, path) {
        let name = name.as_str().unwrap_or_default();
        check.limit_bytes(name, 63, path);
        check.push_messages(path, name, &names::subdomain_errors(&name.to_lowercase()));
    }
}

pub(super) const FILE_MODE: Constraint = Constraint::Within(
    0,
    0o777,
    "must be a number between 0 and 0777 (octal), both inclusive",
);
/// The mapping of keys to file paths.
pub(super) const KEYS_TO_PATHS: &[FieldRule] = &[
    ("defaultMode", FILE_MODE),
    ("items[].key", Constraint::Required("")),
    ("items[].path", Constraint::Checked(projected::validate_file_path)),
    ("items[].mode", FILE_MODE),
];

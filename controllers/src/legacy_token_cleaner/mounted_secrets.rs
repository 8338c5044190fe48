//! The Secrets that a pod names, wherever it may name one.

use k8s_openapi::api::core::v1::Pod;
use kubewright::Projection;

/// The names of a pod's Secrets, a field for each place.
#[derive(Projection, Clone, Debug, Default, PartialEq)]
#[projection(of = Pod)]
pub(super) struct MountedSecrets {
    #[projection(path = "spec.imagePullSecrets[*].name")]
    image_pull: Vec<String>,
    #[projection(path = "spec.initContainers[*].envFrom[*].secretRef.name")]
    init_env_from: Vec<String>,
    #[projection(path = "spec.initContainers[*].env[*].valueFrom.secretKeyRef.name")]
    init_env: Vec<String>,
    #[projection(path = "spec.containers[*].envFrom[*].secretRef.name")]
    env_from: Vec<String>,
    #[projection(path = "spec.containers[*].env[*].valueFrom.secretKeyRef.name")]
    env: Vec<String>,
    #[projection(path = "spec.ephemeralContainers[*].envFrom[*].secretRef.name")]
    ephemeral_env_from: Vec<String>,
    #[projection(path = "spec.ephemeralContainers[*].env[*].valueFrom.secretKeyRef.name")]
    ephemeral_env: Vec<String>,
    #[projection(path = "spec.volumes[*].secret.secretName")]
    volumes: Vec<String>,
    #[projection(path = "spec.volumes[*].projected.sources[*].secret.name")]
    projected: Vec<String>,
    #[projection(path = "spec.volumes[*].azureFile.secretName")]
    azure_file: Vec<String>,
    #[projection(path = "spec.volumes[*].cephfs.secretRef.name")]
    cephfs: Vec<String>,
    #[projection(path = "spec.volumes[*].cinder.secretRef.name")]
    cinder: Vec<String>,
    #[projection(path = "spec.volumes[*].flexVolume.secretRef.name")]
    flex_volume: Vec<String>,
    #[projection(path = "spec.volumes[*].rbd.secretRef.name")]
    rbd: Vec<String>,
    #[projection(path = "spec.volumes[*].scaleIO.secretRef.name")]
    scale_io: Vec<String>,
    #[projection(path = "spec.volumes[*].iscsi.secretRef.name")]
    iscsi: Vec<String>,
    #[projection(path = "spec.volumes[*].storageos.secretRef.name")]
    storageos: Vec<String>,
    #[projection(path = "spec.volumes[*].csi.nodePublishSecretRef.name")]
    csi: Vec<String>,
}

impl MountedSecrets {
    /// Returns all names, in no particular order; one that occurs twice, twice.
    pub(super) fn names(self) -> impl Iterator<Item = String> {
        [
            self.image_pull,
            self.init_env_from,
            self.init_env,
            self.env_from,
            self.env,
            self.ephemeral_env_from,
            self.ephemeral_env,
            self.volumes,
            self.projected,
            self.azure_file,
            self.cephfs,
            self.cinder,
            self.flex_volume,
            self.rbd,
            self.scale_io,
            self.iscsi,
            self.storageos,
            self.csi,
        ]
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn secrets_are_found_in_every_place() {
        let container = |name: &str| {
            json!({
                "envFrom": [{"secretRef": {"name": format!("{name}-1")}}, {"configMapRef": {"name": "no"}}],
                "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": format!("{name}-2"), "key": "k"}}}],
            })
        };
        let pod = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": {
            "imagePullSecrets": [{"name": "pull"}],
            "initContainers": [container("init")],
            "containers": [container("main")],
            "ephemeralContainers": [container("debug")],
            "volumes": [
                {"secret": {"secretName": "s"}}, {"configMap": {"name": "no"}},
                {"projected": {"sources": [{"secret": {"name": "p"}}, {"configMap": {"name": "no"}}]}},
                {"azureFile": {"secretName": "azure"}}, {"cephfs": {"secretRef": {"name": "ceph"}}},
                {"cinder": {"secretRef": {"name": "cinder"}}}, {"flexVolume": {"secretRef": {"name": "flex"}}},
                {"rbd": {"secretRef": {"name": "rbd"}}}, {"scaleIO": {"secretRef": {"name": "scale"}}},
                {"iscsi": {"secretRef": {"name": "iscsi"}}}, {"storageos": {"secretRef": {"name": "storage"}}},
                {"csi": {"nodePublishSecretRef": {"name": "csi"}}},
            ],
        }});
        let mounted: MountedSecrets = from_value(pod).unwrap();
        let mut names: Vec<_> = mounted.names().collect();
        names.sort();
        let expected = [
            "azure", "ceph", "cinder", "csi", "debug-1", "debug-2", "flex", "init-1", "init-2", "iscsi",
            "main-1", "main-2", "p", "pull", "rbd", "s", "scale", "storage",
        ];
        assert_eq!(names, expected);
    }
}

//! The operator's own Deployment among the objects.

use super::{
    build::{FOLDER, ManifestObject},
    image::Image,
};
use crate::{error::PackageError, manifests::kustomization};

/// Name of the operator's container in the scaffold.
const CONTAINER: &str = "operator";

/// Where the operator's container is.
#[derive(Debug, Clone, Copy)]
pub struct OperatorContainer {
    /// The index of the Deployment among the objects.
    pub deployment: usize,
    /// The index of the container in its Pod.
    pub container: usize,
}

impl OperatorContainer {
    /// Finds the Deployment of the operator's name, or the only one; in it the container `operator`, or the only one.
    pub fn find(objects: &[ManifestObject], name: &str) -> Result<Self, PackageError> {
        let deployments = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object.kind() == "Deployment");
        let deployments: Vec<_> = deployments.collect();
        let named = deployments.iter().find(|(_, object)| object.name() == name);
        let (deployment, object) = match (named, deployments.as_slice()) {
            (Some(found), _) | (None, [found]) => *found,
            (None, _) => {
                let fix = format!(
                    "the manifests have no Deployment {name}, which runs the operator: restore manifests/deploy/operator.yaml with \
                     `kubewright generate --overwrite manifests/deploy/operator.yaml`, or name your Deployment so"
                );
                return Err(PackageError::new(kustomization::path(FOLDER), 1, fix));
            }
        };
        let containers = object.value().pointer("/spec/template/spec/containers");
        let containers = containers
            .and_then(|list| list.as_array())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let container = containers
            .iter()
            .position(|container| container["name"] == CONTAINER)
            .or_else(|| (containers.len() == 1).then_some(0))
            .filter(|&index| containers[index].is_object())
            .ok_or_else(|| {
                let fix = format!("the operator's container is unknown among several: call it `{CONTAINER}`");
                object.error("spec.template.spec.containers", fix)
            })?;
        Ok(Self {
            deployment,
            container,
        })
    }

    /// Returns the path of the container in the Deployment.
    pub(super) fn path(self) -> String {
        format!("spec.template.spec.containers[{}]", self.container)
    }

    /// Returns the container's image.
    pub(super) fn image(self, objects: &[ManifestObject]) -> Result<Image, PackageError> {
        let object = &objects[self.deployment];
        let image =
            object.value()["spec"]["template"]["spec"]["containers"][self.container]["image"].as_str();
        image
            .map(Image::parse)
            .ok_or_else(|| object.error(&self.path(), "the operator's container has no `image`: add it"))
    }

    /// Replaces the container's image.
    pub fn set_image(self, objects: &mut [ManifestObject], image: &str) {
        let deployment = &mut objects[self.deployment].document.value;
        deployment["spec"]["template"]["spec"]["containers"][self.container]["image"] = image.into();
    }
}

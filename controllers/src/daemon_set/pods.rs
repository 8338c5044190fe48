//! The pods of a DaemonSet: as the controller holds them, and as plans see them, by node.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use k8s_openapi::api::apps::v1::DaemonSet;
use kubewright::cache::{DecodeError, Metadata, Object};

use super::pod_template::{GENERATION_LABEL, HASH_LABEL};
use crate::shared::{claim::Claimable, pod::PodView};

/// The annotation with the template generation, which counted revisions before there were hashes.
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// A cached pod, decoded.
pub(super) struct CachedPod {
    object: Object<PodView>,
    view: Arc<PodView>,
}

impl CachedPod {
    pub(super) fn decode(object: Object<PodView>) -> Result<Self, DecodeError> {
        Ok(Self {
            view: object.decode()?,
            object,
        })
    }

    /// Returns the label with the revision's hash.
    pub(super) fn hash(&self) -> Option<&str> {
        self.metadata().label(HASH_LABEL)
    }

    /// Whether it ended and is being deleted. Its DaemonSet has nothing left to do with it.
    fn is_over(&self) -> bool {
        self.view.is_terminal() && self.view.deleted.is_some()
    }
}

impl Claimable for CachedPod {
    fn metadata(&self) -> &Metadata {
        self.object.metadata()
    }
}

/// The present revision of the template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    /// The hash label of its ControllerRevision.
    pub(super) hash: String,
    /// The number in the DaemonSet's annotation.
    pub(super) template_generation: Option<String>,
}

impl Revision {
    pub(super) fn new(daemon_set: &DaemonSet, hash: String) -> Self {
        let annotations = daemon_set.metadata.annotations.as_ref();
        let generation = annotations.and_then(|annotations| annotations.get(GENERATION_ANNOTATION));
        let generation = generation.and_then(|text| text.parse::<i64>().ok());
        Self {
            hash,
            template_generation: generation.map(|generation| generation.to_string()),
        }
    }

    /// Whether a pod has this revision; `label` looks up the pod's labels.
    fn is_of<'p>(&self, label: impl Fn(&str) -> Option<&'p str>) -> bool {
        let generation = self.template_generation.as_deref();
        (generation.is_some() && label(GENERATION_LABEL) == generation)
            || (!self.hash.is_empty() && label(HASH_LABEL) == Some(&self.hash))
    }
}

/// A pod, as plans see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DaemonPod<'p> {
    pub(super) name: &'p str,
    pub(super) uid: &'p str,
    pub(super) view: &'p PodView,
    /// Whether it has the present revision of the template.
    pub(super) is_updated: bool,
}

impl DaemonPod<'_> {
    pub(super) fn is_deleting(&self) -> bool {
        self.view.deleted.is_some()
    }
}

/// The pods of each node that has some.
pub(super) type PodsByNode<'p> = BTreeMap<&'p str, Vec<DaemonPod<'p>>>;

/// Groups pods by the node that they run on or are made for, without those that are for none, or are over.
pub(super) fn by_node<'p>(pods: &'p [CachedPod], revision: &Revision) -> PodsByNode<'p> {
    let mut by_node = PodsByNode::new();
    for pod in pods.iter().filter(|pod| !pod.is_over()) {
        let Some(node) = pod.view.target_node() else {
            continue;
        };
        let metadata = pod.metadata();
        by_node.entry(node).or_default().push(DaemonPod {
            name: metadata.name().name(),
            uid: metadata.uid(),
            view: &pod.view,
            is_updated: revision.is_of(|key| metadata.label(key)),
        });
    }
    by_node
}

/// The order of the pods of a node. The first one stays where there are several: one that has been scheduled, of these the oldest.
pub(super) fn seniority<'p>(pod: &DaemonPod<'p>) -> impl Ord + use<'p> {
    let is_scheduled = !pod.view.node.is_empty();
    (Reverse(is_scheduled), pod.view.created_at(), pod.name)
}

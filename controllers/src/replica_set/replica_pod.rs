//! A pod of an owner, as the controller holds it.

use std::sync::Arc;

use kubewright::cache::{DecodeError, Metadata, Object};

use super::{owner::ReplicaOwner, plan::Deletable};
use crate::shared::{claim::Claimable, label_matcher::LabelMatcher, pod::PodView};

/// A cached pod, decoded.
pub(super) struct ReplicaPod {
    pub(super) object: Object<PodView>,
    pub(super) view: Arc<PodView>,
}

impl ReplicaPod {
    pub(super) fn decode(object: Object<PodView>) -> Result<Self, DecodeError> {
        Ok(Self {
            view: object.decode()?,
            object,
        })
    }
}

impl Claimable for ReplicaPod {
    fn metadata(&self) -> &Metadata {
        self.object.metadata()
    }
}

impl Deletable for ReplicaPod {
    fn uid(&self) -> &str {
        self.metadata().uid()
    }

    fn view(&self) -> &PodView {
        &self.view
    }
}

/// Counts the owner's pods that are being deleted.
pub(super) fn terminating(owner: &impl ReplicaOwner, selector: &LabelMatcher, pods: &[ReplicaPod]) -> usize {
    let is_owned = |pod: &Metadata| {
        let controller = pod.controller().map(|controller| &*controller.uid);
        controller.is_some() && controller == owner.meta().uid.as_deref()
    };
    let pods = pods.iter().filter(|pod| pod.view.is_terminating());
    pods.filter(|pod| is_owned(pod.metadata()) && is_selected(selector, pod.metadata()))
        .count()
}

pub(super) fn is_selected(selector: &LabelMatcher, object: &Metadata) -> bool {
    selector.matches(|key| object.label(key))
}

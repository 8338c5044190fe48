//! Owners of claims. A claim that is to be deleted with the set, or with a pod that is scaled down, is owned by it: the garbage collector
//! deletes it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::desired::Retention;

/// Who may own the claims of one pod.
pub(super) struct ClaimOwners<'o> {
    pub(super) retention: Retention,
    /// The set, as a controller.
    pub(super) set: &'o OwnerReference,
    /// The pod, as a controller. Without a uid if it does not exist.
    pub(super) pod: &'o OwnerReference,
    /// The pod is none of the replicas that the set asks for.
    pub(super) is_scaled_down: bool,
}

/// What is to be done about the owners of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnersChange {
    /// The new owners; none if they are right.
    pub(super) owners: Option<Vec<OwnerReference>>,
    /// Another controller owns the claim, so that the policy does not apply.
    pub(super) is_conflict: bool,
}

impl ClaimOwners<'_> {
    /// Compares the owners of a claim with those of the policy.
    pub(super) fn change(&self, owners: &[OwnerReference]) -> OwnersChange {
        let is_conflict = self.has_other_controller(owners);
        let is_stale = is_stale(owners, self.set) || is_stale(owners, self.pod);
        // An object of the same name as the set or the pod owns the claim, one that is gone: the garbage collector decides.
        let is_right = is_stale || !is_conflict && self.is_right(owners);
        let is_right = is_right || is_conflict && !has(owners, self.set) && !has(owners, self.pod);
        OwnersChange {
            owners: (!is_right).then(|| self.right_owners(owners, is_conflict)),
            is_conflict,
        }
    }

    /// Whether the pod must not be created before the garbage collector has deleted the claim: it belongs to a former pod of that name.
    pub(super) fn blocks_creation(&self, owners: &[OwnerReference]) -> bool {
        self.retention.deletes_with_pod && is_stale(owners, self.pod)
    }

    /// Returns the owners of a claim that has none.
    pub(super) fn owners_of_new(&self) -> Vec<OwnerReference> {
        self.right_owners(&[], false)
    }

    fn owned_by_set(&self) -> bool {
        self.retention.deletes_with_set && !self.owned_by_pod()
    }

    fn owned_by_pod(&self) -> bool {
        self.retention.deletes_with_pod && self.is_scaled_down
    }

    fn is_right(&self, owners: &[OwnerReference]) -> bool {
        let ours = owners
            .iter()
            .filter(|owner| owner.uid == self.set.uid || owner.uid == self.pod.uid);
        has(owners, self.set) == self.owned_by_set()
            && has(owners, self.pod) == self.owned_by_pod()
            && ours.into_iter().all(|owner| owner.controller == Some(true))
    }

    /// Replaces the references to the set and to the pod. If there is another controller, they only go.
    fn right_owners(&self, owners: &[OwnerReference], is_conflict: bool) -> Vec<OwnerReference> {
        let others = owners
            .iter()
            .filter(|owner| !names(owner, self.set) && !names(owner, self.pod));
        let mut owners: Vec<_> = others.cloned().collect();
        if is_conflict {
            return owners;
        }
        for (reference, is_owner) in [
            (self.set, self.owned_by_set()),
            (self.pod, self.owned_by_pod() && !self.pod.uid.is_empty()),
        ] {
            if is_owner && !has(&owners, reference) {
                owners.push(reference.clone());
            }
        }
        owners
    }

    /// Whether the policy cannot apply. Where claims are kept, anyone may own them.
    fn has_other_controller(&self, owners: &[OwnerReference]) -> bool {
        let keeps = self.retention == Retention::default();
        !keeps
            && owners.iter().any(|owner| {
                let namesake = [self.set, self.pod].into_iter().find(|ours| names(owner, ours));
                match namesake {
                    Some(ours) => owner.uid != ours.uid,
                    None => owner.controller == Some(true),
                }
            })
    }
}

/// Whether the first owner of that kind and name is another object.
fn is_stale(owners: &[OwnerReference], ours: &OwnerReference) -> bool {
    owners
        .iter()
        .find(|owner| names(owner, ours))
        .is_some_and(|owner| owner.uid != ours.uid)
}

fn names(owner: &OwnerReference, ours: &OwnerReference) -> bool {
    owner.api_version == ours.api_version && owner.kind == ours.kind && owner.name == ours.name
}

fn has(owners: &[OwnerReference], ours: &OwnerReference) -> bool {
    owners.iter().any(|owner| owner.uid == ours.uid)
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;

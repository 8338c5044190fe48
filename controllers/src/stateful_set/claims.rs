//! What is to be done about the claims of a pod.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{
    identity::{claim_name, pod_name},
    plan::ObservedSet,
    retention::ClaimOwners,
};

/// A claim that exists, as the plan sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClaimState {
    pub(super) owners: Vec<OwnerReference>,
    pub(super) is_deleting: bool,
}

/// One thing to do about a claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClaimChange {
    /// Create it, with these owners.
    Create {
        /// The position of its template.
        template: usize,
        owners: Vec<OwnerReference>,
    },
    /// It should exist, and is being deleted: nothing can be done about the pod until it is gone.
    AwaitDeletion { name: String },
    /// Report that another controller owns it.
    ReportConflict { name: String },
    /// Replace its owners.
    SetOwners {
        name: String,
        owners: Vec<OwnerReference>,
    },
}

/// The claims of one pod.
pub(super) struct PodClaims<'o> {
    observed: &'o ObservedSet<'o>,
    ordinal: i64,
    pod: OwnerReference,
}

impl<'o> PodClaims<'o> {
    /// The claims of the pod with this ordinal. `uid` is empty if it does not exist.
    pub(super) fn of(observed: &'o ObservedSet<'o>, ordinal: i64, uid: &str) -> Self {
        Self {
            observed,
            ordinal,
            pod: OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                name: pod_name(&observed.set.name, ordinal),
                uid: uid.to_owned(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            },
        }
    }

    /// Whether the pod must wait until the garbage collector has deleted the claims of its predecessor.
    pub(super) fn block_creation(&self) -> bool {
        let owners = self.owners();
        self.states()
            .any(|(_, claim)| claim.1.is_some_and(|claim| owners.blocks_creation(&claim.owners)))
    }

    /// Creates missing claims, and sets the owners of the others.
    pub(super) fn complete(&self) -> Vec<ClaimChange> {
        let owners = self.owners();
        let changes = self.states().flat_map(|(template, (name, claim))| match claim {
            None => vec![ClaimChange::Create {
                template,
                owners: owners.owners_of_new(),
            }],
            Some(claim) if claim.is_deleting => vec![ClaimChange::AwaitDeletion { name }],
            Some(claim) => owners_changes(&owners, name, &claim, true),
        });
        changes.collect()
    }

    /// Sets the owners of those that exist.
    pub(super) fn correct_owners(&self) -> Vec<ClaimChange> {
        let owners = self.owners();
        let changes = self.states().flat_map(|(_, (name, claim))| {
            claim.map_or_else(Vec::new, |claim| owners_changes(&owners, name, &claim, false))
        });
        changes.collect()
    }

    /// Whether these are the names of all claims.
    pub(super) fn are_mounted(&self, mounted: &[String]) -> bool {
        self.names().all(|name| mounted.contains(&name))
    }

    fn owners(&self) -> ClaimOwners<'_> {
        let desired = &self.observed.desired;
        ClaimOwners {
            retention: desired.retention,
            set: self.observed.set,
            pod: &self.pod,
            is_scaled_down: !desired.ordinals().contains(&self.ordinal),
        }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let set = &self.observed.set.name;
        self.observed
            .templates
            .iter()
            .map(|template| claim_name(template, set, self.ordinal))
    }

    /// Each claim: the position of its template, its name, and its state if it exists.
    fn states(&self) -> impl Iterator<Item = (usize, (String, Option<ClaimState>))> {
        self.names()
            .map(|name| {
                let claim = (self.observed.claim)(&name);
                (name, claim)
            })
            .enumerate()
    }
}

/// As upstream, a conflict is reported where claims are completed, and elsewhere if the owners change.
fn owners_changes(
    owners: &ClaimOwners<'_>,
    name: String,
    claim: &ClaimState,
    reports: bool,
) -> Vec<ClaimChange> {
    let change = owners.change(&claim.owners);
    let reports = change.is_conflict && (reports || change.owners.is_some());
    let report = reports.then(|| ClaimChange::ReportConflict { name: name.clone() });
    let set = change
        .owners
        .map(|owners| ClaimChange::SetOwners { name, owners });
    report.into_iter().chain(set).collect()
}

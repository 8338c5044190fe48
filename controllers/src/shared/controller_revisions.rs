//! The history of an owner: ControllerRevisions, each with a pod template that the owner had. StatefulSets and DaemonSets have one.
//!
//! A reconcile claims the owner's revisions, sorted by number, and compares them with a [`Proposal`], the revision of the present template. An
//! equal one is taken, with the highest number after a rollback; else the proposed one is created. At the end the oldest unused ones are
//! deleted.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::{apps::v1::ControllerRevision, core::v1::PodTemplateSpec},
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, runtime::RawExtension},
};
use kube::core::params::{DeleteParams, Preconditions};
use kubewright::{
    NamespacedName,
    cache::{Lister, Metadata, Owner, SharedInformer},
    client::{ClientError, Create, Delete, Get, Patch, TypedClient, Update},
    controller::{ReconcileError, Setup, controller_reference},
};
use serde_json::{Value, json};

use super::{
    claim::{ClaimOwner, claim},
    name_hash::NameHash,
    orphans::Orphans,
    semantic,
};

/// The longest part of an owner's name in the names of its revisions, in bytes. As upstream, the rest of the 253 is for the hash.
const MAX_OWNER_BYTES: usize = 223;

/// What happens to the owner's revisions that its selector does not match any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unselected {
    /// The owner keeps them, and its history is without them.
    Skip,
    /// They become orphans.
    Release,
}

/// Reads and writes the revisions of owners.
pub(crate) struct RevisionHistory {
    revisions: Lister<ControllerRevision>,
    orphans: Orphans<ControllerRevision>,
    claimer: TypedClient<ControllerRevision, (Patch,)>,
    client: TypedClient<ControllerRevision, (Get, Create, Update, Delete)>,
}

impl RevisionHistory {
    pub(crate) fn new(setup: &mut Setup, informer: &SharedInformer<ControllerRevision>) -> Self {
        Self {
            revisions: informer.lister(),
            orphans: Orphans::of(informer),
            claimer: setup.client(),
            client: setup.client(),
        }
    }

    /// Returns the owner's revisions that it selects, the lowest number first. Adopts orphans that it selects; `can_adopt` is called before
    /// the first adoption, see [`claim`](super::claim::claim).
    pub(crate) async fn claim<O, F>(
        &self,
        owner: &O,
        is_selected: impl Fn(&Metadata) -> bool,
        unselected: Unselected,
        can_adopt: impl FnOnce() -> F,
    ) -> Result<Vec<Arc<ControllerRevision>>, ReconcileError>
    where
        O: Owner + kube::Resource<DynamicType = ()>,
        F: Future<Output = Result<(), ReconcileError>>,
    {
        let mut revisions: Vec<_> = self.revisions.owned_by(owner)?.objects().collect();
        if unselected == Unselected::Skip {
            revisions.retain(|revision| is_selected(revision.metadata()));
        }
        let namespace = owner.meta().namespace.as_deref().unwrap_or_default();
        revisions.extend(self.orphans.in_namespace(namespace)?);
        let reference = controller_reference(owner);
        let owner = ClaimOwner {
            reference: &reference,
            is_deleting: owner.meta().deletion_timestamp.is_some(),
            finalizers: &[],
        };
        let claimed = claim(&owner, revisions, is_selected, &self.claimer, can_adopt).await?;
        let decoded = claimed.iter().map(kubewright::cache::Object::decode);
        let mut revisions = decoded.collect::<Result<Vec<_>, _>>()?;
        sort(&mut revisions);
        Ok(revisions)
    }

    /// Creates a revision. Returns the existing one if one of that name has the same data, and [`None`] if it has other data: then the next
    /// name follows from a greater count of collisions.
    pub(crate) async fn create(
        &self,
        revision: &ControllerRevision,
    ) -> Result<Option<ControllerRevision>, ClientError> {
        match self.client.create(revision).await {
            Err(error) if error.is_already_exists() => {
                let existing = self.client.get(&name(revision)).await?;
                Ok((existing.data == revision.data).then_some(existing))
            }
            created => created.map(Some),
        }
    }

    /// Creates the revision of a proposal with this number. Increments the count of collisions until a name is free.
    pub(crate) async fn create_proposed<O: kube::Resource<DynamicType = ()>>(
        &self,
        proposal: &Proposal<'_, O>,
        number: i64,
        collision_count: &mut i32,
    ) -> Result<ControllerRevision, ClientError> {
        loop {
            let revision = proposal.revision(number, Some(*collision_count));
            if let Some(created) = self.create(&revision).await? {
                return Ok(created);
            }
            tracing::debug!(name = %name(&revision), "the name belongs to a revision with other data");
            *collision_count = collision_count.wrapping_add(1);
        }
    }

    /// Changes a revision. After a conflict, reads it from the API server and tries once more.
    pub(crate) async fn update(
        &self,
        revision: &ControllerRevision,
        change: impl Fn(&mut ControllerRevision),
    ) -> Result<ControllerRevision, ClientError> {
        let mut changed = revision.clone();
        change(&mut changed);
        match self.client.update(&changed).await {
            Err(error) if error.is_conflict() => {
                let mut fresh = self.client.get(&name(revision)).await?;
                if fresh.metadata.uid != revision.metadata.uid {
                    return Err(error);
                }
                change(&mut fresh);
                self.client.update(&fresh).await
            }
            updated => updated,
        }
    }

    /// Deletes a revision, and not another one of the same name. One that is gone is not an error.
    pub(crate) async fn delete(&self, revision: &ControllerRevision) -> Result<(), ClientError> {
        let preconditions = Preconditions {
            uid: revision.metadata.uid.clone(),
            resource_version: None,
        };
        let params = DeleteParams::default().preconditions(preconditions);
        match self.client.delete(&name(revision), &params).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }
}

/// The revision of an owner's present template, which may exist already.
pub(crate) struct Proposal<'o, O> {
    owner: &'o O,
    template: PodTemplateSpec,
    hash_label: &'static str,
    data: RawExtension,
}

impl<'o, O: kube::Resource<DynamicType = ()>> Proposal<'o, O> {
    /// Proposes a revision. `hash_label` is the label of the revision that gets the hash in its name.
    pub(crate) fn new(owner: &'o O, template: Option<&PodTemplateSpec>, hash_label: &'static str) -> Self {
        let template = template.cloned().unwrap_or_default();
        Self {
            owner,
            data: data(&template),
            template,
            hash_label,
        }
    }

    /// Returns the last of these revisions that has the same data.
    pub(crate) fn find_equal<'r>(
        &self,
        revisions: &'r [Arc<ControllerRevision>],
    ) -> Option<&'r Arc<ControllerRevision>> {
        revisions
            .iter()
            .rfind(|revision| revision.data.as_ref() == Some(&self.data))
    }

    /// Whether a revision has a template with the same meaning, written otherwise.
    pub(crate) fn means_the_same(&self, revision: &ControllerRevision) -> bool {
        let of_revision = template_json(revision);
        of_revision.is_some_and(|template| semantic::equal(template, &self.data.0["spec"]["template"]))
    }

    /// Returns the revision with this number. Its name follows from the template and the count of collisions.
    pub(crate) fn revision(&self, number: i64, collision_count: Option<i32>) -> ControllerRevision {
        let hash = hash(&self.data.0, collision_count);
        let owner = self.owner.meta();
        let of_template = self.template.metadata.as_ref();
        let labels = of_template.and_then(|metadata| metadata.labels.clone());
        let mut labels: BTreeMap<String, String> = labels.unwrap_or_default();
        labels.insert(self.hash_label.to_owned(), hash.clone());
        ControllerRevision {
            metadata: ObjectMeta {
                name: Some(revision_name(owner.name.as_deref().unwrap_or_default(), &hash)),
                namespace: owner.namespace.clone(),
                labels: Some(labels),
                annotations: owner.annotations.clone(),
                owner_references: Some(vec![controller_reference(self.owner)]),
                ..ObjectMeta::default()
            },
            data: Some(self.data.clone()),
            revision: number,
        }
    }
}

/// Sorts revisions by number, equal numbers by age and name.
pub(crate) fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    revisions.sort_by(|one, two| {
        let created =
            |revision: &ControllerRevision| revision.metadata.creation_timestamp.as_ref().map(|t| t.0);
        one.revision
            .cmp(&two.revision)
            .then_with(|| created(one).cmp(&created(two)))
            .then_with(|| one.metadata.name.cmp(&two.metadata.name))
    });
}

/// Returns the number of the revision after these, which are sorted.
pub(crate) fn next_number(revisions: &[Arc<ControllerRevision>]) -> i64 {
    revisions.last().map_or(1, |last| last.revision.saturating_add(1))
}

/// Returns the `count` oldest of sorted revisions that are not in use.
pub(crate) fn oldest_unused(
    revisions: &[Arc<ControllerRevision>],
    count: usize,
    is_used: impl Fn(&ControllerRevision) -> bool,
) -> impl Iterator<Item = &Arc<ControllerRevision>> {
    revisions
        .iter()
        .filter(move |revision| !is_used(revision))
        .take(count)
}

/// Returns the pod template of a revision; [`None`] if it has none.
pub(crate) fn template(revision: &ControllerRevision) -> Result<Option<PodTemplateSpec>, serde_json::Error> {
    // From text, as the caches decode: the type's `Deserialize` is compiled for one reader.
    let template = template_json(revision).map(Value::to_string);
    template.map(|json| serde_json::from_str(&json)).transpose()
}

fn template_json(revision: &ControllerRevision) -> Option<&Value> {
    revision.data.as_ref()?.0.pointer("/spec/template")
}

/// Returns what a revision keeps of its owner: a strategic merge patch that replaces the template.
///
/// Go escapes `<`, `>`, `&`, U+2028 and U+2029 in what it sends. The client serializes a [`Value`], whose texts cannot be kept escaped. So a
/// template with these characters may get another revision when kube-controller-manager, which compares bytes, takes over.
fn data(template: &PodTemplateSpec) -> RawExtension {
    // Types of Kubernetes serialize.
    let mut template = serde_json::to_value(template).unwrap_or_default();
    template["$patch"] = json!("replace");
    RawExtension(json!({"spec": {"template": template}}))
}

/// Returns the hash in the name of a revision. It is upstream's: over the JSON as Go writes it, with sorted keys, and the decimal count.
fn hash(data: &Value, collision_count: Option<i32>) -> String {
    let mut hash = NameHash::fnv1();
    for character in data.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                hash.add(format!("\\u{:04x}", u32::from(character)).as_bytes());
            }
            _ => hash.add(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    if let Some(count) = collision_count {
        hash.add(count.to_string().as_bytes());
    }
    hash.finish()
}

fn revision_name(owner: &str, hash: &str) -> String {
    format!("{}-{hash}", &owner[..owner.floor_char_boundary(MAX_OWNER_BYTES)])
}

fn name(revision: &ControllerRevision) -> NamespacedName {
    NamespacedName::of(&revision.metadata).unwrap_or_else(|| NamespacedName::cluster(""))
}

#[cfg(test)]
#[path = "controller_revisions_tests.rs"]
mod tests;

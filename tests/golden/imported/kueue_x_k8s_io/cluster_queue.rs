//! The kind ClusterQueue of kueue.x-k8s.io/v1beta2, which another project defines.
//!
//! `kubewright import` made this file from the definition `clusterqueues.kueue.x-k8s.io`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::{Deserialize, Serialize};

/// ClusterQueue is the Schema for the clusterQueue API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueue {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// spec is the specification of the ClusterQueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<ClusterQueueSpec>,
    /// status is the status of the ClusterQueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ClusterQueueStatus>,
}

impl kube::Resource for ClusterQueue {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "ClusterQueue".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "kueue.x-k8s.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1beta2".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "clusterqueues".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for ClusterQueue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "kueue.x-k8s.io/v1beta2")?;
        map.serialize_entry("kind", "ClusterQueue")?;
        map.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            map.serialize_entry("spec", value)?;
        }
        if let Some(value) = &self.status {
            map.serialize_entry("status", value)?;
        }
        map.end()
    }
}

impl kubewright::WithStatus for ClusterQueue {}

/// spec is the specification of the ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpec {
    /// admissionChecksStrategy defines a list of strategies to determine which ResourceFlavors require AdmissionChecks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_checks_strategy: Option<ClusterQueueSpecAdmissionChecksStrategy>,
    /// admissionScope indicates whether ClusterQueue uses the Admission Fair Sharing
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_scope: Option<ClusterQueueSpecAdmissionScope>,
    /// cohortName that this ClusterQueue belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohort_name: Option<String>,
    /// concurrentAdmissionPolicy defines the configuration for ConcurrentAdmission feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_admission_policy: Option<ClusterQueueSpecConcurrentAdmissionPolicy>,
    /// fairSharing defines the properties of the ClusterQueue when
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<ClusterQueueSpecFairSharing>,
    /// flavorFungibility defines whether a workload should try the next flavor
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavor_fungibility: Option<ClusterQueueSpecFlavorFungibility>,
    /// namespaceSelector defines which namespaces are allowed to submit workloads to
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<ClusterQueueSpecNamespaceSelector>,
    /// preemption defines the preemption policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<ClusterQueueSpecPreemption>,
    /// queueingStrategy indicates the queueing strategy of the workloads
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queueing_strategy: Option<ClusterQueueSpecQueueingStrategy>,
    /// resourceGroups describes groups of resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_groups: Option<Vec<ClusterQueueSpecResourceGroups>>,
    /// stopPolicy - if set to a value different from None, the ClusterQueue is considered Inactive, no new reservation being
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_policy: Option<ClusterQueueSpecStopPolicy>,
}

/// admissionChecksStrategy defines a list of strategies to determine which ResourceFlavors require AdmissionChecks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecAdmissionChecksStrategy {
    /// admissionChecks is a list of strategies for AdmissionChecks
    pub admission_checks: Vec<ClusterQueueSpecAdmissionChecksStrategyAdmissionChecks>,
}

/// AdmissionCheckStrategyRule defines rules for a single AdmissionCheck
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecAdmissionChecksStrategyAdmissionChecks {
    /// name is an AdmissionCheck's name.
    pub name: String,
    /// onFlavors is a list of ResourceFlavors' names that this AdmissionCheck should run for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_flavors: Option<Vec<String>>,
}

/// admissionScope indicates whether ClusterQueue uses the Admission Fair Sharing
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecAdmissionScope {
    /// admissionMode indicates which mode for AdmissionFairSharing should be used
    pub admission_mode: ClusterQueueSpecAdmissionScopeAdmissionMode,
}

/// concurrentAdmissionPolicy defines the configuration for ConcurrentAdmission feature.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecConcurrentAdmissionPolicy {
    /// migration defines the constraints on Workload's migration.
    pub migration: ClusterQueueSpecConcurrentAdmissionPolicyMigration,
}

/// migration defines the constraints on Workload's migration.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecConcurrentAdmissionPolicyMigration {
    /// constraints defines the constraints of Workload's migration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<ClusterQueueSpecConcurrentAdmissionPolicyMigrationConstraints>,
    /// mode defines the mode of Workload's migration.
    pub mode: ClusterQueueSpecConcurrentAdmissionPolicyMigrationMode,
}

/// constraints defines the constraints of Workload's migration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecConcurrentAdmissionPolicyMigrationConstraints {
    /// lastAcceptableFlavorName defines the last acceptable flavor a Workload can migrate to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_acceptable_flavor_name: Option<String>,
}

/// fairSharing defines the properties of the ClusterQueue when
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecFairSharing {
    /// weight gives a comparative advantage to this ClusterQueue
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<ClusterQueueIntOrString>,
}

/// flavorFungibility defines whether a workload should try the next flavor
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecFlavorFungibility {
    /// preference guides the choosing of the flavor for admission in case all candidate flavors
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<ClusterQueueSpecFlavorFungibilityPreference>,
    /// whenCanBorrow determines whether a workload should try the next flavor
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_can_borrow: Option<ClusterQueueSpecFlavorFungibilityWhenCanBorrow>,
    /// whenCanPreempt determines whether a workload should try the next flavor
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_can_preempt: Option<ClusterQueueSpecFlavorFungibilityWhenCanPreempt>,
}

/// namespaceSelector defines which namespaces are allowed to submit workloads to
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecNamespaceSelector {
    /// matchExpressions is a list of label selector requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<ClusterQueueSpecNamespaceSelectorMatchExpressions>>,
    /// matchLabels is a map of {key,value} pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
}

/// A label selector requirement is a selector that contains values, a key, and an operator that
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecNamespaceSelectorMatchExpressions {
    /// key is the label key that the selector applies to.
    pub key: String,
    /// operator represents a key's relationship to a set of values.
    pub operator: String,
    /// values is an array of string values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// preemption defines the preemption policies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecPreemption {
    /// borrowWithinCohort determines whether a pending Workload can preempt
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrow_within_cohort: Option<ClusterQueueSpecPreemptionBorrowWithinCohort>,
    /// reclaimWithinCohort determines whether a pending Workload can preempt
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reclaim_within_cohort: Option<ClusterQueueSpecPreemptionReclaimWithinCohort>,
    /// withinClusterQueue determines whether a pending Workload that doesn't fit
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_cluster_queue: Option<ClusterQueueSpecPreemptionWithinClusterQueue>,
}

/// borrowWithinCohort determines whether a pending Workload can preempt
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecPreemptionBorrowWithinCohort {
    /// maxPriorityThreshold allows to restrict the set of workloads which
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_priority_threshold: Option<i32>,
    /// policy determines the policy for preemption to reclaim quota within cohort while borrowing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ClusterQueueSpecPreemptionBorrowWithinCohortPolicy>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecResourceGroups {
    /// coveredResources is the list of resources covered by the flavors in this
    pub covered_resources: Vec<String>,
    /// flavors is the list of flavors that provide the resources of this group.
    pub flavors: Vec<ClusterQueueSpecResourceGroupsFlavors>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecResourceGroupsFlavors {
    /// name of this flavor.
    pub name: String,
    /// resources is the list of quotas for this flavor per resource.
    pub resources: Vec<ClusterQueueSpecResourceGroupsFlavorsResources>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueSpecResourceGroupsFlavorsResources {
    /// borrowingLimit is the maximum amount of quota for the [flavor, resource]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowing_limit: Option<ClusterQueueIntOrString>,
    /// lendingLimit is the maximum amount of unused quota for the [flavor, resource]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lending_limit: Option<ClusterQueueIntOrString>,
    /// name of this resource.
    pub name: String,
    /// nominalQuota is the quantity of this resource that is available for
    pub nominal_quota: ClusterQueueIntOrString,
}

/// status is the status of the ClusterQueue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatus {
    /// admittedWorkloads is the number of workloads currently admitted to this
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admitted_workloads: Option<i32>,
    /// conditions hold the latest available observations of the ClusterQueue
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ClusterQueueStatusConditions>>,
    /// fairSharing contains the current state for this ClusterQueue
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_sharing: Option<ClusterQueueStatusFairSharing>,
    /// flavorsReservation are the reserved quotas, by flavor, currently in use by the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavors_reservation: Option<Vec<ClusterQueueStatusFlavorsReservation>>,
    /// flavorsUsage are the used quotas, by flavor, currently in use by the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavors_usage: Option<Vec<ClusterQueueStatusFlavorsUsage>>,
    /// pendingWorkloads is the number of workloads currently waiting to be
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_workloads: Option<i32>,
    /// reservingWorkloads is the number of workloads currently reserving quota in this
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserving_workloads: Option<i32>,
}

/// Condition contains details for one aspect of the current state of this API Resource.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatusConditions {
    /// lastTransitionTime is the last time the condition transitioned from one status to another.
    pub last_transition_time: String,
    /// message is a human readable message indicating details about the transition.
    pub message: String,
    /// observedGeneration represents the .metadata.generation that the condition was set based upon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// reason contains a programmatic identifier indicating the reason for the condition's last transition.
    pub reason: String,
    /// status of the condition, one of True, False, Unknown.
    pub status: ClusterQueueStatusConditionsStatus,
    /// type of condition in CamelCase or in foo.example.com/CamelCase.
    pub r#type: String,
}

/// fairSharing contains the current state for this ClusterQueue
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatusFairSharing {
    /// weightedShare represents the maximum of the ratios of usage
    pub weighted_share: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatusFlavorsReservation {
    /// name of the flavor.
    pub name: String,
    /// resources lists the quota usage for the resources in this flavor.
    pub resources: Vec<ClusterQueueStatusFlavorsReservationResources>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatusFlavorsReservationResources {
    /// borrowed is quantity of quota that is borrowed from the cohort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<ClusterQueueIntOrString>,
    /// name of the resource
    pub name: String,
    /// total is the total quantity of used quota, including the amount borrowed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<ClusterQueueIntOrString>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatusFlavorsUsage {
    /// name of the flavor.
    pub name: String,
    /// resources lists the quota usage for the resources in this flavor.
    pub resources: Vec<ClusterQueueStatusFlavorsUsageResources>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQueueStatusFlavorsUsageResources {
    /// borrowed is quantity of quota that is borrowed from the cohort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borrowed: Option<ClusterQueueIntOrString>,
    /// name of the resource
    pub name: String,
    /// total is the total quantity of used quota, including the amount borrowed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<ClusterQueueIntOrString>,
}

/// admissionMode indicates which mode for AdmissionFairSharing should be used
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecAdmissionScopeAdmissionMode {
    UsageBasedAdmissionFairSharing,
    NoAdmissionFairSharing,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// mode defines the mode of Workload's migration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecConcurrentAdmissionPolicyMigrationMode {
    TryPreferredFlavors,
    RetainFirstAdmission,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// preference guides the choosing of the flavor for admission in case all candidate flavors
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecFlavorFungibilityPreference {
    BorrowingOverPreemption,
    PreemptionOverBorrowing,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// whenCanBorrow determines whether a workload should try the next flavor
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecFlavorFungibilityWhenCanBorrow {
    MayStopSearch,
    TryNextFlavor,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// whenCanPreempt determines whether a workload should try the next flavor
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecFlavorFungibilityWhenCanPreempt {
    MayStopSearch,
    TryNextFlavor,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// policy determines the policy for preemption to reclaim quota within cohort while borrowing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecPreemptionBorrowWithinCohortPolicy {
    Never,
    LowerPriority,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// reclaimWithinCohort determines whether a pending Workload can preempt
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecPreemptionReclaimWithinCohort {
    Never,
    LowerPriority,
    Any,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// withinClusterQueue determines whether a pending Workload that doesn't fit
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecPreemptionWithinClusterQueue {
    Never,
    LowerPriority,
    LowerOrNewerEqualPriority,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// queueingStrategy indicates the queueing strategy of the workloads
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecQueueingStrategy {
    StrictFIFO,
    BestEffortFIFO,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// stopPolicy - if set to a value different from None, the ClusterQueue is considered Inactive, no new reservation being
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueSpecStopPolicy {
    None,
    Hold,
    HoldAndDrain,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// status of the condition, one of True, False, Unknown.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ClusterQueueStatusConditionsStatus {
    True,
    False,
    Unknown,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown2(String),
}

/// An integer or a text.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ClusterQueueIntOrString {
    /// An integer.
    Int(i64),
    /// A text.
    String(String),
}

//! The built-in kinds with a status or a scale subresource.
//!
//! Only kinds that have the same API version in all Kubernetes versions of k8s-openapi, because the application chooses the version.

use k8s_openapi::{
    api::{
        admissionregistration::v1::ValidatingAdmissionPolicy,
        apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
        autoscaling, batch,
        certificates::v1::CertificateSigningRequest,
        core::v1::{
            Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController,
            ResourceQuota, Service,
        },
        flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
        networking::v1::{Ingress, ServiceCIDR},
        policy::v1::PodDisruptionBudget,
        storage::v1::VolumeAttachment,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    kube_aggregator::pkg::apis::apiregistration::v1::APIService,
};

use crate::{WithScale, WithStatus};

macro_rules! subresource {
    ($subresource:ident: $($kind:ty),* $(,)?) => {
        $(
            // The compiler's list of all implementations would not help with another kind.
            #[diagnostic::do_not_recommend]
            impl $subresource for $kind {}
        )*
    };
}

subresource! { WithStatus:
    APIService, CertificateSigningRequest, CustomResourceDefinition, DaemonSet, Deployment, FlowSchema, Ingress,
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, PriorityLevelConfiguration,
    ReplicaSet, ReplicationController, ResourceQuota, Service, ServiceCIDR, StatefulSet, ValidatingAdmissionPolicy,
    VolumeAttachment, autoscaling::v1::HorizontalPodAutoscaler, autoscaling::v2::HorizontalPodAutoscaler,
    batch::v1::CronJob, batch::v1::Job,
}

subresource! { WithScale: Deployment, ReplicaSet, ReplicationController, StatefulSet }

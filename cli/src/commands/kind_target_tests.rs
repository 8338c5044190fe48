use super::*;

/// The paths of these types, which exist: this compiles.
macro_rules! paths {
    ($($path:path),* $(,)?) => {
        [$((stringify!($path), size_of::<$path>())),*]
    };
}

#[test]
fn built_in_kinds_have_the_paths_of_their_types() {
    let existing = paths![
        k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicy,
        k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicyBinding,
        k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration,
        k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy,
        k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration,
        k8s_openapi::api::apps::v1::ControllerRevision,
        k8s_openapi::api::apps::v1::DaemonSet,
        k8s_openapi::api::apps::v1::Deployment,
        k8s_openapi::api::apps::v1::ReplicaSet,
        k8s_openapi::api::apps::v1::StatefulSet,
        k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler,
        k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler,
        k8s_openapi::api::batch::v1::CronJob,
        k8s_openapi::api::batch::v1::Job,
        k8s_openapi::api::certificates::v1::CertificateSigningRequest,
        k8s_openapi::api::coordination::v1::Lease,
        k8s_openapi::api::core::v1::ConfigMap,
        k8s_openapi::api::core::v1::Endpoints,
        k8s_openapi::api::core::v1::Event,
        k8s_openapi::api::core::v1::LimitRange,
        k8s_openapi::api::core::v1::Namespace,
        k8s_openapi::api::core::v1::Node,
        k8s_openapi::api::core::v1::PersistentVolume,
        k8s_openapi::api::core::v1::PersistentVolumeClaim,
        k8s_openapi::api::core::v1::Pod,
        k8s_openapi::api::core::v1::PodTemplate,
        k8s_openapi::api::core::v1::ReplicationController,
        k8s_openapi::api::core::v1::ResourceQuota,
        k8s_openapi::api::core::v1::Secret,
        k8s_openapi::api::core::v1::Service,
        k8s_openapi::api::core::v1::ServiceAccount,
        k8s_openapi::api::discovery::v1::EndpointSlice,
        k8s_openapi::api::events::v1::Event,
        k8s_openapi::api::flowcontrol::v1::FlowSchema,
        k8s_openapi::api::flowcontrol::v1::PriorityLevelConfiguration,
        k8s_openapi::api::networking::v1::IPAddress,
        k8s_openapi::api::networking::v1::Ingress,
        k8s_openapi::api::networking::v1::IngressClass,
        k8s_openapi::api::networking::v1::NetworkPolicy,
        k8s_openapi::api::networking::v1::ServiceCIDR,
        k8s_openapi::api::node::v1::RuntimeClass,
        k8s_openapi::api::policy::v1::PodDisruptionBudget,
        k8s_openapi::api::rbac::v1::ClusterRole,
        k8s_openapi::api::rbac::v1::ClusterRoleBinding,
        k8s_openapi::api::rbac::v1::Role,
        k8s_openapi::api::rbac::v1::RoleBinding,
        k8s_openapi::api::resource::v1::DeviceClass,
        k8s_openapi::api::resource::v1::ResourceClaim,
        k8s_openapi::api::resource::v1::ResourceClaimTemplate,
        k8s_openapi::api::resource::v1::ResourceSlice,
        k8s_openapi::api::scheduling::v1::PriorityClass,
        k8s_openapi::api::storage::v1::CSIDriver,
        k8s_openapi::api::storage::v1::CSINode,
        k8s_openapi::api::storage::v1::CSIStorageCapacity,
        k8s_openapi::api::storage::v1::StorageClass,
        k8s_openapi::api::storage::v1::VolumeAttachment,
        k8s_openapi::api::storage::v1::VolumeAttributesClass,
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService,
    ];
    let existing: BTreeSet<String> = existing.iter().map(|(path, _)| (*path).to_owned()).collect();
    let catalog = Catalog::built_in().unwrap();
    let paths = changeable(&catalog).map(|kind| built_in_path(kind));
    assert_eq!(paths.collect::<BTreeSet<_>>(), existing);
}

fn find(reference: &str, files: &[(&str, &str)]) -> Result<String, String> {
    let kube = |version: &str, rest: &str| {
        format!(
            "#[derive(Informer)] #[kube(group = \"demo.dev\", version = \"{version}\", kind = \"Foo\")] struct FooSpec {{{rest}}}"
        )
    };
    let files: Vec<_> = files
        .iter()
        .map(|(path, version)| SourceFile {
            path: path.into(),
            syntax: syn::parse_file(&kube(version, "deployment_name: String")).unwrap(),
        })
        .collect();
    let found = KindTarget::find(&reference.parse().unwrap(), &files);
    found.map(|found| found.path).map_err(|error| error.to_string())
}

#[test]
fn kinds_of_the_project_come_first() {
    let one = [("src/api/foo.rs", "v1alpha1")];
    let two = [
        ("src/api/foo/v1.rs", "v1"),
        ("src/api/foo/v1alpha1.rs", "v1alpha1"),
    ];
    let path = |reference: &str, files| find(reference, files).unwrap();
    assert_eq!(path("Foo", &one), "crate::api::foo::Foo");
    assert_eq!(path("Foo.demo.dev/v1alpha1", &one), "crate::api::foo::Foo");
    assert_eq!(path("Foo", &two), "crate::api::foo::Foo");
    assert_eq!(
        path("Foo.demo.dev/v1alpha1", &two),
        "crate::api::foo::v1alpha1::Foo"
    );
    assert_eq!(path("Foo", &[("src/lib.rs", "v1")]), "crate::Foo");
}

#[test]
fn preferred_versions_and_the_core_group_come_first() {
    let path = |reference: &str| find(reference, &[]).unwrap();
    assert_eq!(path("Deployment"), "k8s_openapi::api::apps::v1::Deployment");
    assert_eq!(path("Event"), "k8s_openapi::api::core::v1::Event");
    assert_eq!(path("Event.events.k8s.io"), "k8s_openapi::api::events::v1::Event");
    let autoscaler = "HorizontalPodAutoscaler";
    assert_eq!(
        path(autoscaler),
        format!("k8s_openapi::api::autoscaling::v2::{autoscaler}")
    );
    assert_eq!(
        path("HorizontalPodAutoscaler.autoscaling/v1"),
        format!("k8s_openapi::api::autoscaling::v1::{autoscaler}")
    );
}

#[test]
fn other_kinds_are_refused_with_similar_names() {
    let one = [("src/api/foo.rs", "v1alpha1")];
    for (reference, expected) in [
        (
            "Fooz",
            "Fooz is neither a kind of the project nor one of Kubernetes: did you mean Foo?",
        ),
        ("Pods", "did you mean Pod?"),
        ("Deployment.extensions", "did you mean Deployment.apps/v1?"),
        ("Pod.apps", "did you mean Pod/v1?"),
        ("Foo.demo.dev/v2", "did you mean Foo.demo.dev/v1alpha1?"),
        (
            "Unicorn",
            "correct the name, or add the kind with `kubewright add kind`",
        ),
        ("TokenReview", "TokenReview is neither"),
    ] {
        let error = find(reference, &one).unwrap_err();
        assert!(error.contains(expected), "{reference}: {error}");
    }
}

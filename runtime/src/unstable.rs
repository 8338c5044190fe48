//! Internals that the tests and benchmarks of this project and its command use. They have no stability guarantee: any version may change or remove them.

pub use crate::{
    cache::{
        index::{IndexPath, PathSegment},
        stats::InformerStats,
    },
    controller::{
        args::FixedArgs, certificate_permissions::certificate_permissions, metrics::NoMetrics,
        runner::ControllerRunner,
    },
    events::writer::EventWriter,
    manager::metrics::catalog::{MetricDescription, MetricKind, metric_catalog},
    random_values::Random,
    testing::request_diff::assert_requests,
    webhooks::{
        certificates::{
            BundleTarget, CertificateKeeper, CertificateSource, RotationTiming, ServerNames,
            ServingCertificate, secret_manifest,
        },
        configuration_keeper::{ConfigurationKeeper, ConfigurationTiming},
    },
    workqueue::metrics::{NoQueueMetrics, QueueMetrics},
};

//! The kind ServiceMonitor of monitoring.coreos.com/v1, which another project defines.
//!
//! `kubewright import` made this file from the definition `servicemonitors.monitoring.coreos.com`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::{Deserialize, Serialize};

/// The `ServiceMonitor` custom resource definition (CRD) defines how `Prometheus` and `PrometheusAgent` can scrape metrics from a group of services.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitor {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// spec defines the specification of desired Service selection for target discovery by
    pub spec: ServiceMonitorSpec,
    /// status defines the status subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ServiceMonitorStatus>,
}

impl kube::Resource for ServiceMonitor {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "ServiceMonitor".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "monitoring.coreos.com".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "servicemonitors".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for ServiceMonitor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "monitoring.coreos.com/v1")?;
        map.serialize_entry("kind", "ServiceMonitor")?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("spec", &self.spec)?;
        if let Some(value) = &self.status {
            map.serialize_entry("status", value)?;
        }
        map.end()
    }
}

impl kubewright::WithStatus for ServiceMonitor {}

/// spec defines the specification of desired Service selection for target discovery by
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpec {
    /// attachMetadata defines additional metadata which is added to the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach_metadata: Option<ServiceMonitorSpecAttachMetadata>,
    /// bodySizeLimit when defined, bodySizeLimit specifies a job level limit on the size
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_size_limit: Option<String>,
    /// convertClassicHistogramsToNHCB defines whether to convert all scraped classic histograms into a native histogram with custom buckets.
    #[serde(
        rename = "convertClassicHistogramsToNHCB",
        skip_serializing_if = "Option::is_none"
    )]
    pub convert_classic_histograms_to_nhcb: Option<bool>,
    /// endpoints defines the list of endpoints part of this ServiceMonitor.
    pub endpoints: Vec<ServiceMonitorSpecEndpoints>,
    /// fallbackScrapeProtocol defines the protocol to use if a scrape returns blank, unparseable, or otherwise invalid Content-Type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_scrape_protocol: Option<ServiceMonitorSpecFallbackScrapeProtocol>,
    /// jobLabel selects the label from the associated Kubernetes `Service`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_label: Option<String>,
    /// keepDroppedTargets defines the per-scrape limit on the number of targets dropped by relabeling
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_dropped_targets: Option<i64>,
    /// labelLimit defines the per-scrape limit on number of labels that will be accepted for a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_limit: Option<i64>,
    /// labelNameLengthLimit defines the per-scrape limit on length of labels name that will be accepted for a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_name_length_limit: Option<i64>,
    /// labelValueLengthLimit defines the per-scrape limit on length of labels value that will be accepted for a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_value_length_limit: Option<i64>,
    /// namespaceSelector defines in which namespace(s) Prometheus should discover the services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<ServiceMonitorSpecNamespaceSelector>,
    /// nativeHistogramBucketLimit defines ff there are more than this many buckets in a native histogram,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_histogram_bucket_limit: Option<i64>,
    /// nativeHistogramMinBucketFactor defines if the growth factor of one bucket to the next is smaller than this,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_histogram_min_bucket_factor: Option<ServiceMonitorIntOrString>,
    /// podTargetLabels defines the labels which are transferred from the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_target_labels: Option<Vec<String>>,
    /// sampleLimit defines a per-scrape limit on the number of scraped samples
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_limit: Option<i64>,
    /// scrapeClass defines the scrape class to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrape_class: Option<String>,
    /// scrapeClassicHistograms defines whether to scrape a classic histogram that is also exposed as a native histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrape_classic_histograms: Option<bool>,
    /// scrapeNativeHistograms defines whether to enable scraping of native histograms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrape_native_histograms: Option<bool>,
    /// scrapeProtocols defines the protocols to negotiate during a scrape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrape_protocols: Option<Vec<ServiceMonitorSpecScrapeProtocols>>,
    /// selector defines the label selector to select the Kubernetes `Endpoints` objects to scrape metrics from.
    pub selector: ServiceMonitorSpecSelector,
    /// selectorMechanism defines the mechanism used to select the endpoints to scrape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector_mechanism: Option<ServiceMonitorSpecSelectorMechanism>,
    /// serviceDiscoveryRole defines the service discovery role used to discover targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_discovery_role: Option<ServiceMonitorSpecServiceDiscoveryRole>,
    /// targetLabels defines the labels which are transferred from the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_labels: Option<Vec<String>>,
    /// targetLimit defines a limit on the number of scraped targets that will
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_limit: Option<i64>,
}

/// attachMetadata defines additional metadata which is added to the
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecAttachMetadata {
    /// node when set to true, Prometheus attaches node metadata to the discovered
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<bool>,
}

/// Endpoint defines an endpoint serving Prometheus metrics to be scraped by
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpoints {
    /// authorization configures the Authorization header credentials used by
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization: Option<ServiceMonitorSpecEndpointsAuthorization>,
    /// basicAuth defines the Basic Authentication credentials used by the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<ServiceMonitorSpecEndpointsBasicAuth>,
    /// bearerTokenFile defines the file to read bearer token for scraping the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_file: Option<String>,
    /// bearerTokenSecret defines a key of a Secret containing the bearer token
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token_secret: Option<ServiceMonitorSpecEndpointsBearerTokenSecret>,
    /// enableHttp2 can be used to disable HTTP2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_http2: Option<bool>,
    /// filterRunning when true, the pods which are not running (e.g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_running: Option<bool>,
    /// followRedirects defines whether the client should follow HTTP 3xx
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_redirects: Option<bool>,
    /// honorLabels defines when true the metric's labels when they collide
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honor_labels: Option<bool>,
    /// honorTimestamps defines whether Prometheus preserves the timestamps
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honor_timestamps: Option<bool>,
    /// interval at which Prometheus scrapes the metrics from the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// metricRelabelings defines the relabeling rules to apply to the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_relabelings: Option<Vec<ServiceMonitorSpecEndpointsMetricRelabelings>>,
    /// noProxy defines a comma-separated string that can contain IPs, CIDR notation, domain names
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
    /// oauth2 defines the OAuth2 settings used by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth2: Option<ServiceMonitorSpecEndpointsOauth2>,
    /// params define optional HTTP URL parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<std::collections::BTreeMap<String, Vec<String>>>,
    /// path defines the HTTP path from which to scrape for metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// port defines the name of the Service port which this endpoint refers to
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// proxyConnectHeader optionally specifies headers to send to
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_connect_header: Option<
        std::collections::BTreeMap<String, Vec<ServiceMonitorSpecEndpointsProxyConnectHeader>>,
    >,
    /// proxyFromEnvironment defines whether to use the proxy configuration defined by environment variables (HTTP_PROXY, HTTPS_PROXY, and NO_PROXY).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_from_environment: Option<bool>,
    /// proxyUrl defines the HTTP proxy server to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// relabelings defines the relabeling rules to apply the target's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relabelings: Option<Vec<ServiceMonitorSpecEndpointsRelabelings>>,
    /// scheme defines the HTTP scheme to use when scraping the metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<ServiceMonitorSpecEndpointsScheme>,
    /// scrapeTimeout defines the timeout after which Prometheus considers the scrape to be failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrape_timeout: Option<String>,
    /// targetPort defines the name or number of a container port on Pods selected
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_port: Option<ServiceMonitorIntOrString>,
    /// tlsConfig defines TLS configuration used by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<ServiceMonitorSpecEndpointsTlsConfig>,
    /// trackTimestampsStaleness defines whether Prometheus tracks staleness of
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_timestamps_staleness: Option<bool>,
}

/// authorization configures the Authorization header credentials used by
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsAuthorization {
    /// credentials defines a key of a Secret in the namespace that contains the credentials for authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ServiceMonitorSpecEndpointsAuthorizationCredentials>,
    /// type defines the authentication type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
}

/// credentials defines a key of a Secret in the namespace that contains the credentials for authentication.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsAuthorizationCredentials {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// basicAuth defines the Basic Authentication credentials used by the
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsBasicAuth {
    /// password defines a key of a Secret containing the password for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<ServiceMonitorSpecEndpointsBasicAuthPassword>,
    /// username defines a key of a Secret containing the username for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<ServiceMonitorSpecEndpointsBasicAuthUsername>,
}

/// password defines a key of a Secret containing the password for
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsBasicAuthPassword {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// username defines a key of a Secret containing the username for
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsBasicAuthUsername {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// bearerTokenSecret defines a key of a Secret containing the bearer token
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsBearerTokenSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// RelabelConfig allows dynamic rewriting of the label set for targets, alerts,
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsMetricRelabelings {
    /// action to perform based on the regex matching.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ServiceMonitorSpecEndpointsMetricRelabelingsAction>,
    /// modulus to take of the hash of the source label values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modulus: Option<i64>,
    /// regex defines the regular expression against which the extracted value is matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// replacement value against which a Replace action is performed if the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// separator defines the string between concatenated SourceLabels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// sourceLabels defines the source labels select values from existing labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_labels: Option<Vec<String>>,
    /// targetLabel defines the label to which the resulting string is written in a replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_label: Option<String>,
}

/// oauth2 defines the OAuth2 settings used by the client.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2 {
    /// clientId defines a key of a Secret or ConfigMap containing the
    pub client_id: ServiceMonitorSpecEndpointsOauth2ClientId,
    /// clientSecret defines a key of a Secret containing the OAuth2
    pub client_secret: ServiceMonitorSpecEndpointsOauth2ClientSecret,
    /// endpointParams configures the HTTP parameters to append to the token
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_params: Option<std::collections::BTreeMap<String, String>>,
    /// noProxy defines a comma-separated string that can contain IPs, CIDR notation, domain names
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
    /// proxyConnectHeader optionally specifies headers to send to
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_connect_header: Option<
        std::collections::BTreeMap<
            String,
            Vec<ServiceMonitorSpecEndpointsOauth2ProxyConnectHeader>,
        >,
    >,
    /// proxyFromEnvironment defines whether to use the proxy configuration defined by environment variables (HTTP_PROXY, HTTPS_PROXY, and NO_PROXY).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_from_environment: Option<bool>,
    /// proxyUrl defines the HTTP proxy server to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// scopes defines the OAuth2 scopes used for the token request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// tlsConfig defines the TLS configuration to use when connecting to the OAuth2 server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<ServiceMonitorSpecEndpointsOauth2TlsConfig>,
    /// tokenUrl defines the URL to fetch the token from.
    pub token_url: String,
}

/// clientId defines a key of a Secret or ConfigMap containing the
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2ClientId {
    /// configMap defines the ConfigMap containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ServiceMonitorSpecEndpointsOauth2ClientIdConfigMap>,
    /// secret defines the Secret containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ServiceMonitorSpecEndpointsOauth2ClientIdSecret>,
}

/// configMap defines the ConfigMap containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2ClientIdConfigMap {
    /// The key to select.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the ConfigMap or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// secret defines the Secret containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2ClientIdSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// clientSecret defines a key of a Secret containing the OAuth2
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2ClientSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// SecretKeySelector selects a key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2ProxyConnectHeader {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// tlsConfig defines the TLS configuration to use when connecting to the OAuth2 server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfig {
    /// ca defines the Certificate authority used when verifying server certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigCa>,
    /// cert defines the Client certificate to present when doing client-authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigCert>,
    /// insecureSkipVerify defines how to disable target certificate validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_verify: Option<bool>,
    /// keySecret defines the Secret containing the client key file for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_secret: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigKeySecret>,
    /// maxVersion defines the maximum acceptable TLS version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_version: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigMaxVersion>,
    /// minVersion defines the minimum acceptable TLS version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_version: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigMinVersion>,
    /// serverName is used to verify the hostname for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}

/// ca defines the Certificate authority used when verifying server certificates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigCa {
    /// configMap defines the ConfigMap containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigCaConfigMap>,
    /// secret defines the Secret containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigCaSecret>,
}

/// configMap defines the ConfigMap containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigCaConfigMap {
    /// The key to select.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the ConfigMap or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// secret defines the Secret containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigCaSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// cert defines the Client certificate to present when doing client-authentication.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigCert {
    /// configMap defines the ConfigMap containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigCertConfigMap>,
    /// secret defines the Secret containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ServiceMonitorSpecEndpointsOauth2TlsConfigCertSecret>,
}

/// configMap defines the ConfigMap containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigCertConfigMap {
    /// The key to select.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the ConfigMap or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// secret defines the Secret containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigCertSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// keySecret defines the Secret containing the client key file for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsOauth2TlsConfigKeySecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// SecretKeySelector selects a key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsProxyConnectHeader {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// RelabelConfig allows dynamic rewriting of the label set for targets, alerts,
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsRelabelings {
    /// action to perform based on the regex matching.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ServiceMonitorSpecEndpointsRelabelingsAction>,
    /// modulus to take of the hash of the source label values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modulus: Option<i64>,
    /// regex defines the regular expression against which the extracted value is matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// replacement value against which a Replace action is performed if the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// separator defines the string between concatenated SourceLabels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// sourceLabels defines the source labels select values from existing labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_labels: Option<Vec<String>>,
    /// targetLabel defines the label to which the resulting string is written in a replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_label: Option<String>,
}

/// tlsConfig defines TLS configuration used by the client.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfig {
    /// ca defines the Certificate authority used when verifying server certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ServiceMonitorSpecEndpointsTlsConfigCa>,
    /// caFile defines the path to the CA cert in the Prometheus container to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// cert defines the Client certificate to present when doing client-authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<ServiceMonitorSpecEndpointsTlsConfigCert>,
    /// certFile defines the path to the client cert file in the Prometheus container for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_file: Option<String>,
    /// insecureSkipVerify defines how to disable target certificate validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_verify: Option<bool>,
    /// keyFile defines the path to the client key file in the Prometheus container for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// keySecret defines the Secret containing the client key file for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_secret: Option<ServiceMonitorSpecEndpointsTlsConfigKeySecret>,
    /// maxVersion defines the maximum acceptable TLS version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_version: Option<ServiceMonitorSpecEndpointsTlsConfigMaxVersion>,
    /// minVersion defines the minimum acceptable TLS version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_version: Option<ServiceMonitorSpecEndpointsTlsConfigMinVersion>,
    /// serverName is used to verify the hostname for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}

/// ca defines the Certificate authority used when verifying server certificates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigCa {
    /// configMap defines the ConfigMap containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ServiceMonitorSpecEndpointsTlsConfigCaConfigMap>,
    /// secret defines the Secret containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ServiceMonitorSpecEndpointsTlsConfigCaSecret>,
}

/// configMap defines the ConfigMap containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigCaConfigMap {
    /// The key to select.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the ConfigMap or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// secret defines the Secret containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigCaSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// cert defines the Client certificate to present when doing client-authentication.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigCert {
    /// configMap defines the ConfigMap containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ServiceMonitorSpecEndpointsTlsConfigCertConfigMap>,
    /// secret defines the Secret containing data to use for the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ServiceMonitorSpecEndpointsTlsConfigCertSecret>,
}

/// configMap defines the ConfigMap containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigCertConfigMap {
    /// The key to select.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the ConfigMap or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// secret defines the Secret containing data to use for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigCertSecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// keySecret defines the Secret containing the client key file for the targets.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecEndpointsTlsConfigKeySecret {
    /// The key of the secret to select from.
    pub key: String,
    /// Name of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Specify whether the Secret or its key must be defined
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// namespaceSelector defines in which namespace(s) Prometheus should discover the services.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecNamespaceSelector {
    /// any defines the boolean describing whether all namespaces are selected in contrast to a
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<bool>,
    /// matchNames defines the list of namespace names to select from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_names: Option<Vec<String>>,
}

/// selector defines the label selector to select the Kubernetes `Endpoints` objects to scrape metrics from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecSelector {
    /// matchExpressions is a list of label selector requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<ServiceMonitorSpecSelectorMatchExpressions>>,
    /// matchLabels is a map of {key,value} pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
}

/// A label selector requirement is a selector that contains values, a key, and an operator that
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorSpecSelectorMatchExpressions {
    /// key is the label key that the selector applies to.
    pub key: String,
    /// operator represents a key's relationship to a set of values.
    pub operator: String,
    /// values is an array of string values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// status defines the status subresource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorStatus {
    /// bindings defines the list of workload resources (Prometheus, PrometheusAgent, ThanosRuler or Alertmanager) which select the configuration resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bindings: Option<Vec<ServiceMonitorStatusBindings>>,
}

/// WorkloadBinding is a link between a configuration resource and a workload resource.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorStatusBindings {
    /// conditions defines the current state of the configuration resource when bound to the referenced Workload object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ServiceMonitorStatusBindingsConditions>>,
    /// group defines the group of the referenced resource.
    pub group: ServiceMonitorStatusBindingsGroup,
    /// name defines the name of the referenced object.
    pub name: String,
    /// namespace defines the namespace of the referenced object.
    pub namespace: String,
    /// resource defines the type of resource being referenced (e.g.
    pub resource: ServiceMonitorStatusBindingsResource,
}

/// ConfigResourceCondition describes the status of configuration resources linked to Prometheus, PrometheusAgent, Alertmanager or ThanosRuler.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceMonitorStatusBindingsConditions {
    /// lastTransitionTime defines the time of the last update to the current status property.
    pub last_transition_time: String,
    /// message defines the human-readable message indicating details for the condition's last transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// observedGeneration defines the .metadata.generation that the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// reason for the condition's last transition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// status of the condition.
    pub status: String,
    /// type of the condition being reported.
    pub r#type: ServiceMonitorStatusBindingsConditionsType,
}

/// action to perform based on the regex matching.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsMetricRelabelingsAction {
    #[serde(rename = "replace")]
    Replace,
    #[serde(rename = "Replace")]
    Replace2,
    #[serde(rename = "keep")]
    Keep,
    #[serde(rename = "Keep")]
    Keep2,
    #[serde(rename = "drop")]
    Drop,
    #[serde(rename = "Drop")]
    Drop2,
    #[serde(rename = "hashmod")]
    Hashmod,
    HashMod,
    #[serde(rename = "labelmap")]
    Labelmap,
    LabelMap,
    #[serde(rename = "labeldrop")]
    Labeldrop,
    LabelDrop,
    #[serde(rename = "labelkeep")]
    Labelkeep,
    LabelKeep,
    #[serde(rename = "lowercase")]
    Lowercase,
    #[serde(rename = "Lowercase")]
    Lowercase2,
    #[serde(rename = "uppercase")]
    Uppercase,
    #[serde(rename = "Uppercase")]
    Uppercase2,
    #[serde(rename = "keepequal")]
    Keepequal,
    KeepEqual,
    #[serde(rename = "dropequal")]
    Dropequal,
    DropEqual,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// maxVersion defines the maximum acceptable TLS version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsOauth2TlsConfigMaxVersion {
    TLS10,
    TLS11,
    TLS12,
    TLS13,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// minVersion defines the minimum acceptable TLS version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsOauth2TlsConfigMinVersion {
    TLS10,
    TLS11,
    TLS12,
    TLS13,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// action to perform based on the regex matching.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsRelabelingsAction {
    #[serde(rename = "replace")]
    Replace,
    #[serde(rename = "Replace")]
    Replace2,
    #[serde(rename = "keep")]
    Keep,
    #[serde(rename = "Keep")]
    Keep2,
    #[serde(rename = "drop")]
    Drop,
    #[serde(rename = "Drop")]
    Drop2,
    #[serde(rename = "hashmod")]
    Hashmod,
    HashMod,
    #[serde(rename = "labelmap")]
    Labelmap,
    LabelMap,
    #[serde(rename = "labeldrop")]
    Labeldrop,
    LabelDrop,
    #[serde(rename = "labelkeep")]
    Labelkeep,
    LabelKeep,
    #[serde(rename = "lowercase")]
    Lowercase,
    #[serde(rename = "Lowercase")]
    Lowercase2,
    #[serde(rename = "uppercase")]
    Uppercase,
    #[serde(rename = "Uppercase")]
    Uppercase2,
    #[serde(rename = "keepequal")]
    Keepequal,
    KeepEqual,
    #[serde(rename = "dropequal")]
    Dropequal,
    DropEqual,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// scheme defines the HTTP scheme to use when scraping the metrics.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsScheme {
    #[serde(rename = "http")]
    Http,
    #[serde(rename = "https")]
    Https,
    HTTP,
    HTTPS,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// maxVersion defines the maximum acceptable TLS version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsTlsConfigMaxVersion {
    TLS10,
    TLS11,
    TLS12,
    TLS13,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// minVersion defines the minimum acceptable TLS version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecEndpointsTlsConfigMinVersion {
    TLS10,
    TLS11,
    TLS12,
    TLS13,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// fallbackScrapeProtocol defines the protocol to use if a scrape returns blank, unparseable, or otherwise invalid Content-Type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecFallbackScrapeProtocol {
    PrometheusProto,
    #[serde(rename = "OpenMetricsText0.0.1")]
    OpenMetricsText001,
    #[serde(rename = "OpenMetricsText1.0.0")]
    OpenMetricsText100,
    #[serde(rename = "PrometheusText0.0.4")]
    PrometheusText004,
    #[serde(rename = "PrometheusText1.0.0")]
    PrometheusText100,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// ScrapeProtocol represents a protocol used by Prometheus for scraping metrics.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecScrapeProtocols {
    PrometheusProto,
    #[serde(rename = "OpenMetricsText0.0.1")]
    OpenMetricsText001,
    #[serde(rename = "OpenMetricsText1.0.0")]
    OpenMetricsText100,
    #[serde(rename = "PrometheusText0.0.4")]
    PrometheusText004,
    #[serde(rename = "PrometheusText1.0.0")]
    PrometheusText100,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// selectorMechanism defines the mechanism used to select the endpoints to scrape.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecSelectorMechanism {
    RelabelConfig,
    RoleSelector,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// serviceDiscoveryRole defines the service discovery role used to discover targets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorSpecServiceDiscoveryRole {
    Endpoints,
    EndpointSlice,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// type of the condition being reported.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorStatusBindingsConditionsType {
    Accepted,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// group defines the group of the referenced resource.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorStatusBindingsGroup {
    #[serde(rename = "monitoring.coreos.com")]
    MonitoringCoreosCom,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// resource defines the type of resource being referenced (e.g.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ServiceMonitorStatusBindingsResource {
    #[serde(rename = "prometheuses")]
    Prometheuses,
    #[serde(rename = "prometheusagents")]
    Prometheusagents,
    #[serde(rename = "thanosrulers")]
    Thanosrulers,
    #[serde(rename = "alertmanagers")]
    Alertmanagers,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// An integer or a text.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ServiceMonitorIntOrString {
    /// An integer.
    Int(i64),
    /// A text.
    String(String),
}

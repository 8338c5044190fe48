//! The kind Gateway of gateway.networking.k8s.io/v1, which another project defines.
//!
//! `kubewright import` made this file from the definition `gateways.gateway.networking.k8s.io`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::{Deserialize, Serialize};

/// Gateway represents an instance of a service-traffic handling infrastructure
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// Spec defines the desired state of Gateway.
    pub spec: GatewaySpec,
    /// Status defines the current state of Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<GatewayStatus>,
}

impl kube::Resource for Gateway {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "Gateway".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "gateway.networking.k8s.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "gateways".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Gateway {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "gateway.networking.k8s.io/v1")?;
        map.serialize_entry("kind", "Gateway")?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("spec", &self.spec)?;
        if let Some(value) = &self.status {
            map.serialize_entry("status", value)?;
        }
        map.end()
    }
}

impl kubewright::WithStatus for Gateway {}

/// Spec defines the desired state of Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpec {
    /// Addresses requested for this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<GatewaySpecAddresses>>,
    /// AllowedListeners defines which ListenerSets can be attached to this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_listeners: Option<GatewaySpecAllowedListeners>,
    /// GatewayClassName used for this Gateway.
    pub gateway_class_name: String,
    /// Infrastructure defines infrastructure level attributes about this Gateway instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure: Option<GatewaySpecInfrastructure>,
    /// Listeners associated with this Gateway.
    pub listeners: Vec<GatewaySpecListeners>,
    /// TLS specifies frontend and backend tls configuration for entire gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<GatewaySpecTls>,
}

/// GatewaySpecAddress describes an address that can be bound to a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecAddresses {
    /// Type of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// When a value is unspecified, an implementation SHOULD automatically
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// AllowedListeners defines which ListenerSets can be attached to this Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecAllowedListeners {
    /// Namespaces defines which namespaces ListenerSets can be attached to this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<GatewaySpecAllowedListenersNamespaces>,
}

/// Namespaces defines which namespaces ListenerSets can be attached to this Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecAllowedListenersNamespaces {
    /// From indicates where ListenerSets can attach to this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<GatewaySpecAllowedListenersNamespacesFrom>,
    /// Selector must be specified when From is set to "Selector".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<GatewaySpecAllowedListenersNamespacesSelector>,
}

/// Selector must be specified when From is set to "Selector".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecAllowedListenersNamespacesSelector {
    /// matchExpressions is a list of label selector requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions:
        Option<Vec<GatewaySpecAllowedListenersNamespacesSelectorMatchExpressions>>,
    /// matchLabels is a map of {key,value} pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
}

/// A label selector requirement is a selector that contains values, a key, and an operator that
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecAllowedListenersNamespacesSelectorMatchExpressions {
    /// key is the label key that the selector applies to.
    pub key: String,
    /// operator represents a key's relationship to a set of values.
    pub operator: String,
    /// values is an array of string values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// Infrastructure defines infrastructure level attributes about this Gateway instance.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecInfrastructure {
    /// Annotations that SHOULD be applied to any resources created in response to this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<std::collections::BTreeMap<String, String>>,
    /// Labels that SHOULD be applied to any resources created in response to this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
    /// ParametersRef is a reference to a resource that contains the configuration
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_ref: Option<GatewaySpecInfrastructureParametersRef>,
}

/// ParametersRef is a reference to a resource that contains the configuration
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecInfrastructureParametersRef {
    /// Group is the group of the referent.
    pub group: String,
    /// Kind is kind of the referent.
    pub kind: String,
    /// Name is the name of the referent.
    pub name: String,
}

/// Listener embodies the concept of a logical endpoint where a Gateway accepts
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListeners {
    /// AllowedRoutes defines the types of routes that MAY be attached to a
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_routes: Option<GatewaySpecListenersAllowedRoutes>,
    /// Hostname specifies the virtual hostname to match for protocol types that
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Name is the name of the Listener.
    pub name: String,
    /// Port is the network port.
    pub port: i32,
    /// Protocol specifies the network protocol this listener expects to receive.
    pub protocol: String,
    /// TLS is the TLS configuration for the Listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<GatewaySpecListenersTls>,
}

/// AllowedRoutes defines the types of routes that MAY be attached to a
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersAllowedRoutes {
    /// Kinds specifies the groups and kinds of Routes that are allowed to bind
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<GatewaySpecListenersAllowedRoutesKinds>>,
    /// Namespaces indicates namespaces from which Routes may be attached to this
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<GatewaySpecListenersAllowedRoutesNamespaces>,
}

/// RouteGroupKind indicates the group and kind of a Route resource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersAllowedRoutesKinds {
    /// Group is the group of the Route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind is the kind of the Route.
    pub kind: String,
}

/// Namespaces indicates namespaces from which Routes may be attached to this
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersAllowedRoutesNamespaces {
    /// From indicates where Routes will be selected for this Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<GatewaySpecListenersAllowedRoutesNamespacesFrom>,
    /// Selector must be specified when From is set to "Selector".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<GatewaySpecListenersAllowedRoutesNamespacesSelector>,
}

/// Selector must be specified when From is set to "Selector".
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersAllowedRoutesNamespacesSelector {
    /// matchExpressions is a list of label selector requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions:
        Option<Vec<GatewaySpecListenersAllowedRoutesNamespacesSelectorMatchExpressions>>,
    /// matchLabels is a map of {key,value} pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
}

/// A label selector requirement is a selector that contains values, a key, and an operator that
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersAllowedRoutesNamespacesSelectorMatchExpressions {
    /// key is the label key that the selector applies to.
    pub key: String,
    /// operator represents a key's relationship to a set of values.
    pub operator: String,
    /// values is an array of string values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
}

/// TLS is the TLS configuration for the Listener.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersTls {
    /// CertificateRefs contains a series of references to Kubernetes objects that
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_refs: Option<Vec<GatewaySpecListenersTlsCertificateRefs>>,
    /// Mode defines the TLS behavior for the TLS session initiated by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<GatewaySpecListenersTlsMode>,
    /// Options are a list of key/value pairs to enable extended TLS
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<std::collections::BTreeMap<String, String>>,
}

/// SecretObjectReference identifies an API object including its namespace,
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecListenersTlsCertificateRefs {
    /// Group is the group of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind is kind of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name is the name of the referent.
    pub name: String,
    /// Namespace is the namespace of the referenced object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// TLS specifies frontend and backend tls configuration for entire gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTls {
    /// Backend describes TLS configuration for gateway when connecting
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<GatewaySpecTlsBackend>,
    /// Frontend describes TLS config when client connects to Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontend: Option<GatewaySpecTlsFrontend>,
}

/// Backend describes TLS configuration for gateway when connecting
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsBackend {
    /// ClientCertificateRef references an object that contains a client certificate
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_ref: Option<GatewaySpecTlsBackendClientCertificateRef>,
}

/// ClientCertificateRef references an object that contains a client certificate
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsBackendClientCertificateRef {
    /// Group is the group of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind is kind of the referent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name is the name of the referent.
    pub name: String,
    /// Namespace is the namespace of the referenced object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Frontend describes TLS config when client connects to Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontend {
    /// Default specifies the default client certificate validation configuration
    pub default: GatewaySpecTlsFrontendDefault,
    /// PerPort specifies tls configuration assigned per port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_port: Option<Vec<GatewaySpecTlsFrontendPerPort>>,
}

/// Default specifies the default client certificate validation configuration
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendDefault {
    /// Validation holds configuration information for validating the frontend (client).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<GatewaySpecTlsFrontendDefaultValidation>,
}

/// Validation holds configuration information for validating the frontend (client).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendDefaultValidation {
    /// CACertificateRefs contains one or more references to Kubernetes
    pub ca_certificate_refs: Vec<GatewaySpecTlsFrontendDefaultValidationCaCertificateRefs>,
    /// FrontendValidationMode defines the mode for validating the client certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<GatewaySpecTlsFrontendDefaultValidationMode>,
}

/// ObjectReference identifies an API object including its namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendDefaultValidationCaCertificateRefs {
    /// Group is the group of the referent.
    pub group: String,
    /// Kind is kind of the referent.
    pub kind: String,
    /// Name is the name of the referent.
    pub name: String,
    /// Namespace is the namespace of the referenced object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendPerPort {
    /// The Port indicates the Port Number to which the TLS configuration will be
    pub port: i32,
    /// TLS store the configuration that will be applied to all Listeners handling
    pub tls: GatewaySpecTlsFrontendPerPortTls,
}

/// TLS store the configuration that will be applied to all Listeners handling
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendPerPortTls {
    /// Validation holds configuration information for validating the frontend (client).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<GatewaySpecTlsFrontendPerPortTlsValidation>,
}

/// Validation holds configuration information for validating the frontend (client).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendPerPortTlsValidation {
    /// CACertificateRefs contains one or more references to Kubernetes
    pub ca_certificate_refs: Vec<GatewaySpecTlsFrontendPerPortTlsValidationCaCertificateRefs>,
    /// FrontendValidationMode defines the mode for validating the client certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<GatewaySpecTlsFrontendPerPortTlsValidationMode>,
}

/// ObjectReference identifies an API object including its namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpecTlsFrontendPerPortTlsValidationCaCertificateRefs {
    /// Group is the group of the referent.
    pub group: String,
    /// Kind is kind of the referent.
    pub kind: String,
    /// Name is the name of the referent.
    pub name: String,
    /// Namespace is the namespace of the referenced object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Status defines the current state of Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatus {
    /// Addresses lists the network addresses that have been bound to the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<GatewayStatusAddresses>>,
    /// AttachedListenerSets represents the total number of ListenerSets that have been
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached_listener_sets: Option<i32>,
    /// Conditions describe the current conditions of the Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<GatewayStatusConditions>>,
    /// Listeners provide status for each unique listener port defined in the Spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listeners: Option<Vec<GatewayStatusListeners>>,
}

/// GatewayStatusAddress describes a network address that is bound to a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatusAddresses {
    /// Type of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Value of the address.
    pub value: String,
}

/// Condition contains details for one aspect of the current state of this API Resource.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatusConditions {
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
    pub status: GatewayStatusConditionsStatus,
    /// type of condition in CamelCase or in foo.example.com/CamelCase.
    pub r#type: String,
}

/// ListenerStatus is the status associated with a Listener.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatusListeners {
    /// AttachedRoutes represents the total number of Routes that have been
    pub attached_routes: i32,
    /// Conditions describe the current condition of this listener.
    pub conditions: Vec<GatewayStatusListenersConditions>,
    /// Name is the name of the Listener that this status corresponds to.
    pub name: String,
    /// SupportedKinds is the list indicating the Kinds supported by this
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_kinds: Option<Vec<GatewayStatusListenersSupportedKinds>>,
}

/// Condition contains details for one aspect of the current state of this API Resource.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatusListenersConditions {
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
    pub status: GatewayStatusListenersConditionsStatus,
    /// type of condition in CamelCase or in foo.example.com/CamelCase.
    pub r#type: String,
}

/// RouteGroupKind indicates the group and kind of a Route resource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatusListenersSupportedKinds {
    /// Group is the group of the Route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind is the kind of the Route.
    pub kind: String,
}

/// From indicates where ListenerSets can attach to this Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewaySpecAllowedListenersNamespacesFrom {
    All,
    Selector,
    Same,
    None,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// From indicates where Routes will be selected for this Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewaySpecListenersAllowedRoutesNamespacesFrom {
    All,
    Selector,
    Same,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// Mode defines the TLS behavior for the TLS session initiated by the client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewaySpecListenersTlsMode {
    Terminate,
    Passthrough,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// FrontendValidationMode defines the mode for validating the client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewaySpecTlsFrontendDefaultValidationMode {
    AllowValidOnly,
    AllowInsecureFallback,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// FrontendValidationMode defines the mode for validating the client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewaySpecTlsFrontendPerPortTlsValidationMode {
    AllowValidOnly,
    AllowInsecureFallback,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// status of the condition, one of True, False, Unknown.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewayStatusConditionsStatus {
    True,
    False,
    Unknown,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown2(String),
}

/// status of the condition, one of True, False, Unknown.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum GatewayStatusListenersConditionsStatus {
    True,
    False,
    Unknown,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown2(String),
}

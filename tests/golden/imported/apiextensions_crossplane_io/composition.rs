//! The kind Composition of apiextensions.crossplane.io/v1, which another project defines.
//!
//! `kubewright import` made this file from the definition `compositions.apiextensions.crossplane.io`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::{Deserialize, Serialize};

/// A Composition defines a collection of managed resources or functions that
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Composition {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// CompositionSpec specifies desired state of a composition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<CompositionSpec>,
}

impl kube::Resource for Composition {
    type DynamicType = ();
    type Scope = kube::core::ClusterResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "Composition".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "apiextensions.crossplane.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "compositions".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Composition {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "apiextensions.crossplane.io/v1")?;
        map.serialize_entry("kind", "Composition")?;
        map.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            map.serialize_entry("spec", value)?;
        }
        map.end()
    }
}

/// CompositionSpec specifies desired state of a composition.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpec {
    /// CompositeTypeRef specifies the type of composite resource that this
    pub composite_type_ref: CompositionSpecCompositeTypeRef,
    /// Mode controls what type or "mode" of Composition will be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<CompositionSpecMode>,
    /// Pipeline is a list of composition function steps that will be used when a
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Vec<CompositionSpecPipeline>>,
    /// WriteConnectionSecretsToNamespace specifies the namespace in which the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_connection_secrets_to_namespace: Option<String>,
}

/// CompositeTypeRef specifies the type of composite resource that this
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecCompositeTypeRef {
    /// APIVersion of the type.
    pub api_version: String,
    /// Kind of the type.
    pub kind: String,
}

/// A PipelineStep in a function pipeline.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipeline {
    /// Credentials are optional credentials that the function needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Vec<CompositionSpecPipelineCredentials>>,
    /// FunctionRef is a reference to the function this step should
    pub function_ref: CompositionSpecPipelineFunctionRef,
    /// Input is an optional, arbitrary Kubernetes resource (i.e.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<std::collections::BTreeMap<String, serde_json::Value>>,
    /// Requirements are resource requirements that will be satisfied before
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<CompositionSpecPipelineRequirements>,
    /// Step name.
    pub step: String,
}

/// FunctionCredentials are optional credentials that a function
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipelineCredentials {
    /// Name of this set of credentials.
    pub name: String,
    /// A SecretRef is a reference to a secret containing credentials that should
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<CompositionSpecPipelineCredentialsSecretRef>,
    /// Source of the function credentials.
    pub source: CompositionSpecPipelineCredentialsSource,
}

/// A SecretRef is a reference to a secret containing credentials that should
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipelineCredentialsSecretRef {
    /// Name of the secret.
    pub name: String,
    /// Namespace of the secret.
    pub namespace: String,
}

/// FunctionRef is a reference to the function this step should
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipelineFunctionRef {
    /// Name of the referenced Function.
    pub name: String,
}

/// Requirements are resource requirements that will be satisfied before
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipelineRequirements {
    /// RequiredResources is a list of resources that must be fetched before
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_resources: Option<Vec<CompositionSpecPipelineRequirementsRequiredResources>>,
    /// RequiredSchemas is a list of OpenAPI schemas that must be fetched before
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_schemas: Option<Vec<CompositionSpecPipelineRequirementsRequiredSchemas>>,
}

/// RequiredResourceSelector selects a required resource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipelineRequirementsRequiredResources {
    /// APIVersion of the required resource.
    pub api_version: String,
    /// Kind of the required resource.
    pub kind: String,
    /// MatchLabels specifies the set of labels to match for finding the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
    /// Name of the required resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the required resource if it is namespaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// RequirementName is the unique name to identify this required resource
    pub requirement_name: String,
}

/// RequiredSchemaSelector selects a required OpenAPI schema.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpecPipelineRequirementsRequiredSchemas {
    /// APIVersion of the resource kind whose schema is required, e.g.
    pub api_version: String,
    /// Kind of resource whose schema is required, e.g.
    pub kind: String,
    /// RequirementName is the unique name to identify this required schema
    pub requirement_name: String,
}

/// Mode controls what type or "mode" of Composition will be used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CompositionSpecMode {
    Pipeline,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// Source of the function credentials.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CompositionSpecPipelineCredentialsSource {
    None,
    Secret,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

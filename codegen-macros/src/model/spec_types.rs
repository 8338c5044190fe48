//! The types of a custom resource whose derives the expansion checks: the types of `spec` and `status`, and those of the spec's fields.

use syn::{DeriveInput, Type, parse_quote};

use crate::{
    attrs::{InformerAttrs, KubeAttrs, SchemaMode, SpecSerde},
    value_type::nested_type,
};

/// The types, each with the span that its error has.
pub(crate) struct SpecTypes {
    /// The types of `spec` and `status`.
    pub(crate) roots: Vec<Type>,
    /// The types of the spec's fields, without `Option`, `Vec` and maps around them.
    pub(crate) fields: Vec<Type>,
    /// Whether they need `JsonSchema`.
    pub(crate) need_schema: bool,
}

impl SpecTypes {
    /// Collects the types. Fields that the derives of the struct read and write in another way than by their types' traits are left out.
    pub(crate) fn of(
        input: &DeriveInput,
        kube: &KubeAttrs,
        informer: &InformerAttrs,
        serde: &SpecSerde,
    ) -> Self {
        let spec = &input.ident;
        let status = kube.status.as_ref().map(|status| parse_quote!(#status));
        let fields = if informer.unchecked_fields || !serde.uses_field_types() {
            Vec::new()
        } else {
            serde
                .fields()
                .filter(|field| field.uses_type())
                .filter_map(|field| nested_type(&field.ty))
                .cloned()
                .collect()
        };
        Self {
            roots: [parse_quote!(#spec)].into_iter().chain(status).collect(),
            fields,
            need_schema: kube.schema == SchemaMode::Derived,
        }
    }
}

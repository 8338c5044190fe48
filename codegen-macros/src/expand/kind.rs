//! Generates the implementations of the kind's traits.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    model::{Index, Model},
    value_type::ValueType,
};

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model {
        krate,
        root,
        external,
        sensitive,
        ..
    } = model;
    let sensitive = sensitive.then(|| {
        quote!(
            const SENSITIVE: bool = true;
        )
    });
    let definition = definition(model);
    let rust_types = model.has_schema.then(|| {
        quote! {
            fn rust_types() -> ::std::collections::BTreeMap<::std::string::String, ::std::string::String> {
                #krate::definition::rust_types::<Self>()
            }
        }
    });
    let indexes = model.indexes.iter().map(|index| index_spec(model, index));
    let subresources = [
        (model.has_status, quote!(WithStatus)),
        (model.has_scale, quote!(WithScale)),
    ];
    let subresources = subresources.iter().filter(|(has, _)| *has).map(|(_, name)| {
        quote! {
            #[automatically_derived]
            impl #krate::#name for #root {}
        }
    });
    let versioned = model.is_versioned.then(|| versioned(model));
    quote! {
        #[automatically_derived]
        impl #krate::CustomKind for #root {
            const EXTERNAL: bool = #external;
            #sensitive

            #[allow(dead_code)]
            fn definition() -> #krate::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition {
                #definition
            }

            #rust_types

            fn indexes() -> &'static [#krate::cache::IndexSpec] {
                &[#(#indexes),*]
            }
        }

        #(#subresources)*

        #versioned
    }
}

/// Generates the body of `definition`. A hidden second kind with the same attributes makes what is not the schema, because kube's `crd()` of the kind
/// itself makes a schema as well, which panics for enums that the schema of kubewright has.
fn definition(model: &Model) -> TokenStream {
    let Model {
        krate, of_definition, ..
    } = model;
    let kube = quote!(#krate::kube::CustomResourceExt);
    if !model.has_schema {
        return quote!(<Self as #kube>::crd());
    }
    let serde = quote!(#krate::serde).to_string();
    let status = model.has_status.then(|| quote!(status = "WithoutSchemaSpec",));
    quote! {
        #[derive(
            #krate::kube::CustomResource,
            #krate::serde::Deserialize,
            #krate::serde::Serialize,
            ::core::clone::Clone,
            ::core::fmt::Debug,
        )]
        #[kube(#(#of_definition,)* #status root = "WithoutSchema", schema = "disabled")]
        #[serde(crate = #serde)]
        struct WithoutSchemaSpec {}

        #krate::definition::definition::<Self>(<WithoutSchema as #kube>::crd)
    }
}

/// Generates the trait with the types that are converted.
fn versioned(model: &Model) -> TokenStream {
    let (krate, root) = (&model.krate, &model.root);
    let mut types = model.spec_types.roots.iter();
    let spec = types.next();
    let status = types.next().map_or_else(
        || quote!(#krate::conversion::version::NoStatus),
        |status| quote!(#status),
    );
    quote! {
        #[automatically_derived]
        impl #krate::conversion::Versioned for #root {
            type Spec = #spec;
            type Status = #status;
        }
    }
}

fn index_spec(model: &Model, index: &Index) -> TokenStream {
    let krate = &model.krate;
    let (name, path) = (index.name(), &index.path);
    let value_type = match index.value_type {
        ValueType::String | ValueType::Enum(_) => quote!(String),
        ValueType::Bool => quote!(Bool),
        ValueType::Integer(_) => quote!(Integer),
    };
    quote! {
        #krate::cache::IndexSpec { name: #name, path: #path, value_type: #krate::cache::IndexType::#value_type }
    }
}

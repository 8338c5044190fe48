//! DefaultIngressClass.

use super::Attributes;
use super::default_class::DefaultClassRule;
use serde_json::Value;

const INGRESS_CLASS: DefaultClassRule = DefaultClassRule {
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    group: "networking.k8s.io",
    classes: "ingressclasses",
    default_annotations: &["ingressclass.kubernetes.io/is-default-class"],
};

pub(super) fn mutate(attributes: &Attributes<'_>, ingress: &mut Value) {
    if attributes.creates("networking.k8s.io", "Ingress") {
        INGRESS_CLASS.apply(attributes, ingress);
    }
}

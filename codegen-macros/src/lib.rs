//! The derive macros of kubewright.

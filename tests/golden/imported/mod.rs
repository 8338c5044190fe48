//! Kinds that other projects define, a folder for each API group. `kubewright import` writes and updates them.

pub mod apiextensions_crossplane_io;
pub mod cert_manager_io;
pub mod gateway_networking_k8s_io;
pub mod kueue_x_k8s_io;
pub mod monitoring_coreos_com;

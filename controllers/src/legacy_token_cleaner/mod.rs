//! Marks token Secrets that Kubernetes once made for service accounts and that nobody uses, and deletes them a year later.

mod controller;
mod mounted_secrets;
mod plan;

pub(crate) use controller::register;

//! The operator shop: its kinds are in [`api`], its controllers in [`controllers`].

pub mod api;
pub mod controllers;
pub mod webhooks;

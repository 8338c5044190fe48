//! The operator shop: its kinds are in [`api`], what it does with them in [`controllers`].

pub mod api;
pub mod controllers;

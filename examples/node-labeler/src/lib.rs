//! Labels Nodes with a size class by their CPU capacity: a controller of a kind of others, without a CustomResourceDefinition.
//!
//! [`size_class`] is the rule; [`controller`] applies it with server-side apply, as a field manager of its own: it owns one label and
//! touches nothing else of the Node.

pub mod controller;
pub mod size_class;

//! The controllers of this operator, one per file. `src/main.rs` registers them.

pub mod foo;

pub use foo::FooController;

//! What the operator does, a controller a file. `src/main.rs` registers them.

pub mod foo;

pub use foo::FooController;

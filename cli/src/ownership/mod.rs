//! Whose file is it: the three classes of files in a project.
//!
//! - [`generated`]: ours. A seal with a hash tells whether somebody edited them; then they are left alone.
//! - [`managed`]: both sides'. Our changes are merged into theirs ([`merge`]), against the last rendering.
//! - The user's: written once, when missing. They need no code here.

pub mod generated;
pub mod managed;
pub mod merge;

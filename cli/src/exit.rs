//! Exit codes; stable across versions.

// ANCHOR: codes
/// Success.
pub const SUCCESS: u8 = 0;
/// `generate --check`: files are stale; the diff is on stdout. `doctor`: there are problems, which are on stdout.
pub const STALE: u8 = 1;
/// Invalid arguments: a name, a kind, a group, a directory that is not empty.
pub const USAGE: u8 = 2;
/// Not in a project, or the project is not supported: an invalid or newer `kubewright.toml`, or another version of
/// the kubewright crate; or cargo or rustfmt does not run.
pub const PROJECT: u8 = 3;
/// The operator does not compile.
pub const COMPILE: u8 = 4;
/// A generated file was edited by hand.
pub const EDITED: u8 = 5;
/// A managed file has a merge conflict.
pub const CONFLICT: u8 = 6;
/// A file that would be changed has uncommitted changes.
pub const UNCOMMITTED: u8 = 7;
/// `generate` wrote its files, and a sample, which is yours, does not match the schema of its kind: it is to be changed. With `--check` and
/// `--dry-run` nothing is written.
pub const SAMPLE: u8 = 8;
/// `add kind` found no place in the source to insert a line.
pub const NO_INSERTION_POINT: u8 = 9;
/// A file could not be read or written.
pub const IO: u8 = 10;
/// The operator compiles but does not print its manifests.
pub const MANIFESTS: u8 = 11;
/// The API server does not start: the port is in use, or a certificate or token file is malformed.
pub const SERVER: u8 = 12;
/// The cluster cannot be reached, denies a request, or is not ready for it.
pub const CLUSTER: u8 = 13;
/// The API server would refuse a CRD, or no object could satisfy it.
pub const DEFINITION: u8 = 14;
/// `package`: the manifests have what the package cannot express.
pub const PACKAGE: u8 = 15;
// ANCHOR_END: codes

/// The table of exit codes at the end of `--help`.
pub const HELP: &str = "\
Exit codes:
   0  success
   1  generate --check: files are stale, the diff is on stdout; doctor: there are problems
   2  invalid arguments
   3  not in a project, an unsupported kubewright.toml or version of the kubewright crate, or no cargo or rustfmt
   4  the operator does not compile
   5  a generated file was edited by hand
   6  a managed file has a merge conflict
   7  a file that would be changed has uncommitted changes
   8  a sample does not match its schema and must be changed; generate wrote its files
   9  no place found in the source to insert a line
  10  a file could not be read or written
  11  the operator does not print its manifests
  12  the API server does not start
  13  the cluster cannot be reached, denies a request, or is not ready for it
  14  a CRD would be refused by the API server, or no object could satisfy it
  15  the manifests have what a package cannot express";

//! The exit codes, stable from version to version.

/// All went well.
pub const SUCCESS: u8 = 0;
/// `generate --check`: files are stale; the diff is on stdout.
pub const STALE: u8 = 1;
/// The arguments are wrong: a name, a kind, a group, a folder that is not empty.
pub const USAGE: u8 = 2;
/// No project here, or one that this kubewright cannot work with: a damaged or newer `kubewright.toml`, another
/// version of the library.
pub const PROJECT: u8 = 3;
/// The operator does not compile.
pub const COMPILE: u8 = 4;
/// A generated file was edited by hand.
pub const EDITED: u8 = 5;
/// A shared file was changed on both sides, at the same place.
pub const CONFLICT: u8 = 6;
/// A file that would be changed has uncommitted changes.
pub const UNCOMMITTED: u8 = 7;
/// A sample does not fit the schema of its kind.
pub const SAMPLE: u8 = 8;
/// The place for a line was not found in the source.
pub const NO_PLACE: u8 = 9;
/// A file could not be read or written.
pub const IO: u8 = 10;
/// The operator compiles and does not print its manifests.
pub const MANIFESTS: u8 = 11;
/// The API server does not start: the port is taken, a certificate or a token file is malformed.
pub const SERVER: u8 = 12;

/// The cluster that `dev` shall use is not there or refuses what `dev` needs.
pub const CLUSTER: u8 = 13;

/// The table that `--help` ends with.
pub const HELP: &str = "\
Exit codes:
   0  success
   1  generate --check: something is stale, the diff is on stdout
   2  wrong arguments
   3  no project here, or a kubewright.toml or library version that this kubewright cannot work with
   4  the operator does not compile
   5  a generated file was edited by hand
   6  a shared file conflicts
   7  a file that would be changed has uncommitted changes
   8  a sample does not fit its schema
   9  no place found for a line in the source
  10  a file could not be read or written
  11  the operator does not print its manifests
  12  the API server does not start
  13  dev: the cluster is not there, or refuses what dev needs";

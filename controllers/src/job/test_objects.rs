//! Objects for the tests of Jobs.

//! What an operator is built from: its crates, and the source paths of its package and of its path dependencies.

use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
};

use cargo_metadata::{DependencyKind, Metadata, PackageId};

/// Returns the local files and directories that the operator's crates are built from; every file of a directory counts.
pub(super) fn source_paths(metadata: &Metadata, built: &BTreeSet<PackageId>) -> BTreeSet<PathBuf> {
    let packages = metadata.packages.iter();
    let local = packages.filter(|package| package.source.is_none() && built.contains(&package.id));
    let mut sources = BTreeSet::from([metadata.workspace_root.join("Cargo.toml")]);
    for package in local {
        sources.insert(package.manifest_path.clone());
        sources.insert(package.manifest_path.with_file_name("src"));
        let targets = package.targets.iter();
        let built = targets.filter(|target| !target.is_test() && !target.is_bench() && !target.is_example());
        sources.extend(built.map(|target| target.src_path.clone()));
    }
    sources.into_iter().map(Into::into).collect()
}

/// Returns a package and its transitive dependencies, without dev-dependencies.
pub(super) fn build_dependencies(metadata: &Metadata, package: &PackageId) -> BTreeSet<PackageId> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: HashMap<_, _> = nodes.map(|node| (&node.id, node)).collect();
    let (mut found, mut next) = (BTreeSet::new(), vec![package]);
    while let Some(package) = next.pop() {
        if !found.insert(package) {
            continue;
        }
        let needed = nodes.get(package).into_iter().flat_map(|node| &node.deps);
        let needed = needed.filter(|needed| {
            let mut kinds = needed.dep_kinds.iter();
            kinds.any(|kind| kind.kind != DependencyKind::Development)
        });
        next.extend(needed.map(|needed| &needed.pkg));
    }
    found.into_iter().cloned().collect()
}

#[cfg(test)]
#[path = "source_paths_tests.rs"]
mod tests;

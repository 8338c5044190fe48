//! `kubewright import`: writes typed structs of kinds that other projects define.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    path::Path,
};

use super::source_edits::{self, edit};
use crate::{
    Context, Error,
    args::Import,
    error::ImportError,
    format::format_rust,
    imports::{self, Definition},
    migration,
    names::ApiVersion,
    ownership::managed::{self, Resolution},
    plan::{self, IoError, Plan, slashed},
    project::Project,
    source::{self, SourceFile},
    yaml,
};

/// Imports the kinds of a file or of a cluster's definition.
pub fn run(args: &Import, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let definitions = definitions(args, &project, context)?;
    let sources = source_edits::read_sources(&project)?;
    let plan = plan(args, &definitions, &project, &sources, context)?;
    let kinds: Vec<_> = definitions.iter().map(|definition| &*definition.kind).collect();
    if plan.is_empty() && !args.write.dry_run {
        let kinds = kinds.join(", ");
        return context.message(format_args!("{kinds}: already imported, nothing to do"));
    }
    if !source_edits::apply(&plan, &project, args.write, context)? {
        return Ok(());
    }
    let kind = kinds.first().copied().unwrap_or_default();
    context.message(format_args!(
        "\nnext:\n  cargo check\n  kubewright add controller {kind}  # or --owns {kind}"
    ))
}

/// Reads the selected definitions.
fn definitions(args: &Import, project: &Project, context: &Context<'_>) -> Result<Vec<Definition>, Error> {
    let mut crds = match &args.cluster {
        Some(cluster) => {
            let found = migration::definition(cluster, &args.source)?;
            vec![found.ok_or_else(|| ImportError::NotInstalled(args.source.clone()))?]
        }
        None => from_file(&args.source, context)?,
    };
    let kind_of = |crd: &serde_json::Value| {
        crd["spec"]["names"]["kind"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let known: Vec<String> = crds.iter().map(kind_of).collect();
    if let Some(kind) = args.kind.iter().find(|kind| !known.contains(kind)) {
        let (input, kind) = (args.source.clone(), kind.clone());
        return Err(ImportError::UnknownKind { input, kind, known }.into());
    }
    if !args.kind.is_empty() {
        crds.retain(|crd| args.kind.contains(&kind_of(crd)));
    }
    let descriptions = args.descriptions.unwrap_or(project.settings.descriptions);
    let version = args.api_version.as_ref().map(ApiVersion::as_str);
    let read = |crd| Definition::of(&descriptions.apply(crd), version);
    let mut definitions: Vec<Definition> = Vec::new();
    for definition in crds.iter().map(read) {
        let definition = definition?;
        // Concatenated bundles repeat definitions.
        let is_same = |found: &&Definition| found.name == definition.name && found.kind == definition.kind;
        match definitions.iter().find(is_same) {
            None => definitions.push(definition),
            Some(found) if *found == definition => {}
            Some(_) => {
                let (input, name) = (args.source.clone(), definition.name);
                return Err(ImportError::Twice { input, name }.into());
            }
        }
    }
    Ok(definitions)
}

fn from_file(input: &str, context: &Context<'_>) -> Result<Vec<serde_json::Value>, Error> {
    let (name, text) = if input == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|source| IoError::new("read", "standard input", source))?;
        ("standard input", text)
    } else {
        let path = context.cwd.join(input);
        let missing = || IoError::new("read", &path, std::io::ErrorKind::NotFound.into());
        (input, plan::read(&path)?.ok_or_else(missing)?)
    };
    let documents = yaml::read_all(&text).map_err(|error| ImportError::Yaml {
        input: name.to_owned(),
        line: error.line().unwrap_or(1),
        message: error.to_string(),
    })?;
    let found = imports::definitions(documents);
    if found.is_empty() {
        return Err(ImportError::NoDefinition(name.to_owned()).into());
    }
    Ok(found)
}

/// Plans the modules of the kinds, their declarations, and the copies of the definitions.
fn plan(
    args: &Import,
    definitions: &[Definition],
    project: &Project,
    sources: &[SourceFile],
    context: &Context<'_>,
) -> Result<Plan, Error> {
    check_modules(definitions)?;
    let mut plan = Plan::default();
    let code: Vec<_> = definitions.iter().map(Definition::code).collect();
    for (definition, code) in definitions.iter().zip(format_rust(context, &code)?) {
        let path = definition.module_path();
        check_module(definition, &path, project, sources)?;
        let resolution = if args.overwrite || project.read(&path)?.is_none() {
            Resolution::TakeTheirs
        } else if args.keep {
            Resolution::KeepOurs
        } else {
            Resolution::Report
        };
        if let Some(conflict) = managed::plan(&mut plan, &project.root, &path, &code, resolution)? {
            let (path, conflict) = (slashed(&path), conflict.to_string());
            return Err(ImportError::Conflict { path, conflict }.into());
        }
        let stored = imports::stored_path(definition);
        plan.write(&stored, project.read(&stored)?, imports::stored_text(definition)?);
    }
    declare_modules(&mut plan, definitions, project)?;
    Ok(plan)
}

/// Refuses definitions that would be written to the same file.
fn check_modules(definitions: &[Definition]) -> Result<(), ImportError> {
    let mut paths = BTreeMap::new();
    for definition in definitions {
        let path = definition.module_path();
        let name = format!("{} ({})", definition.kind, definition.name);
        if let Some(one) = paths.insert(path.clone(), name.clone()) {
            return Err(ImportError::SameModule {
                one,
                other: name,
                path: slashed(&path),
            });
        }
    }
    Ok(())
}

/// Refuses a module that exists and is about something else.
fn check_module(
    definition: &Definition,
    path: &Path,
    project: &Project,
    sources: &[SourceFile],
) -> Result<(), Error> {
    if project.read(path)?.is_none() {
        return Ok(());
    }
    let kinds = source::project_kinds(sources);
    let found = kinds
        .iter()
        .find(|found| found.path == path)
        .map(|found| &found.kind);
    if found.is_some_and(|found| found.group == definition.group && found.kind == definition.kind) {
        return Ok(());
    }
    Err(ImportError::ModuleExists {
        path: slashed(path),
        parent: slashed(path.parent().unwrap_or(path)),
        module: definition.module(),
        found: found.map_or("no kind".to_owned(), |found| {
            format!("{}.{}", found.kind, found.group)
        }),
        name: definition.name.clone(),
    }
    .into())
}

/// Plans the declarations of the modules, from the crate's root down.
fn declare_modules(plan: &mut Plan, definitions: &[Definition], project: &Project) -> Result<(), Error> {
    source_edits::declare(plan, project, "api")?;
    edit(plan, project, &["src/api/mod.rs", "src/api.rs"], &|text| {
        source::declare_module(text, "imported")
    })?;
    let mut groups: BTreeMap<String, (&str, BTreeSet<String>)> = BTreeMap::new();
    for definition in definitions {
        let group = groups.entry(definition.group_module());
        group
            .or_insert((&definition.group, BTreeSet::new()))
            .1
            .insert(definition.module());
    }
    let root = format!("{}/mod.rs", imports::MODULES);
    edit(plan, project, &[&root], &|text| {
        let start = if text.is_empty() {
            imports::MODULE_DOC
        } else {
            text
        };
        let declare = |text: String, group: &String| source::declare_module(&text, group);
        groups.keys().try_fold(start.to_owned(), declare)
    })?;
    for (module, (group, kinds)) in &groups {
        let path = format!("{}/{module}/mod.rs", imports::MODULES);
        edit(plan, project, &[&path], &|text| {
            let start = if text.is_empty() {
                imports::group_module_doc(group)
            } else {
                text.to_owned()
            };
            kinds
                .iter()
                .try_fold(start, |text, kind| source::declare_module(&text, kind))
        })?;
    }
    Ok(())
}

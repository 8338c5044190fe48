//! Which types of a version's file are converted with it.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Fields, GenericArgument, Item, ItemStruct, PathArguments, Type, spanned::Spanned as _};

use super::{attributes::kube_literals, insertion::SourceText};

/// The types of a file that occur in a kind's spec and status.
pub(super) struct ConvertedTypes<'a> {
    /// All types of the file.
    items: BTreeMap<String, &'a Item>,
    /// The names of the types that occur.
    pub(super) converted: BTreeSet<String>,
    /// What `derive(Convert)` cannot convert, with its lines.
    pub(super) problems: Vec<(usize, String)>,
}

impl<'a> ConvertedTypes<'a> {
    pub(super) fn of(source: &'a SourceText<'_>, item: &ItemStruct) -> Self {
        let name = |item: &Item| match item {
            Item::Struct(item) => Some(item.ident.to_string()),
            Item::Enum(item) => Some(item.ident.to_string()),
            Item::Type(item) => Some(item.ident.to_string()),
            _ => None,
        };
        let items = source.file.items.iter();
        let mut types = Self {
            items: items.filter_map(|item| Some((name(item)?, item))).collect(),
            converted: BTreeSet::new(),
            problems: Vec::new(),
        };
        types.add(&item.ident.to_string());
        for (_, status) in kube_literals(&item.attrs)
            .iter()
            .filter(|(key, _)| key == "status")
        {
            let line = status.span().start().line;
            let status = status.value();
            if types.items.contains_key(&status) {
                types.add(&status);
            } else {
                types.problems.push((
                    line,
                    format!("the status {status} is not in this file: if it derives no `Convert`, add it there with `#[convert(hub = {status})]`"),
                ));
            }
        }
        types.problems.sort();
        types.problems.dedup();
        types
    }

    /// Returns the attributes of a type, with its name.
    pub(super) fn attributes(&self, name: &'a str) -> Option<(&'a str, &'a [Attribute])> {
        match self.items.get(name)? {
            Item::Struct(item) => Some((name, &item.attrs)),
            Item::Enum(item) => Some((name, &item.attrs)),
            _ => None,
        }
    }

    /// Adds a type of the file, and those of its fields.
    fn add(&mut self, name: &str) {
        let Some(item) = self.items.get(name).copied() else {
            return;
        };
        let (generics, fields): (_, Vec<&Fields>) = match item {
            Item::Struct(item) => (&item.generics, vec![&item.fields]),
            Item::Enum(item) => {
                let fields = item.variants.iter().map(|variant| &variant.fields);
                (&item.generics, fields.collect())
            }
            Item::Type(item) => return self.add_types_of(&item.ty, true, name),
            _ => return,
        };
        if !generics.params.is_empty() {
            let line = generics.span().start().line;
            let problem = format!(
                "`Convert` is not derived for {name}, which has generic parameters: implement `kubewright::conversion::Convert` for it"
            );
            self.problems.push((line, problem));
            return;
        }
        if !self.converted.insert(name.to_owned()) {
            return;
        }
        for field in fields.into_iter().flatten() {
            let field_name = field.ident.as_ref().map_or_else(String::new, ToString::to_string);
            let place = format!("{name}.{field_name}");
            self.add_types_of(&field.ty, true, place.trim_end_matches('.'));
        }
    }

    /// Adds the types in a field's type. `converts` says whether the types around it convert when it does.
    fn add_types_of(&mut self, ty: &Type, converts: bool, place: &str) {
        match ty {
            Type::Group(group) => self.add_types_of(&group.elem, converts, place),
            Type::Paren(paren) => self.add_types_of(&paren.elem, converts, place),
            Type::Array(array) => self.add_types_of(&array.elem, false, place),
            Type::Tuple(tuple) => tuple
                .elems
                .iter()
                .for_each(|ty| self.add_types_of(ty, false, place)),
            Type::Path(path) => {
                let segments = &path.path.segments;
                let Some(last) = segments.last() else { return };
                let name = last.ident.to_string();
                let is_local = segments.len() == 1 || (segments.len() == 2 && segments[0].ident == "self");
                if is_local && self.items.contains_key(&name) {
                    if !converts {
                        let line = last.ident.span().start().line;
                        let problem = format!(
                            "{place} has {name} in a type that does not convert with it: add `#[convert(with = module)]` to the field"
                        );
                        self.problems.push((line, problem));
                    }
                    self.add(&name);
                }
                let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                    return;
                };
                let types = arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                });
                for (at, ty) in types.enumerate() {
                    let is_converted = match &*name {
                        "Option" | "Vec" | "Box" => at == 0,
                        "BTreeMap" | "HashMap" => at == 1,
                        _ => false,
                    };
                    self.add_types_of(ty, converts && is_converted, place);
                }
            }
            _ => {}
        }
    }
}

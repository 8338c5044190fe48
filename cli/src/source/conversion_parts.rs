//! The parts of a type with `derive(Convert)`, by their lines.

use syn::{
    Attribute, ItemEnum, ItemStruct,
    spanned::Spanned as _,
    visit::{self, Visit},
};

use super::{attributes, insertion::SourceText};

/// A part of a type that derives `Convert`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversionPart {
    /// An attribute of a struct.
    StructAttribute,
    /// A field of a struct, with its attributes.
    Field,
    /// An attribute of an enum.
    EnumAttribute,
    /// A variant of an enum, with its attributes and fields.
    Variant,
}

/// Returns the part that a line of a file is in. None if it is in no such type, or the file does not parse.
pub fn conversion_part(text: &str, line: usize) -> Option<ConversionPart> {
    let source = SourceText::parse(text).ok()?;
    let mut visitor = PartVisitor { line, found: None };
    visitor.visit_file(&source.file);
    visitor.found
}

struct PartVisitor {
    line: usize,
    found: Option<ConversionPart>,
}

impl PartVisitor {
    fn visit_type(
        &mut self,
        attributes: &[Attribute],
        item: proc_macro2::Span,
        in_attribute: ConversionPart,
        below: ConversionPart,
    ) {
        let contains = |span: proc_macro2::Span| (span.start().line..=span.end().line).contains(&self.line);
        if !contains(item) || !attributes::derives(attributes, "Convert") {
            return;
        }
        let is_in_attribute = attributes.iter().any(|attribute| contains(attribute.span()));
        self.found = Some(if is_in_attribute { in_attribute } else { below });
    }
}

impl<'ast> Visit<'ast> for PartVisitor {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        let (attribute, field) = (ConversionPart::StructAttribute, ConversionPart::Field);
        self.visit_type(&item.attrs, item.span(), attribute, field);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        let (attribute, variant) = (ConversionPart::EnumAttribute, ConversionPart::Variant);
        self.visit_type(&item.attrs, item.span(), attribute, variant);
        visit::visit_item_enum(self, item);
    }
}

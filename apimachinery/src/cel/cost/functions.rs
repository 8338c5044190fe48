//! The costs of functions.

use super::bounds::Bounds;
use super::estimator::{CallCost, NEW_LIST, Operand};
use super::size::{REGEX, Size, TRAVERSAL, scale};
use crate::cel::checker::Type;
use crate::cel::macros;
use kube_cel::cel::common::ast::{Expr, LiteralValue};

/// Returns the cost of a call beside that of its operands.
pub(super) fn call_cost(
    name: &str,
    target: Option<&Operand<'_>>,
    args: &[Operand<'_>],
    bounds: &Bounds,
) -> CallCost {
    match (name, target, args) {
        ("format", Some(text), _)
        | ("startsWith" | "endsWith", Some(_), [text])
        | (
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
            None,
            [text, ..],
        ) => without_result(text.size().traversal()),
        // The function of two arguments has a constant cost.
        ("matches", Some(text), [regex]) => without_result(text.size().regex_match(regex.size())),
        ("contains", Some(text), [part]) => {
            without_result(text.size().traversal().saturating_mul(part.size().traversal()))
        }
        ("find" | "findAll", Some(text), [regex, ..]) => {
            let cost = text.size().regex_match(regex.size());
            with_result(cost, Size::up_to(text.size().max))
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) | ("url", None, [text]) => {
            with_result(text.size().traversal(), text.size())
        }
        ("strings.quote", None, [text]) => {
            // kube-apiserver's sum overflows, too.
            let min = text.size().min.wrapping_add(2);
            let max = text.size().max.wrapping_mul(2).wrapping_add(2);
            with_result(text.size().traversal(), Size { min, max })
        }
        ("replace", Some(text), [from, to, ..]) => {
            let cost = scale(text.size().max, 2.0 * TRAVERSAL);
            with_result(cost, replaced(text.size(), from.size(), to.size()))
        }
        ("split", Some(text), _) => {
            let cost = scale(text.size().max, 2.0 * TRAVERSAL);
            with_result(cost, Size::up_to(split_parts(text.size(), args)))
        }
        ("join", Some(list), _) => {
            let size = joined(list, args, bounds);
            with_result(size.traversal(), size)
        }
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(list), _) => {
            without_result(search(list, bounds))
        }
        ("reverse", Some(list), []) => allocating(1.0, list.size()),
        ("distinct", Some(list), []) => allocating(2.0, list.size().multiply(list.size())),
        ("sort", Some(keys), []) | (macros::SORT_BY_KEYS, None, [_, keys]) => {
            let has_texts = item_type(&keys.ty).is_none_or(|item| is_text(item) || *item == Type::Dyn);
            let factor = if has_texts { 2.0 + TRAVERSAL } else { 2.0 };
            allocating(factor, keys.size().multiply(keys.size()))
        }
        ("flatten", Some(list), depth) => {
            let depth = depth
                .first()
                .map_or(1, |depth| integer(depth).unwrap_or(u64::MAX));
            #[expect(clippy::cast_precision_loss, reason = "as kube-apiserver computes")]
            allocating(depth as f64, list.size())
        }
        ("slice", Some(list), [start, end]) => {
            let start = integer(start).unwrap_or_default();
            let end = integer(end).unwrap_or(list.size().max);
            allocating(1.0, Size::fixed(end.wrapping_sub(start)))
        }
        ("lists.range", None, [length]) => allocating(1.0, Size::fixed(integer(length).unwrap_or(u64::MAX))),
        ("sets.contains" | "sets.intersects", None, [left, right]) => sets(1, left, right),
        ("sets.equivalent", None, [left, right]) => sets(2, left, right),
        ("ip.isCanonical", None, [text]) => without_result(scale(text.size().max, 2.0 * TRAVERSAL)),
        ("containsIP", Some(_), [address]) => without_result(4_u64.saturating_add(parse_address(address))),
        ("containsCIDR", Some(_), [range]) => without_result(7_u64.saturating_add(parse_address(range))),
        ("validate", Some(_), [text]) => {
            const LONGEST_REGEX: f64 = 128.0;
            without_result(scale(text.size().traversal(), LONGEST_REGEX * REGEX))
        }
        _ => without_result(1),
    }
}

/// The cost of a call whose result has no known size.
pub(super) fn without_result(cost: u64) -> CallCost {
    CallCost { cost, size: None }
}

/// The cost of a call whose result has this size.
pub(super) fn with_result(cost: u64, size: Size) -> CallCost {
    let size = Some(size);
    CallCost { cost, size }
}

/// The cost of a function that makes a list.
fn allocating(factor: f64, size: Size) -> CallCost {
    with_result(scale(size.max, factor).saturating_add(1 + NEW_LIST), size)
}

fn sets(comparisons: u64, left: &Operand<'_>, right: &Operand<'_>) -> CallCost {
    let pairs = left.size().multiply(right.size()).max;
    without_result(pairs.saturating_mul(comparisons).saturating_add(1))
}

/// The cost of parsing an argument that may be an address or the text of one.
fn parse_address(address: &Operand<'_>) -> u64 {
    let may_be_text = matches!(&address.ty, Type::Simple("string") | Type::Dyn);
    if may_be_text {
        address.size().traversal()
    } else {
        0
    }
}

/// The cost of comparing all items of a list, or of searching a text.
fn search(list: &Operand<'_>, bounds: &Bounds) -> u64 {
    let Some(item) = item_type(&list.ty) else {
        return list.size().traversal();
    };
    let of_item = if is_text(item) {
        item_size(list, bounds).traversal().saturating_add(1)
    } else {
        1
    };
    list.size().max.saturating_mul(of_item)
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Simple("string" | "bytes"))
}

/// The first parameter of a type.
fn item_type(ty: &Type) -> Option<&Type> {
    match ty {
        Type::List(item) | Type::Map(item, _) | Type::Optional(item) => Some(item),
        _ => None,
    }
}

/// The size of the items of a list, which is known only if it is a field.
fn item_size(list: &Operand<'_>, bounds: &Bounds) -> Size {
    if list.path.names().is_empty() {
        return Size::UNKNOWN;
    }
    bounds
        .size_at(&list.path.copy_and_append("@items"))
        .unwrap_or(Size::UNKNOWN)
}

fn joined(list: &Operand<'_>, args: &[Operand<'_>], bounds: &Bounds) -> Size {
    let items = if item_type(&list.ty).is_some() {
        list.size().multiply(item_size(list, bounds))
    } else {
        Size::fixed(0)
    };
    let Some(separator) = args.first() else {
        return items;
    };
    let separators = Size {
        min: list.size().min.saturating_sub(1),
        max: list.size().max.saturating_sub(1),
    };
    items.add(separator.size().multiply(separators))
}

/// The most parts of a text that is split: one for each character, if no argument limits them.
fn split_parts(text: Size, args: &[Operand<'_>]) -> u64 {
    match args.get(1).map(|limit| &limit.expression.expr) {
        #[expect(clippy::cast_sign_loss, reason = "as kube-apiserver converts: -1 is no limit")]
        Some(Expr::Literal(LiteralValue::Int(limit))) => *limit.inner() as u64,
        _ => text.max,
    }
}

/// The size of a text after all occurrences of one part were replaced by another.
fn replaced(text: Size, from: Size, to: Size) -> Size {
    // Nothing is before, between and after all characters; a longest result has the shortest part replaced by the longest one.
    let (most, kept_at_most) = if from.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if to.max <= from.min {
        (0, text.max)
    } else {
        (parts(text.max, from.min), 0)
    };
    let (least, kept_at_least) = if from.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if from.max <= to.min {
        (0, text.min)
    } else {
        (parts(text.min, from.max), 0)
    };
    Size {
        min: least,
        max: most,
    }
    .multiply(to)
    .add(Size {
        min: kept_at_least,
        max: kept_at_most,
    })
}

/// How many parts of a length a text has.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "as kube-apiserver rounds; the cast saturates"
)]
fn parts(text: u64, part: u64) -> u64 {
    (text as f64 / part as f64).ceil() as u64
}

/// The value of an argument that is an integer literal; a negative one is zero.
fn integer(arg: &Operand<'_>) -> Option<u64> {
    match &arg.expression.expr {
        Expr::Literal(LiteralValue::Int(value)) => Some(u64::try_from(*value.inner()).unwrap_or_default()),
        _ => None,
    }
}

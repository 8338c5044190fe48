//! The functions that kube-cel lacks, or that return something else there than on kube-apiserver.
//!
//! Reading order: `conversions`, `texts`, `searches`, `regexps`, `formatting` with `string_format`, `lists`, `times`,
//! `addresses`, `url`, `quantities`, `named_formats`.

mod addresses;
mod conversions;
mod formatting;
mod lists;
mod named_formats;
mod quantities;
mod regexps;
mod searches;
pub(super) mod string_format;
mod texts;
mod times;
mod url;

pub(super) use conversions::text_of;

use super::lowering::{call, unnumbered};
use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::{Context, ResolveResult, Value};

thread_local! {
    static ORIGINAL: Context<'static> = Context::default().with_all();
}

/// Adds the functions.
pub(crate) fn register(context: &mut Context<'_>) {
    addresses::register(context);
    conversions::register(context);
    formatting::register(context);
    lists::register(context);
    named_formats::register(context);
    quantities::register(context);
    regexps::register(context);
    searches::register(context);
    texts::register(context);
    times::register(context);
    url::register(context);
}

/// Calls the function that is replaced.
fn original(function: &str, value: Value) -> ResolveResult {
    ORIGINAL.with(|context| call_function(context, function, value))
}

/// Calls a function of one argument.
pub(super) fn call_function(context: &Context<'_>, function: &str, value: Value) -> ResolveResult {
    let mut scope = context.new_inner_scope();
    scope.add_variable_from_value("value", value);
    let argument = unnumbered(Expr::Ident("value".to_owned()));
    Value::resolve(&unnumbered(call(function, vec![argument])), &scope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_cel::cel::Program;

    #[test]
    fn functions_return_what_those_of_the_real_server_return() {
        let mut context = Context::default().with_all();
        register(&mut context);
        for rule in [
            "'é'.size() == 1 && size('abc') == 3 && size([1, 2]) == 2 && size({'a': 1}) == 1 && size(b'ab') == 2",
            "lists.range(3) == [0, 1, 2] && [1, 2].first().value() == 1 && [1, 2].last().value() == 2",
            "string(true) == 'true' && string(1e100) == '1e+100' && string(123456789.0) == '1.23456789e+08'",
            "string(duration('5m')) == '300s' && string(duration('-1500ms')) == '-1.5s' && string(duration('-500us')) == '-0.0005s'",
            "timestamp(timestamp('2020-01-01T00:00:00Z')) == timestamp(1577836800) && int(timestamp(7)) == 7 && int('8') == 8",
            "duration(duration('1s')) == duration('1000ms') && bytes(bytes('a')) == b'a' && int(2.9) == 2",
            "'abc'.split('') == ['a', 'b', 'c'] && 'abc'.split('', 2) == ['a', 'bc'] && 'a,b'.split(',', 0) == [] && ''.split('') == []",
            "'a,b,c'.split(',', -1) == ['a', 'b', 'c'] && 'aaa'.replace('a', 'b', -1) == 'bbb' && 'aaa'.replace('a', 'b', 2) == 'bba'",
            "string(2.5) == '2.5' && string(7) == '7' && string('a') == 'a' && string(ip('127.0.0.1')) == '127.0.0.1'",
            "string(timestamp('2020-01-01T00:00:00Z')) == '2020-01-01T00:00:00Z'",
            "string(timestamp('2020-01-01T00:00:00.120+02:00')) == '2020-01-01T00:00:00.12+02:00'",
        ] {
            let result = Program::compile(rule).unwrap().execute(&context);
            assert!(matches!(result, Ok(Value::Bool(true))), "{rule}: {result:?}");
        }
    }
}

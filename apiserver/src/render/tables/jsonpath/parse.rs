//! Parsing of JSON paths. The methods return `None` if the path is invalid.

use super::{Filter, Node, Slice};
use serde_json::{Value, json};

/// Parses a template: texts, and paths in braces.
pub(super) fn parse(template: &str) -> Option<Vec<Vec<Node>>> {
    let (mut parts, mut rest) = (Vec::new(), template);
    while !rest.is_empty() {
        let (text, after) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
        if !text.is_empty() {
            parts.push(vec![Node::Literal(json!(text))]);
        }
        rest = after;
        if let Some(path) = after.strip_prefix('{') {
            let mut parser = Parser {
                rest: path,
                nodes: Vec::new(),
            };
            parser.nodes()?;
            parts.push(parser.nodes);
            rest = parser.rest;
        }
    }
    Some(parts)
}

/// Parses a path without braces.
fn parse_nodes(path: &str) -> Option<Vec<Node>> {
    parse(&format!("{{{path}}}"))?.into_iter().next()
}

struct Parser<'a> {
    rest: &'a str,
    nodes: Vec<Node>,
}

impl<'a> Parser<'a> {
    /// Parses the nodes up to the closing brace.
    fn nodes(&mut self) -> Option<()> {
        loop {
            if self.skip("[?(") {
                self.filter()?;
                continue;
            }
            if self.skip("..") {
                if self.nodes.last() == Some(&Node::Recursive) {
                    return None;
                }
                self.nodes.push(Node::Recursive);
                if self.rest.starts_with(is_alphanumeric) {
                    self.field();
                }
                continue;
            }
            let next = self.rest.chars().next()?;
            let after = &self.rest[next.len_utf8()..];
            match next {
                '}' => {
                    self.rest = after;
                    return Some(());
                }
                ' ' | '@' | '$' => self.rest = after,
                '[' => {
                    self.rest = after;
                    let node = self.array()?;
                    self.nodes.extend(node);
                }
                '"' | '\'' => {
                    self.rest = after;
                    self.quoted(next)?;
                }
                '.' => {
                    self.rest = after;
                    self.field();
                }
                '+' | '-' => self.number()?,
                _ if next.is_numeric() => self.number()?,
                _ if is_alphanumeric(next) => {
                    let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
                    let node = match self.take(end) {
                        "true" => Node::Literal(json!(true)),
                        "false" => Node::Literal(json!(false)),
                        _ => Node::Keyword,
                    };
                    self.nodes.push(node);
                }
                _ => return None,
            }
        }
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn field(&mut self) {
        let (mut is_escaped, mut end) = (false, self.rest.len());
        for (at, c) in self.rest.char_indices() {
            if !is_escaped && is_terminator(c) {
                end = at;
                break;
            }
            is_escaped = !is_escaped && c == '\\';
        }
        let node = match self.take(end) {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        };
        self.nodes.push(node);
    }

    fn number(&mut self) -> Option<()> {
        let digits = self.rest.strip_prefix(['+', '-']).unwrap_or(self.rest);
        let sign = self.rest.len() - digits.len();
        let end = digits
            .find(|c: char| c != '.' && !c.is_numeric())
            .unwrap_or(digits.len());
        let text = self.take(sign + end);
        let integer = text.parse::<i64>().ok().map(Value::from);
        let number = integer.or_else(|| text.parse::<f64>().ok().map(Value::from))?;
        self.nodes.push(Node::Literal(number));
        Some(())
    }

    /// Parses a text up to its closing quote.
    fn quoted(&mut self, quote: char) -> Option<()> {
        let end = end_of_quote(self.rest, quote)?;
        let text = self.take(end + 1).strip_suffix(quote)?;
        if text.contains('\n') {
            return None;
        }
        self.nodes.push(Node::Literal(json!(unescape(text, quote)?)));
        Some(())
    }

    /// Parses what is in brackets: an index, a slice, a union of these, or a name in single quotes.
    fn array(&mut self) -> Option<Vec<Node>> {
        let (text, rest) = self.rest.split_once(']')?;
        self.rest = rest;
        if text.contains('\n') {
            return None;
        }
        if text.contains(',') {
            let members = text
                .split(',')
                .map(|member| parse_nodes(&format!("[{}]", member.trim_matches(' '))));
            return Some(vec![Node::Union(members.collect::<Option<_>>()?)]);
        }
        if let Some(name) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))
            && !name.contains('\'')
        {
            return parse_nodes(&format!(".{name}"));
        }
        let text = if text == "*" { ":" } else { text };
        let parts: Vec<&str> = text.split(':').collect();
        let known = |at: usize| match parts.get(at).copied().filter(|part| !part.is_empty()) {
            None => Some(None),
            Some(part) => {
                let digits = part.strip_prefix('-').unwrap_or(part);
                let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
                part.parse().ok().filter(|_| is_number).map(Some)
            }
        };
        (parts.len() <= 3).then_some(())?;
        let (start, end, step) = (known(0)?, known(1)?, known(2)?);
        let is_index = parts.len() == 1;
        let end = if is_index {
            Some(start.unwrap_or(0) + 1)
        } else {
            end
        };
        Some(vec![Node::Slice(Slice {
            start,
            end,
            step,
            is_index,
        })])
    }

    /// Parses a filter after its opening parenthesis.
    fn filter(&mut self) -> Option<()> {
        let end = end_of_filter(self.rest)?;
        let text = self.take(end);
        self.skip(")]").then_some(())?;
        let is_operator = |c: char| "!<>=".contains(c);
        let left = text.find(is_operator).filter(|left| *left > 0);
        let operator = left.map_or("", |left| {
            let end = text[left..].find(|c| !is_operator(c));
            &text[left..end.map_or(text.len(), |end| left + end)]
        });
        let filter = match left.filter(|left| left + operator.len() < text.len()) {
            None => Filter {
                left: parse_nodes(text)?,
                operator: None,
                right: Vec::new(),
            },
            Some(left) => Filter {
                left: parse_nodes(&text[..left])?,
                operator: Some(operator.to_owned()),
                right: parse_nodes(&text[left + operator.len()..])?,
            },
        };
        self.nodes.push(Node::Filter(filter));
        Some(())
    }
}

/// Returns the place of the parenthesis that ends a filter: after a quote, the next one that follows the closing quote.
fn end_of_filter(text: &str) -> Option<usize> {
    let (mut quote, mut is_closed, mut previous) = (None, false, '(');
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '"' | '\'' => is_closed |= previous != '\\' && quote == Some(c),
            ')' if quote.is_some() == is_closed => return Some(at),
            _ => {}
        }
        previous = c;
    }
    None
}

fn end_of_quote(text: &str, quote: char) -> Option<usize> {
    let mut quotes = text.match_indices(quote).map(|(at, _)| at);
    quotes.find(|at| !text[..*at].ends_with('\\'))
}

/// Resolves the escapes of a quoted text. Escapes of codes are not supported.
fn unescape(text: &str, quote: char) -> Option<String> {
    let (mut unescaped, mut characters) = (String::new(), text.chars());
    while let Some(c) = characters.next() {
        unescaped.push(match c {
            '\\' => match characters.next()? {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                c if c == '\\' || c == quote => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(unescaped)
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn is_terminator(c: char) -> bool {
    " \t\r\n.,[]$@{}".contains(c)
}

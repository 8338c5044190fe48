//! Label selectors: `app=web,tier in (front, back),!legacy`.

use crate::meta::names;
use crate::status::ApiError;
use serde_json::{Map, Value};

/// Requirements on labels. An empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses a selector. Common errors have the messages of the real server's parser.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        let requirements = parser.requirements().map_err(ApiError::bad_request)?;
        Ok(Self { requirements })
    }

    /// Parses the structured form, `matchLabels` and `matchExpressions`; none if it is malformed.
    pub fn from_value(value: &Value) -> Option<Self> {
        let mut requirements = vec![];
        for (key, value) in value["matchLabels"].as_object().into_iter().flatten() {
            requirements.push(Requirement {
                key: key.clone(),
                operator: Operator::In(vec![value.as_str()?.to_owned()]),
            });
        }
        for expression in value["matchExpressions"].as_array().into_iter().flatten() {
            let values = || {
                let values = expression["values"].as_array().into_iter().flatten();
                values
                    .filter_map(|value| value.as_str().map(str::to_owned))
                    .collect()
            };
            requirements.push(Requirement {
                key: expression["key"].as_str()?.to_owned(),
                operator: match expression["operator"].as_str()? {
                    "In" => Operator::In(values()),
                    "NotIn" => Operator::NotIn(values()),
                    "Exists" => Operator::Exists,
                    "DoesNotExist" => Operator::Absent,
                    _ => return None,
                },
            });
        }
        Some(Self { requirements })
    }

    /// Whether the selector matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the selector matches the object's labels.
    pub fn matches(&self, object: &Value) -> bool {
        self.is_empty() || self.matches_labels(object["metadata"]["labels"].as_object())
    }

    /// Whether the selector matches these labels.
    pub fn matches_labels(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = labels
                .and_then(|labels| labels.get(&requirement.key))
                .and_then(Value::as_str);
            match (&requirement.operator, value) {
                (Operator::Exists, value) => value.is_some(),
                (Operator::Absent, value) => value.is_none(),
                (Operator::In(values), value) => value.is_some_and(|value| values.iter().any(|v| v == value)),
                (Operator::NotIn(values), value) => {
                    value.is_none_or(|value| values.iter().all(|v| v != value))
                }
                (Operator::Greater(than), value) => number(value).is_some_and(|value| value > *than),
                (Operator::Less(than), value) => number(value).is_some_and(|value| value < *than),
            }
        })
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

/// Splits a selector into words and the operators `=`, `==`, `!=`, `!`, `(`, `)`, `,`, `>`, `<`.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (vec![], text.trim_start());
    while !rest.is_empty() {
        let sign = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"]
            .into_iter()
            .find(|sign| rest.starts_with(sign));
        let length = match sign {
            Some(sign) => sign.len(),
            None => rest
                .find(|c: char| c.is_whitespace() || "=!(),><".contains(c))
                .unwrap_or(rest.len()),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Parser<'a> {
    tokens: Vec<&'a str>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).copied().unwrap_or("")
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = vec![];
        loop {
            match self.peek() {
                "" => return Ok(requirements),
                token if token != "!" && !is_value_token(token) => {
                    return Err(format!(
                        "found '{token}', expected: !, identifier, or 'end of string'"
                    ));
                }
                _ => {
                    let requirement = self.requirement();
                    requirements
                        .push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
                }
            }
            match self.next() {
                "" => return Ok(requirements),
                "," if self.peek().is_empty() || self.peek() == "," => {
                    return Err(format!("found '{}', expected: identifier after ','", self.peek()));
                }
                "," => {}
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == "!";
        if absent {
            self.at += 1;
        }
        let key = self.next();
        if !is_value_token(key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        if let Some(why) = names::qualified_name_errors(key).first() {
            return Err(format!(r#"<nil>: Invalid value: "{key}": {why}"#));
        }
        let operator = match self.peek() {
            _ if absent => Operator::Absent,
            "" | "," => Operator::Exists,
            _ => self.comparison(key)?,
        };
        Ok(Requirement {
            key: key.to_owned(),
            operator,
        })
    }

    fn comparison(&mut self, key: &str) -> Result<Operator, String> {
        let operator = self.next();
        Ok(match operator {
            "=" | "==" => Operator::In(vec![self.value(key)?]),
            "!=" => Operator::NotIn(vec![self.value(key)?]),
            "in" => Operator::In(self.values(key)?),
            "notin" => Operator::NotIn(self.values(key)?),
            ">" | "<" => {
                let value = self.value(key)?;
                let number = value.parse().map_err(|_| {
                    format!(
                        "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                    )
                })?;
                if operator == ">" {
                    Operator::Greater(number)
                } else {
                    Operator::Less(number)
                }
            }
            other => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        })
    }

    /// Parses one value, which may be empty.
    fn value(&mut self, key: &str) -> Result<String, String> {
        match self.peek() {
            "" | "," => Ok(String::new()),
            word if is_value_token(word) => {
                self.at += 1;
                check_value(key, word)
            }
            other => Err(format!("found '{other}', expected: identifier")),
        }
    }

    fn values(&mut self, key: &str) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != "(" {
            return Err(format!("found '{open}' expected: '('"));
        }
        let mut values = vec![];
        loop {
            match self.next() {
                ")" => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    return Ok(values);
                }
                "," => {
                    if values.is_empty() || matches!(self.peek(), "," | ")") {
                        values.push(String::new());
                    }
                }
                word if is_value_token(word) => {
                    values.push(check_value(key, word)?);
                    if !matches!(self.peek(), "," | ")") {
                        return Err(format!("found '{}', expected: ',' or ')'", self.peek()));
                    }
                }
                other if values.is_empty() => {
                    return Err(format!("found '{other}', expected: ',', ')' or identifier"));
                }
                other => return Err(format!("found '{other}', expected: ',', or identifier")),
            }
        }
    }
}

fn check_value(key: &str, value: &str) -> Result<String, String> {
    match names::label_value_errors(value).first() {
        Some(why) => Err(format!("values[0][{key}]: Invalid value: {value:?}: {why}")),
        None => Ok(value.to_owned()),
    }
}

fn is_value_token(token: &str) -> bool {
    !token.is_empty() && !token.starts_with(['=', '!', '(', ')', ',', '>', '<'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(selector: &str) -> bool {
        let object = json!({ "metadata": { "labels": { "app": "web", "n": "5" } } });
        LabelSelector::parse(selector).unwrap().matches(&object)
    }

    #[test]
    fn each_operator_matches() {
        for yes in [
            "",
            "app=web",
            "app==web",
            "app!=x",
            "other!=x",
            "app in (a, web)",
            "x notin (web)",
            "app",
            "!x",
            "n>4",
            "n<6",
            "app=web,n",
        ] {
            assert!(matches(yes), "{yes}");
        }
        for no in [
            "app=x",
            "app!=web",
            "app in (a,b)",
            "app notin (web)",
            "x",
            "!app",
            "n>5",
            "x>1",
            "app=",
        ] {
            assert!(!matches(no), "{no}");
        }
    }

    #[test]
    fn malformed_selectors_are_rejected() {
        for bad in [
            "a in", "a in (", "a b", ",", "a,", "a=b=c", "a>b", "(", "é=1", "!", "a=b,,c",
        ] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
        let error = LabelSelector::parse("a in").unwrap_err();
        assert_eq!(
            error.message,
            "unable to parse requirement: found '' expected: '('"
        );
    }

    #[test]
    fn structured_selectors_are_parsed() {
        let value = json!({
            "matchLabels": { "app": "web" }, "matchExpressions": [{ "key": "x", "operator": "DoesNotExist" }],
        });
        let selector = LabelSelector::from_value(&value).unwrap();
        assert!(selector.matches(&json!({ "metadata": { "labels": { "app": "web" } } })));
        assert!(!selector.matches(&json!({ "metadata": { "labels": { "app": "web", "x": "" } } })));
        assert!(LabelSelector::from_value(&json!({ "matchExpressions": [{ "key": "x" }] })).is_none());
    }
}

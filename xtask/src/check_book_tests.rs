use super::*;

/// Writes a book with one page, and returns its errors.
fn errors_of(page: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("docs/src");
    fs::create_dir_all(&book).unwrap();
    fs::write(
        book.join("SUMMARY.md"),
        "- [Page](page.md)\n- [Other](other.md)\n",
    )
    .unwrap();
    fs::write(book.join("other.md"), "# Other\n\n## What `it` is: a test_1\n").unwrap();
    fs::write(
        folder.path().join("code.rs"),
        "// ANCHOR: part\nfn part() {}\n// ANCHOR_END: part\n// ANCHOR: open\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("table.md"),
        "[no part of the page](none.md)\n<!-- ANCHOR: rows -->\n| a |\n<!-- ANCHOR_END: rows -->\n\
        <!-- ANCHOR: link -->\n[a](code.rs)\n<!-- ANCHOR_END: link -->\n",
    )
    .unwrap();
    fs::write(book.join("page.md"), page).unwrap();
    let errors = check_book(&book).unwrap();
    let prefix = format!("{}/page.md:", book.display());
    errors
        .into_iter()
        .map(|error| error.replace(&prefix, ""))
        .collect()
}

#[test]
fn correct_page_has_no_errors() {
    let page = "# Page\n[a](other.md) [b](other.md#what-it-is-a-test_1) [c](#page) [d](https://example.com/x#y) `[e](f)`\n\
        [h](https://github.com/kubewright/kubewright/blob/main/docs/src/other.md#other)\n\
        ```rust\n{{#include ../../code.rs:part}}\n```\n{{#include ../../table.md:rows}}\n```text\n[g](h)\n```\n";
    assert_eq!(errors_of(page), Vec::<String>::new());
}

#[test]
fn errors_name_the_line() {
    let cases = [
        (
            "\n[a](missing.md)",
            "2: link `missing.md`: the file does not exist",
        ),
        (
            "[a](other.md#it)",
            "1: link `other.md#it`: there is no such heading; headings: other, what-it-is-a-test_1",
        ),
        (
            "[a](../../code.rs)",
            "1: link `../../code.rs`: the book does not contain the file: link to the repository on the web",
        ),
        (
            "{{#include ../../table.md:link}}",
            "1: link `code.rs` in `../../table.md:link`: the file does not exist",
        ),
        (
            "{{#include ../../code.rs:none}}",
            "1: include `../../code.rs:none`: the file has no `ANCHOR: none` with its `ANCHOR_END`",
        ),
        (
            "{{#include ../../code.rs:open}}",
            "1: include `../../code.rs:open`: the file has no `ANCHOR: open` with its `ANCHOR_END`",
        ),
        (
            "```rust\nfn typed() {}\n```",
            "2: rust code in the book must be included from a file that is built or tested",
        ),
        (
            "text\n```go\nfunc typed() {}\n```\n```console\n$ ls\n```",
            "3: go code in the book must be included from a file that is built or tested",
        ),
        (
            "```rust ignore\nfn typed() {}\n```",
            "2: rust code in the book must be included from a file that is built or tested",
        ),
        (
            "```yml\na: b\n```",
            "2: yml code in the book must be included from a file that is built or tested",
        ),
        (
            "[a](https://github.com/kubewright/kubewright/blob/main/code.rs#L2)",
            "1: link `https://github.com/kubewright/kubewright/blob/main/code.rs#L2`: the fragment of a file that is not Markdown cannot be \
             checked: link to the file",
        ),
        (
            "[a](https://github.com/kubewright/kubewright/tree/main/missing)",
            "1: link `https://github.com/kubewright/kubewright/tree/main/missing`: the file does not exist",
        ),
        (
            "[a](https://github.com/kubewright/kubewright/blob/main/docs/src/other.md#it)",
            "1: link `https://github.com/kubewright/kubewright/blob/main/docs/src/other.md#it`: there is no such heading; headings: other, \
             what-it-is-a-test_1",
        ),
    ];
    for (page, error) in cases {
        assert_eq!(errors_of(page), [error], "{page}");
    }
    let missing = errors_of("{{#include ../../missing.rs}}");
    assert!(
        missing[0].starts_with("1: include `../../missing.rs`: read "),
        "{missing:?}"
    );
}

#[test]
fn page_must_be_in_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("SUMMARY.md"), "# Summary\n").unwrap();
    fs::write(folder.path().join("lost.md"), "# Lost\n").unwrap();
    let errors = check_book(folder.path()).unwrap();
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].ends_with("lost.md: SUMMARY.md does not list this page"),
        "{errors:?}"
    );
}

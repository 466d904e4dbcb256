"""Tests of the linter itself: python3 tools/prose/test.py"""

import unittest

import ratchet
from rules import HABITS, RULES
from text import MASK, Passage, markdown, passages


def prose(path: str, source: str) -> list[tuple[int, str, str]]:
    return [(line, kind, text.replace(MASK, "x")) for line, kind, text in passages(path, source)]


class Rules(unittest.TestCase):
    def test_each_rule_finds_its_bad_sample_and_leaves_the_good_one(self):
        for rule in RULES:
            with self.subTest(rule.name):
                self.assertTrue(list(rule.find(Passage(1, rule.kind, rule.bad))), rule.bad)
                self.assertFalse(list(rule.find(Passage(1, rule.kind, rule.good))), rule.good)
                self.assertIn(rule.habit, HABITS)

    def test_names_are_unique(self):
        self.assertEqual(len({rule.name for rule in RULES}), len(RULES))

    def test_a_phrase_is_found_across_a_line_break(self):
        rule = next(rule for rule in RULES if rule.name == "sent-again")
        self.assertEqual(list(rule.find(Passage(1, "text", "packets sent\nagain"))), [(8, 18)])


class Text(unittest.TestCase):
    def test_markdown_is_split_into_headings_paragraphs_items_and_cells(self):
        page = "# Title\n\nOne\ntwo.\n- item\n  more\n\n| a | b |\n|---|--:|\n| c | d |\n"
        self.assertEqual(
            prose("p.md", page),
            [(1, "heading", "Title"), (3, "text", "One\ntwo."), (5, "text", "item\nmore")]
            + [(8, "cell", "a"), (8, "cell", "b"), (10, "cell", "c"), (10, "cell", "d")],
        )

    def test_code_link_targets_and_comments_are_no_prose(self):
        page = "See `tell` and [says](way.md).\n\n    told\n\n```sh\nsaid\n```\n<!-- way -->\nEnd.\n"
        self.assertEqual(prose("p.md", page), [(1, "text", "See xxxxxx and [says]."), (9, "text", "End.")])

    def test_generated_text_is_skipped_to_its_end_mark(self):
        page = "A.\n<!-- Written by `x`. Do not edit from here ... -->\nold\n<!-- ... to here. -->\nB.\n"
        self.assertEqual(prose("p.md", page), [(1, "text", "A."), (5, "text", "B.")])
        self.assertEqual(prose("p.md", "<!-- Generated from x. Do not edit. -->\nAll of it.\n"), [])

    def test_adjoining_comments_of_one_kind_are_one_text(self):
        source = "//! Of the\n//! file.\n\n/// Of `f`\n/// too.\nfn f() {} // At the end.\n// Of the next line.\n"
        self.assertEqual(
            prose("p.rs", source),
            [(1, "text", "Of the\nfile."), (4, "text", "Of xxx\ntoo.")]
            + [(6, "text", "At the end."), (7, "text", "Of the next line.")],
        )

    def test_strings_are_prose_without_their_placeholders(self):
        source = (
            'let a = ("word", \'"\', "none of {x}\\n  two words");\n'
            'let b = "goes on \\\n    here";\n'
            'let c = r#"a "b" cd ef"#;\n'
        )
        self.assertEqual(
            prose("p.rs", source),
            [(1, "string", "none of xxx"), (1, "string", "  two words")]
            + [(2, "string", "goes on \nhere"), (4, "string", 'a "b" cd ef')],
        )

    def test_test_modules_are_skipped(self):
        source = "// A.\n#[cfg(test)]\nmod tests {\n    // B.\n}\n// C.\n"
        self.assertEqual(prose("p.rs", source), [(1, "text", "A."), (6, "text", "C.")])


class Ratchet(unittest.TestCase):
    allowed = {"way": {"docs": 2, "README.md": 1}, "says": {}}

    def test_the_table_survives_writing_and_reading(self):
        self.assertEqual(ratchet.read(ratchet.write(self.allowed)), self.allowed)

    def test_a_line_that_is_none_of_the_table_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            ratchet.read("[way]\n<<<<<<< HEAD\n")

    def test_counts_are_lowered_and_never_raised(self):
        now = {"way": {"docs": 1, "README.md": 3}, "says": {"docs": 1}}
        self.assertEqual(ratchet.lowered(self.allowed, now), {"way": {"docs": 1, "README.md": 1}, "says": {"docs": 0}})
        self.assertEqual(
            [(change.rule, change.area, change.now, change.allowed) for change in ratchet.changes(self.allowed, now)],
            [("way", "README.md", 3, 1), ("way", "docs", 1, 2), ("says", "docs", 1, 0)],
        )

    def test_a_new_rule_enters_with_its_counts_and_keeps_its_heading_at_zero(self):
        self.assertEqual(ratchet.lowered({}, {"way": {"docs": 2}}), {"way": {"docs": 2}})
        self.assertEqual(ratchet.read(ratchet.write({"way": {"docs": 0}})), {"way": {}})


if __name__ == "__main__":
    unittest.main()

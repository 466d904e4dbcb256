"""Checks the wording of pages, comments and messages.

  python3 tools/prose               compare the findings with tools/prose/counts.toml; exit 1 if a count rose
  python3 tools/prose --update      the same, then lower the counts; no count is ever raised
  python3 tools/prose PATH...       list every finding in files or folders, to rewrite them; exit 1 if there is one
  python3 tools/prose --counts      findings by habit, rule and area
  python3 tools/prose --rules       the rules, and what to write instead

It reads Markdown files, and the comments and strings of crates/*/*/src. It skips code (also `in backquotes`, so that a word
can be quoted), generated text and tests. Rules marked as warnings are counted and reported, but do not fail.

To add a rule, add a row in tools/prose/rules.py, then run --update: a new rule enters the table with today's counts. To
widen a rule, delete its part of the table as well; a reviewer then sees in the difference that its counts start again.
"""

import re
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import ratchet
from rules import HABITS, RULES, Rule
from text import MASK, passages

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "tools/prose/counts.toml"
SOURCES = re.compile(r".*\.md|crates/[^/]+/[^/]+/src/(?!(?:.*/)?(?:\w*tests?\.rs$|tests/)).*\.rs")
WARNINGS = {rule.name for rule in RULES if rule.warning}
SHOWN = 10  # findings of a count that rose; more hide the others


class Finding(NamedTuple):
    rule: Rule
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        level = " (warning)" if self.rule.warning else ""
        return f'{self.path}:{self.line}: {self.rule.name}{level}: "{self.text}"; write {self.rule.instead}'


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout


def sources() -> list[str]:
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sorted({path for path in listed if SOURCES.fullmatch(path) and (ROOT / path).is_file()})


def area(path: str) -> str:
    """The folder of a crate, the first two folders elsewhere, or the name of a file that is in none."""
    depth = 3 if path.startswith("crates/") else 2
    return "/".join(path.split("/")[:-1][:depth]) or path


def findings(paths: list[str]) -> list[Finding]:
    return [
        Finding(rule, path, passage.line + passage.text.count("\n", 0, start), excerpt(passage.text, start, end))
        for path in paths
        for passage in passages(path, (ROOT / path).read_text(encoding="utf-8"))
        for rule in RULES
        for start, end in rule.find(passage)
    ]


def excerpt(text: str, start: int, end: int) -> str:
    """What was found, with the words beside it if it is short."""
    shown = text[start:end]
    if len(shown) < 20:
        before, after = text[:start].split(" ")[-3:], text[end:].split(" ")[:3]
        shown = " ".join(before) + shown + " ".join(after)
    short = re.sub(MASK + "+", "`...`", " ".join(shown.split()))
    return short if len(short) <= 70 else short[:67] + "..."


def count(found: list[Finding]) -> ratchet.Counts:
    counts: ratchet.Counts = {rule.name: {} for rule in RULES}
    for (rule, where), number in Counter((finding.rule.name, area(finding.path)) for finding in found).items():
        counts[rule][where] = number
    return counts


def new_lines() -> dict[str, set[int]]:
    """Lines that were added since the table was last committed: some of them made a count rise."""
    untracked = git("ls-files", "-z", "--others", "--exclude-standard").split("\0")
    lines = {path: set(range(1_000_000)) for path in untracked if SOURCES.fullmatch(path)}
    commit = git("log", "-1", "--format=%H", "--", str(TABLE)).strip()
    for file in re.split(r"^\+\+\+ b/", git("diff", "-U0", "--no-ext-diff", commit), flags=re.M)[1:] if commit else []:
        path, _, hunks = file.partition("\n")
        for first, length in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", hunks, flags=re.M):
            lines.setdefault(path, set()).update(range(int(first), int(first) + int(length or 1)))
    return lines


def report(risen: list[ratchet.Change], found: list[Finding]) -> None:
    new = new_lines()
    for change in risen:
        level = "warning: " if change.rule in WARNINGS else ""
        print(f"prose: {level}{change.area}: {change.now} x {change.rule}, {change.now - change.allowed} more than allowed")
        those = [finding for finding in found if (finding.rule.name, area(finding.path)) == change[:2]]
        those = [finding for finding in those if finding.line in new.get(finding.path, ())] or those
        print("".join(f"    {finding}\n" for finding in those[:SHOWN]), end="")
        if len(those) > SHOWN:
            print(f"    and {len(those) - SHOWN} others: python3 tools/prose {change.area}")


def check(update: bool) -> int:
    found = findings(sources())
    now, allowed = count(found), ratchet.read(TABLE.read_text(encoding="utf-8") if TABLE.exists() else "")
    changes = ratchet.changes(allowed, now)
    risen = [change for change in changes if change.now > change.allowed]
    fallen, new_rules = len(changes) - len(risen), now.keys() - allowed.keys()
    report(risen, found)
    failed = any(change.rule not in WARNINGS for change in risen)
    if failed:
        print("prose: write these lines in another form. Words to quote go in backquotes.")
    if update:
        TABLE.write_text(ratchet.write(ratchet.lowered(allowed, now)), encoding="utf-8")
        print(f"prose: counts lowered: {fallen}, rules added: {len(new_rules)}. Commit {TABLE.relative_to(ROOT)}")
    elif new_rules:  # or a table without any rule would allow everything
        print(f"prose: no counts of {', '.join(sorted(new_rules))} in {TABLE.relative_to(ROOT)}: make prose UPDATE=1")
        failed = True
    elif fallen:
        print(f"prose: counts that fell: {fallen}. To keep the gain: make prose UPDATE=1")
    if not failed:
        print(f"prose: {len(found)} findings, no more than allowed")
    return int(failed)


def list_findings(paths: list[str]) -> int:
    wanted = [str(Path(path).resolve().relative_to(ROOT)) for path in paths]
    chosen = [path for path in sources() if any(path == one or path.startswith(f"{one}/") or one == "." for one in wanted)]
    if not chosen:
        print(f"prose: no page or source of a crate in {', '.join(paths)}", file=sys.stderr)
        return 2
    found = findings(chosen)
    print("".join(f"{finding}\n" for finding in found), end="")
    return int(any(not finding.rule.warning for finding in found))


def print_counts() -> int:
    counts = count(findings(sources()))
    for habit, title in HABITS.items():
        names = [rule.name for rule in RULES if rule.habit == habit]
        print(f"{title}: {sum(sum(counts[name].values()) for name in names)}")
        for name in names:
            areas = ", ".join(f"{where} {number}" for where, number in sorted(counts[name].items()))
            print(f"    {name:15}{sum(counts[name].values()):5}  {areas}")
    return 0


def print_rules() -> int:
    for rule in RULES:
        print(f"{rule.name:15} write {rule.instead}" + (" (warning)" if rule.warning else ""))
        print(f"{'':15} not   {rule.bad[:70]}")
    return 0


def main() -> int:
    parser = ArgumentParser("tools/prose", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="lower the counts after an improvement")
    parser.add_argument("--counts", action="store_true", help="print the findings by habit, rule and area")
    parser.add_argument("--rules", action="store_true", help="print the rules")
    parser.add_argument("path", nargs="*", help="file or folder to list every finding of")
    chosen = parser.parse_args()
    try:
        if chosen.path:
            return list_findings(chosen.path)
        if chosen.counts:
            return print_counts()
        return print_rules() if chosen.rules else check(chosen.update)
    except subprocess.CalledProcessError as error:
        print(f"prose: it needs a git clone of the project: {error.stderr.strip()}", file=sys.stderr)
    except ValueError as error:  # a table with a conflict, or a path outside of the project
        print(f"prose: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())

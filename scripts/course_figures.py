#!/usr/bin/env python3
"""Fills the tables of figures of the kernel course, docs/course/*.md, from what was traced.

  make course                  traces every rung and writes the tables
  make course ARGS=--check     only compares: exit code 1 where a table is old, or a rung has none

A table stands between two lines, in the section of its rung:
  <!-- figures gemm/03_shared_tile -->
  <!-- end -->
"""
import argparse
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs/course"
TABLE = re.compile(r"(<!-- figures (\S+) -->\n)(.*?)(<!-- end -->)", re.S)
HEAD = ["traced", "load requests", "sectors a load", "sectors a store", "bytes moved", "× least", "shared requests",
        "wavefronts", "conflicts", "barriers", "idle lanes", "op/B"]
SPACES = ("global_load", "global_store", "shared_load", "shared_store")
SECTOR = 32


def number(value):
    if value is None:
        return "–"
    if value >= 1000 or value == int(value):
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def size(count):
    for unit, factor in (("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            value = count / factor
            return f"{value:.2f} {unit}" if value < 9.995 else f"{value:.1f} {unit}" if value < 99.95 else f"{value:.0f} {unit}"
    return f"{count:g} B"


def ratio(part, whole):
    return part / whole if whole else None


def moved_bytes(kernels):
    return SECTOR * sum(k["figures"][space]["moved"] for k in kernels for space in ("global_load", "global_store"))


def figures_of(kernels, least=None, operations=None):
    """A row for these kernels together. Of a part of a trial's kernels, least and operations are not known."""
    def total(spaces, key):
        return sum(k["figures"][space][key] for k in kernels for space in spaces)

    load, store, shared = ["global_load"], ["global_store"], ["shared_load", "shared_store"]
    moved = moved_bytes(kernels)
    worked = [sum(k["figures"][space]["lanes"] for space in SPACES) for k in kernels]
    live = sum(lanes / (1 - k["idle_lanes"]) for lanes, k in zip(worked, kernels) if k["idle_lanes"] < 1)
    return [number(total(load, "requests")),
            number(ratio(total(load, "moved"), total(load, "requests"))),
            number(ratio(total(store, "moved"), total(store, "requests"))),
            size(moved),
            number(ratio(moved, least)) if least else "–",
            number(total(shared, "requests")),
            number(ratio(total(shared, "moved"), total(shared, "requests"))),
            number(ratio(total(shared, "moved") - total(shared, "ideal"), total(shared, "requests"))),
            number(sum(k["barriers"] for k in kernels)),
            f"{100 * (1 - sum(worked) / live):.0f} %" if live else "–",
            number(ratio(operations, moved)) if operations else "–"]


def short(kernel):
    for space in ("lathe::", "kernels::", "hostcuda::", "{anonymous}::"):
        kernel = kernel.replace(space, "")
    kernel = kernel.replace(" >", ">")
    return re.sub(r"<(float|Float16<\w+>)(, (float|Float16<\w+>))*>", "", kernel)


def rows_of(trial):
    """[(what, figures)]: the trial, and its kernels where there are several."""
    rows = [(re.sub(r" to (fp32|fp16|bf16)$", "", trial["shape"]),
             figures_of(trial["kernels"], trial["least_bytes"], trial["operations"]))]
    names = list(dict.fromkeys(k["kernel"] for k in trial["kernels"]))
    for name in names if len(names) > 1 else []:
        rows.append((f"· `{short(name)}`", figures_of([k for k in trial["kernels"] if k["kernel"] == name])))
    return rows


def table(trials):
    """Trials that differ by element type alone, and in no figure, share their rows."""
    groups = []  # [(elements, rows)]
    for trial in trials:
        rows = rows_of(trial)
        same = next((elements for elements, others in groups if others == rows), None)
        if same is None:
            groups.append(([trial["element"]], rows))
        else:
            same.append(trial["element"])
    several = len({trial["element"] for trial in trials}) > 1
    lines = ["| " + " | ".join(HEAD) + " |", "|---|" + "---:|" * (len(HEAD) - 1)]
    for elements, rows in groups:
        for what, figures in rows:
            name = f"{', '.join(elements)}: {what}" if several and not what.startswith("·") else what
            lines.append("| " + " | ".join([name] + figures) + " |")
    return "\n".join(lines) + "\n"


def read_trials(file):
    trials = {}
    for trial in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["rungs"]:
        if not trial["ok"]:
            sys.exit(f"course_figures.py: {trial['rung']}, {trial['shape']}: {trial['wrong'] or 'has findings'}")
        trials.setdefault(trial["rung"], []).append(trial)
    return trials


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", help="what `lathe kernels trace --json` wrote")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    trials = read_trials(args.figures)

    problems, seen = [], set()
    for page in sorted(FOLDER.glob("*.md")):
        text = page.read_text(encoding="utf-8")

        def fill(match):
            begin, rung, old, end = match.groups()
            seen.add(rung)
            if rung not in trials:
                problems.append(f"{page.name}: {rung} is not among the figures")
                return match.group(0)
            new = table(trials[rung])
            if args.check and new != old:
                problems.append(f"{page.name}: the table of {rung} is old")
            return begin + new + end

        filled = TABLE.sub(fill, text)
        if not args.check and filled != text:
            page.write_text(filled, encoding="utf-8")
    problems += [f"{rung} has no section" for rung in trials if rung not in seen]
    for rung, same in trials.items():  # no kernel can move less: accesses were not seen
        problems += [f"{rung}, {trial['element']}: moves less than the least" for trial in same
                     if moved_bytes(trial["kernels"]) < trial["least_bytes"]]
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

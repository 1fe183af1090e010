#!/usr/bin/env python3
"""What nvcc made of the ladders, told from the cuda build without a GPU.

  scripts/kernel_report.py BUILD [--trace TRACE.json] [--markdown FILE]

BUILD        the cuda build's folder (make cuda: build/cuda)
--trace      output of `lathe kernels trace --json FILE` of the host build: block sizes, for the occupancy
--markdown   writes the table: registers, shared memory and occupancy of every kernel on every architecture

Checks, and fails where one does not hold: every rung was compiled for every architecture, no kernel of a rung
keeps anything in local memory because registers ran out (nvcc itself refuses spills in this build), and the
machine code has the instructions that the rung's opening comment claims:
  // Instructions. HMMA; LDSM; LDGSTS from sm_80.
The disassemblers are on the PATH or come from PyPI into BUILD/disassemblers.
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Compute capability: registers, shared memory in bytes, threads and blocks of a multiprocessor (CUDA C++
# Programming Guide, table of technical specifications), and what each block takes of the shared memory.
SM = {
    "sm_75": (65536, 64 << 10, 1024, 16, 0),
    "sm_80": (65536, 164 << 10, 2048, 32, 1024),
    "sm_90a": (65536, 228 << 10, 2048, 32, 1024),
    "sm_100": (65536, 228 << 10, 2048, 32, 1024),
    "sm_120": (65536, 100 << 10, 1536, 32, 1024),
}


def tool(name, build):
    """The disassembler `name`, installed if need be."""
    found = shutil.which(name)
    if found:
        return found
    folder = build / "disassemblers"
    hits = list(folder.glob(f"lib/python*/site-packages/nvidia/*/bin/{name}"))
    if not hits:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "-q", "install", "nvidia-cuda-cuobjdump", "nvidia-cuda-nvdisasm"],
                       check=True)
        hits = list(folder.glob(f"lib/python*/site-packages/nvidia/*/bin/{name}"))
    return str(hits[0])


def opening_comment(source):
    lines = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def claims(comment):
    """[(instruction, first architecture number)] of the paragraph 'Instructions.'."""
    found = re.search(r"^Instructions\.\s+(.*?)\.(?:\n|$)", comment, re.S | re.M)
    result = []
    for part in found.group(1).split(";") if found else []:
        match = re.fullmatch(r"\s*([A-Z0-9.]+)(?:\s+from\s+sm_(\d+))?\s*", part.replace("\n", " "))
        if not match:
            raise SystemExit(f"kernel_report: cannot read the claim '{part.strip()}'")
        result.append((match.group(1), int(match.group(2) or 0)))
    return result


def number(arch):
    return int(re.sub(r"\D", "", arch))


def demangle(names):
    if not names:
        return {}
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    short = {}
    for name, line in zip(names, text.splitlines()):
        line = re.sub(r"\(anonymous namespace\)::|lathe::kernels::", "", line)
        line = line.removeprefix("void ")
        depth, end = 0, len(line)
        for i, c in enumerate(line):  # up to the parameter list, past the template's
            depth += (c == "<") - (c == ">")
            if c == "(" and depth == 0:
                end = i
                break
        short[name] = line[:end].replace("__nv_bfloat16", "bf16").replace("__half", "fp16")
    return short


def resources(cuobjdump, obj):
    """{(arch, mangled kernel): (registers, stack, static shared, local)}"""
    text = subprocess.run([cuobjdump, "--dump-resource-usage", obj], capture_output=True, text=True,
                          check=True).stdout
    arch, name, result = None, None, {}
    for line in text.splitlines():
        if match := re.match(r"arch = (\S+)", line):
            arch = match.group(1)
        elif match := re.match(r"\s*Function (\S+):", line):
            name = match.group(1)
        elif match := re.match(r"\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", line):
            result[arch, name] = tuple(map(int, match.groups()))
    return result


def instructions(cuobjdump, obj):
    """{arch: set of instructions}"""
    text = subprocess.run([cuobjdump, "-sass", obj], capture_output=True, text=True, check=True).stdout
    arch, result = None, collections.defaultdict(set)
    for line in text.splitlines():
        if match := re.match(r"arch = (\S+)", line):
            arch = match.group(1)
        elif match := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", line):
            result[arch].add(match.group(1).replace(".U.", "."))  # sm_75 says LDS.U.128
    return result


def occupancy(arch, registers, shared, threads):
    """Share of a multiprocessor's warps that can be resident."""
    all_registers, all_shared, most_threads, most_blocks, reserved = SM[arch]
    warps = -(-threads // 32)
    registers_of_warp = -(-registers * 32 // 256) * 256
    blocks = min(most_blocks, most_threads // (warps * 32), all_registers // (registers_of_warp * warps))
    shared_of_block = -(-(shared + reserved) // 128) * 128
    if shared_of_block:
        blocks = min(blocks, all_shared // shared_of_block)
    return blocks * warps * 32 / most_threads


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    objects = arguments.build / "kernels/CMakeFiles/lathe_kernels.dir"
    if not objects.is_dir():
        raise SystemExit(f"kernel_report: {objects} is missing; run make cuda first")
    cuobjdump = tool("cuobjdump", arguments.build)
    os.environ["PATH"] += os.pathsep + str(Path(tool("nvdisasm", arguments.build)).parent)

    blocks = {}  # kernel → (threads, dynamic shared bytes), of the trace's launches
    if arguments.trace:
        for rung in json.loads(arguments.trace.read_text())["rungs"]:
            for kernel in rung.get("kernels", []):
                name = re.sub(r"\{anonymous\}::|lathe::kernels::", "", kernel["kernel"])
                x, y, z = kernel["block"]
                blocks.setdefault(name.split("<")[0], (x * y * z, kernel["dynamic_shared_bytes"]))

    sources = sorted((ROOT / "kernels").glob("*/[0-9][0-9]_*.cu"))
    archs = list(SM)

    def examine(source):
        obj = objects / (str(source.relative_to(ROOT / "kernels")) + ".o")
        return (source, resources(cuobjdump, obj), instructions(cuobjdump, obj)) if obj.exists() else (source, None, None)

    wrong, rows = [], []
    with ThreadPoolExecutor(2) as pool:
        examined = list(pool.map(examine, sources))
    for source, used, sass in examined:
        rung = f"{source.parent.name}/{source.stem}"
        if used is None:
            wrong.append(f"{rung}: not compiled")
            continue
        claimed = claims(opening_comment(source))
        names = sorted({name for _, name in used})
        short = demangle(names)
        for arch in archs:
            if not any(a == arch for a, _ in used):
                wrong.append(f"{rung}: no code for {arch}")
            for instruction, first in claimed:
                if number(arch) >= first and not any(i.startswith(instruction) for i in sass[arch]):
                    wrong.append(f"{rung}: no {instruction} in its code for {arch}")
        for name in names:
            threads, dynamic = blocks.get(short[name].split("<")[0], (0, 0))
            cells = []
            for arch in archs:
                if (arch, name) not in used:
                    cells.append("–")
                    continue
                registers, stack, shared, local = used[arch, name]
                if local:
                    wrong.append(f"{rung}: {short[name]} keeps {local} bytes in local memory on {arch}")
                cell = f"{registers}"
                if stack:
                    cell += f" + {stack} B stack"
                if threads and number(arch) >= 75:
                    cell += f", {100 * occupancy(arch, registers, shared + dynamic, threads):.0f} %"
                cells.append(cell)
            static = max(used[a, n][2] for a, n in used if n == name)
            rows.append([rung, f"`{short[name]}`", str(threads or "–"), f"{(static + dynamic) / 1024:.1f}", *cells])

    if arguments.markdown:
        version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
        release = re.search(r"release (\S+),", version)
        head = ["rung", "kernel", "threads", "shared KiB", *archs]
        lines = ["# What nvcc made of the ladders", "",
                 f"Registers of a thread and theoretical occupancy (share of a multiprocessor's warps that fit), nvcc "
                 f"{release.group(1) if release else '?'}, no kernel spills. Threads and dynamic shared memory are those "
                 "of the traced launch. Made by `scripts/kernel_report.py` from the cuda build; nothing was executed.", "",
                 "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        arguments.markdown.write_text("\n".join(lines) + "\n")
    print(f"kernel_report: {len(sources)} rungs, {len(rows)} kernels, {len(archs)} architectures, {len(wrong)} wrong")
    for line in wrong:
        print(f"kernel_report: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

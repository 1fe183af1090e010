#!/usr/bin/env python3
"""Writes scikit-learn's 1,797 handwritten digits (8x8, UCI ML repository) as folders of PNG pictures.

    scripts/fetch_digits.py DIR [--size 32] [--seed 1]     then: lathe train --data folder:DIR

DIR/train/<digit>/ and, for a fifth of each digit drawn by lot from the seed, DIR/val/<digit>/. The digits come
inside scikit-learn's package: where it cannot be imported, pip puts it into a temporary environment (this needs
a network or a package index). DIR must not exist; it appears complete or not at all. Exit code 0, or 1 with one
line that says why.
"""
import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib


def fail(message):
    sys.exit(f"fetch_digits.py: {message}")


def load():
    """Returns (pictures, labels): 1,797 lists of 64 values 0 ... 16, and the digits."""
    from sklearn.datasets import load_digits
    digits = load_digits()
    return digits.data.tolist(), digits.target.tolist()


def load_with_pip(arguments):
    """Runs this script again with the python of a temporary environment that has scikit-learn."""
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "bin", "python")
        for command in ([sys.executable, "-m", "venv", folder],
                        [python, "-m", "pip", "install", "--quiet", "scikit-learn"]):
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
                fail("scikit-learn cannot be imported, and pip cannot install it; without a network use "
                     "the built-in pictures, --data fruit")
        return subprocess.run([python, os.path.abspath(__file__), *arguments, "--no-pip"]).returncode


def enlarge(picture, size):
    """8x8 values 0 ... 16 to size rows of size bytes 0 ... 255, bilinear."""
    def position(i):
        at = min(max((i + 0.5) * 8 / size - 0.5, 0), 7)
        low = min(int(at), 6)
        return low, at - low

    rows = []
    for y in range(size):
        top, v = position(y)
        row = []
        for x in range(size):
            left, u = position(x)
            a, b, c, d = (picture[8 * (top + dy) + left + dx] for dy in (0, 1) for dx in (0, 1))
            value = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v
            row.append(min(255, round(value * 255 / 16)))
        rows.append(bytes(row))
    return rows


def png(rows):
    """An 8-bit gray PNG."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def write(folder, size, seed):
    pictures, labels = load()
    for digit in range(10):
        members = [i for i, label in enumerate(labels) if label == digit]
        held_out = set(random.Random(f"{seed} {digit}").sample(members, len(members) // 5))
        for i in members:
            path = os.path.join(folder, "val" if i in held_out else "train", str(digit))
            os.makedirs(path, exist_ok=True)
            with open(os.path.join(path, f"{i:04}.png"), "wb") as file:
                file.write(png(enlarge(pictures[i], size)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--size", type=int, default=32, help="side of the pictures in pixels (default 32)")
    parser.add_argument("--seed", type=int, default=1, help="of the held-out fifth (default 1)")
    parser.add_argument("--no-pip", action="store_true", help="do not install scikit-learn")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    if os.path.exists(folder):
        fail(f"{options.folder}: exists; name a new folder")
    if not 8 <= options.size <= 1024:
        fail("--size must be between 8 and 1024")
    try:
        import sklearn.datasets  # noqa: F401
    except ImportError:
        if options.no_pip:
            fail("scikit-learn cannot be imported: pip install scikit-learn")
        return load_with_pip(sys.argv[1:])
    temporary = f"{folder}.tmp{os.getpid()}"
    try:
        write(temporary, options.size, options.seed)
        os.rename(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        fail(f"{options.folder}: cannot be written: {error.strerror}")
    print(f"done: --data folder:{options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

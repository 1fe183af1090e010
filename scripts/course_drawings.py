#!/usr/bin/env python3
"""Draws the pictures of the kernel course: docs/course/images/*.svg.

  scripts/course_drawings.py [FOLDER]

A picture holds its own background and colours, light or dark as the reader's system asks, and refers to nothing
outside of itself.
"""
import pathlib
import sys
from html import escape

COLOURS = {  # name: (light, dark)
    "bg": ("#ffffff", "#161b22"), "ink": ("#1f2328", "#e6edf3"), "soft": ("#59636e", "#9da7b3"),
    "grey": ("#e4e8ec", "#30363d"), "blue": ("#a9cdf8", "#2b5c9c"), "orange": ("#f7c898", "#96591f"),
    "green": ("#aedfa8", "#2f7438"), "red": ("#f4aaa6", "#9a3d39"), "violet": ("#d3bdf0", "#66489a"),
    "yellow": ("#f3e295", "#776514"), "teal": ("#9fdfdb", "#20706d"), "pink": ("#f5bfdc", "#8f3f69"),
}
WHEEL = ["blue", "orange", "green", "violet", "yellow", "teal", "red", "pink"]


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def text(self, x, y, words, size=13, anchor="start", colour="ink", bold=False):
        assert size >= 11
        left = {"start": x, "middle": x - len(str(words)) * size * 0.28, "end": x - len(str(words)) * size * 0.56}[anchor]
        if not (0 <= left and left + len(str(words)) * size * 0.56 <= self.width):
            sys.exit(f"{self.title}: no room for: {words}")
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" class="{colour}"'
                          f'{weight}>{escape(str(words))}</text>')

    def cell(self, x, y, w, h, colour="grey", label="", size=11):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" class="{colour} edge"/>')
        if label != "":
            self.text(x + w / 2, y + h / 2 + size * 0.36, label, size, "middle")

    def grid(self, x, y, rows, columns, w, h, colour=lambda r, c: "grey", label=lambda r, c: "", size=11):
        for r in range(rows):
            for c in range(columns):
                self.cell(x + c * w, y + r * h, w, h, colour(r, c), label(r, c), size)

    def frame(self, x, y, w, h):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" class="frame"/>')

    def line(self, *points):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="line"/>')

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="line" marker-end="url(#tip)"/>')

    def svg(self):
        def rules(which):
            out = "".join(f".{name}{{fill:{pair[which]}}}" for name, pair in COLOURS.items())
            soft, bg = COLOURS["soft"][which], COLOURS["bg"][which]
            return (out + f".edge{{stroke:{bg};stroke-width:1}}.line{{stroke:{soft};stroke-width:1.5;fill:none}}"
                    f".frame{{stroke:{COLOURS['ink'][which]};stroke-width:2;fill:none}}")
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" role="img" font-family="system-ui, sans-serif">\n'
                f"<title>{escape(self.title)}</title>\n<style>{rules(0)}\n"
                f"@media (prefers-color-scheme: dark) {{{rules(1)}}}</style>\n"
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                'orient="auto-start-reverse"><path d="M0,0L8,4L0,8z" class="soft"/></marker></defs>\n'
                f'<rect width="{self.width}" height="{self.height}" rx="8" class="bg"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


DRAWINGS = {}


def drawing(name, width, height, title):
    def register(draw):
        def make():
            d = Drawing(width, height, title)
            draw(d)
            return d
        DRAWINGS[name] = make
        return draw
    return register


# ---- 00 ------------------------------------------------------------------------------------------------------------
@drawing("00_grid", 760, 250, "A grid of blocks, a block of threads, a warp of 32 lanes")
def _(d):
    d.text(20, 30, "grid: 3 × 2 blocks", bold=True)
    d.grid(20, 45, 2, 3, 62, 50, lambda r, c: "blue" if (r, c) == (0, 2) else "grey", lambda r, c: f"({c},{r})")
    d.text(20, 168, "blockIdx says which block;", 12, colour="soft")
    d.text(20, 186, "any order, none waits for another", 12, colour="soft")
    d.arrow(210, 70, 262, 70)
    d.text(270, 30, "block: 64 threads = 2 warps", bold=True)
    for warp in range(2):
        d.grid(270, 45 + warp * 60, 2, 16, 15, 20, lambda r, c, warp=warp: ["orange", "green"][warp])
        d.text(270, 100 + warp * 60, f"warp {warp}: threads {warp * 32} … {warp * 32 + 31}", 12, colour="soft")
    d.text(270, 186, "threadIdx says which thread; a block's", 12, colour="soft")
    d.text(270, 204, "threads share memory and can wait", 12, colour="soft")
    d.text(270, 222, "for each other", 12, colour="soft")
    d.arrow(515, 65, 572, 65)
    d.text(580, 30, "warp: 32 lanes", bold=True)
    d.grid(580, 45, 4, 8, 20, 20, lambda r, c: "orange", lambda r, c: "")
    d.text(580, 145, "one instruction for all", 12, colour="soft")
    d.text(580, 163, "lanes; a load is one", 12, colour="soft")
    d.text(580, 181, "request for 32 addresses", 12, colour="soft")


@drawing("00_memory", 760, 270, "Registers, shared memory, caches and global memory")
def _(d):
    for i in range(2):
        x = 30 + i * 300
        d.text(x, 28, f"multiprocessor {i}", bold=True)
        d.cell(x, 40, 130, 50, "green", "registers", 12)
        d.cell(x + 140, 40, 130, 50, "orange", "shared memory, L1", 12)
        d.text(x, 108, "of a thread", 12, colour="soft")
        d.text(x + 140, 108, "of a block", 12, colour="soft")
        d.arrow(x + 65, 135, x + 65, 116)
        d.arrow(x + 205, 135, x + 205, 116)
        d.line((x + 65, 116), (x + 65, 140))
        d.line((x + 205, 116), (x + 205, 140))
    d.text(640, 66, "… more of them", 12, colour="soft")
    d.cell(30, 142, 570, 36, "violet", "L2 cache, of all", 12)
    d.arrow(315, 180, 315, 200)
    d.cell(30, 203, 570, 40, "blue", "global memory, of all: where cudaMalloc's arrays lie", 12)
    d.text(612, 164, "sectors of 32 bytes", 12, colour="soft")
    d.text(612, 227, "sectors of 32 bytes", 12, colour="soft")


def sectors(d, x, y, count, colour, used, size=26):
    for s in range(count):
        for w in range(8):
            d.cell(x + (s * 8 + w) * size / 8 * 1.0, y, size / 8, 22, colour if used(s, w) else "grey")
        d.parts.append(f'<rect x="{x + s * size:g}" y="{y}" width="{size}" height="22" class="frame" stroke-width="1"/>')


@drawing("00_sectors", 760, 230, "32 lanes that read 32 neighbouring floats touch 4 sectors; 8 floats apart, 32 sectors")
def _(d):
    d.text(20, 28, "neighbours: lane i reads x[i]", bold=True)
    sectors(d, 20, 40, 4, "blue", lambda s, w: True, 128)
    d.text(545, 56, "4 sectors move,", 13)
    d.text(545, 74, "all 128 bytes are used", 12, colour="soft")
    d.text(20, 100, "a stride of 8: lane i reads x[8·i]", bold=True)
    sectors(d, 20, 112, 16, "blue", lambda s, w: w == 0, 32)
    d.text(545, 124, "… 32 sectors move,", 13)
    d.text(545, 142, "128 of 1024 bytes are used", 12, colour="soft")
    d.text(20, 172, "one address: every lane reads x[0]", bold=True)
    sectors(d, 20, 184, 1, "blue", lambda s, w: w == 0, 128)
    d.text(545, 200, "1 sector moves, for all lanes", 13)


@drawing("00_banks", 790, 290, "Words of shared memory in banks: a row, a column, a padded column")
def _(d):
    def bank(x, title, pitch, hit, words):
        d.text(x, 28, title, bold=True)
        for b in range(8):
            d.text(x + b * 26 + 13, 50, b, 11, "middle", "soft")
        def word(r, c):
            return r * 8 + c
        def colour(r, c):
            row, column = divmod(word(r, c), pitch)
            if column >= 8:
                return "bg"
            return "orange" if hit(row, column) else "grey"
        d.grid(x, 56, 8, 8, 26, 22, colour, lambda r, c: "" if word(r, c) % pitch >= 8 else
               f"{word(r, c) // pitch},{word(r, c) % pitch}")
        for i, line in enumerate(words):
            d.text(x, 252 + i * 18, line, 12, colour="soft")
    bank(20, "a row: 8 banks, at once", 8, lambda r, c: r == 2, ["tile[8][8], lanes read tile[2][lane]"])
    bank(275, "a column: 1 bank, in turn", 8, lambda r, c: c == 2, ["tile[8][8], lanes read tile[lane][2]"])
    bank(530, "padded: 8 banks again", 9, lambda r, c: c == 2, ["tile[8][9], lanes read tile[lane][2]"])
    d.text(20, 276, "Drawn with 8 banks and 8 lanes; a GPU has 32 of both. A bank gives one word of 4 bytes at a time.", 12)


@drawing("00_roofline", 620, 300, "The roofline of a T4: attainable operations a second over operations a byte")
def _(d):
    import math
    x = lambda intensity: 70 + (math.log2(intensity) + 2) / 10 * 500
    y = lambda tflops: 240 - (math.log10(tflops) + 1.5) / 2.6 * 200
    d.line((x(0.25), 245), (x(256), 245))
    d.line((x(0.25), 245), (x(0.25), 30))
    ridge = 8.1 / 0.320
    d.parts.append(f'<polyline points="{x(.25):g},{y(.08):g} {x(ridge):g},{y(8.1):g} {x(256):g},{y(8.1):g}" class="frame"/>')
    for i in (0.25, 1, 4, 16, 64, 256):
        d.text(x(i), 263, f"{i:g}", 11, "middle", "soft")
    for t in (0.1, 1, 10):
        d.text(62, y(t) + 4, f"{t:g}", 11, "end", "soft")
    d.text(320, 285, "useful operations a byte moved", 12, "middle")
    d.text(70, 20, "TFLOP/s, fp32", 12)
    d.text(x(0.6), y(0.42), "320 GB/s", 12)
    d.text(x(ridge) + 10, y(8.1) - 10, "8.1 TFLOP/s", 12)
    d.line((x(ridge), y(8.1)), (x(ridge), 245))
    d.text(x(ridge) + 6, 236, "25 op/B", 12, colour="soft")
    d.text(x(1.2), 200, "bound by memory", 12, colour="soft")
    d.text(x(40), 130, "bound by arithmetic", 12, colour="soft")


# ---- 01 GEMM ------------------------------------------------------------------------------------------------------
def product(d, x, title, lanes_a, lanes_b, lanes_c, notes):
    """A at the left, B above, C at the corner: 8×8 each, cells coloured where a warp (8 lanes here) reads or writes."""
    d.text(x, 26, title, bold=True)
    s = 16
    d.grid(x + 8 * s + 12, 40, 8, 8, s, s, lanes_b)
    d.grid(x, 40 + 8 * s + 12, 8, 8, s, s, lanes_a)
    d.grid(x + 8 * s + 12, 40 + 8 * s + 12, 8, 8, s, s, lanes_c)
    d.text(x + 4 * s, 40 + 8 * s + 2, "A", 12, "middle")
    d.text(x + 8 * s + 4, 40 + 4 * s, "B", 12, "end")
    d.text(x + 16 * s + 22, 40 + 13 * s, "C", 12)
    for i, note in enumerate(notes):
        d.text(x, 330 + 17 * i, note, 12, colour="soft")


@drawing("01_gemm_lanes", 760, 372, "Where a warp stands in C: rung 1 below each other, rung 2 side by side")
def _(d):
    product(d, 30, "rung 1: lanes below each other",
            lambda r, c: WHEEL[r] if c == 3 else "grey", lambda r, c: "ink" if (r, c) == (3, 2) else "grey",
            lambda r, c: WHEEL[r] if c == 2 else "grey",
            ["At k = 3: a column of A, a row of memory each:", "a sector for every lane. B: one element for all."])
    product(d, 410, "rung 2: lanes side by side",
            lambda r, c: "ink" if (r, c) == (2, 3) else "grey", lambda r, c: WHEEL[c] if r == 3 else "grey",
            lambda r, c: WHEEL[c] if r == 2 else "grey",
            ["At k = 3: a row of B, neighbours in memory:", "32 lanes share 4 sectors. A: one element for all."])


@drawing("01_gemm_shared_tile", 800, 330, "A block walks along K, a tile of A and a tile of B at a time")
def _(d):
    s = 16
    d.text(30, 26, "rung 3: a block's way along K", bold=True)
    for k in range(3):
        shade = ["orange", "grey", "grey"][k]
        d.grid(30 + k * 4 * s, 190, 4, 4, s, s, lambda r, c, shade=shade: shade)
        d.grid(250, 40 + k * 4 * s - 0, 4, 4, s, s, lambda r, c, k=k: ["blue", "grey", "grey"][k])
    d.grid(250, 250 - 4, 4, 4, s, s, lambda r, c: "green")
    d.arrow(90, 265, 200, 265)
    d.text(30, 285, "A: tiles of one row", 12, colour="soft")
    d.text(322, 90, "B: tiles of", 12, colour="soft")
    d.text(322, 106, "one column", 12, colour="soft")
    d.text(322, 282, "C: the block's tile", 12, colour="soft")
    x = 440
    for i, (colour, words) in enumerate([("orange", "1  each thread loads an element of A and of B"),
                                         ("grey", "2  barrier: the tiles are complete"),
                                         ("green", "3  T multiply-adds a thread from shared memory"),
                                         ("grey", "4  barrier: nobody needs them any more")]):
        d.cell(x, 50 + i * 44, 14, 30, colour)
        d.text(x + 24, 70 + i * 44, words, 12)
    d.line((x + 6, 226), (x + 6, 244), (x - 18, 244), (x - 18, 40), (x + 6, 40), (x + 6, 48))
    d.text(x + 24, 248, "next T of k", 12, colour="soft")


@drawing("01_gemm_register_tiles", 760, 300, "What a thread reads for each k: one result, a column of 8, a square of 8×8")
def _(d):
    def one(x, title, rows, columns, note):
        s = 14
        d.text(x, 26, title, bold=True)
        d.grid(x + 30, 84, rows, 1, s, s, lambda r, c: "orange")
        d.grid(x + 54, 58, 1, columns, s, s, lambda r, c: "blue")
        d.grid(x + 54, 84, rows, columns, s, s, lambda r, c: "green")
        d.text(x + 22, 84 + rows * s / 2 + 4, "a", 12, "middle")
        d.text(x + 54 + columns * s / 2, 52, "b", 12, "middle")
        for i, line in enumerate(note):
            d.text(x, 224 + 18 * i, line, 12, colour="soft")
    one(20, "rung 3: one result", 1, 1, ["2 loads for 1 multiply-add:", "2 a multiply-add"])
    one(260, "rung 4: 8 in a column", 8, 1, ["9 loads for 8 multiply-adds:", "1.125 a multiply-add"])
    one(500, "rung 5: 8×8", 8, 8, ["16 loads for 64 multiply-adds:", "0.25 a multiply-add"])
    d.text(20, 284, "orange, blue: loaded from shared memory into registers; green: sums, in registers all the time", 12)


@drawing("01_gemm_vectorised", 760, 262, "A's tile as loaded and as stored: transposed, so that a column's 8 elements are neighbours")
def _(d):
    s = 22
    d.text(20, 26, "A in global memory: 8 k of a row", bold=True)
    d.grid(20, 40, 6, 8, s, s, lambda r, c: ("orange" if c < 4 else "yellow") if r == 1 else "grey", lambda r, c: f"{r},{c}" if r == 1 else "")
    d.text(20, 192, "A thread loads a float4: four k of one row.", 12, colour="soft")
    d.arrow(210, 105, 280, 105)
    d.text(300, 26, "a_tile[k][m]: transposed", bold=True)
    d.grid(300, 40, 8, 12, s, 17, lambda r, c: ("orange" if r < 4 else "yellow") if c == 1 else ("blue" if r == 5 and 4 <= c < 12 else "grey"),
           lambda r, c: "")
    d.text(300, 194, "Stored as a column, four stores.", 12, colour="soft")
    d.text(300, 212, "Read as a row: the 8 elements that a thread wants", 12, colour="soft")
    d.text(300, 230, "for one k are two float4s (blue).", 12, colour="soft")
    d.text(576, 60, "k ↓   m →", 12)


@drawing("01_gemm_warp_tile", 830, 330, "Block, warp, thread: a warp's 32×64 elements, a thread's four 4×4 pieces")
def _(d):
    d.text(20, 26, "block: 128×128, 8 warps", bold=True)
    d.grid(20, 40, 4, 2, 96, 48, lambda r, c: "violet" if (r, c) == (1, 1) else "grey", lambda r, c: f"warp {2 * r + c}")
    d.text(20, 254, "a warp: 32 rows × 64 columns", 12, colour="soft")
    d.arrow(214, 112, 262, 112)
    d.text(270, 26, "warp: its lanes stand 4×8, in four quarters", bold=True)
    s = 26
    for qr in range(2):
        for qc in range(2):
            d.grid(270 + qc * (8 * s + 10), 40 + qr * (4 * s + 10), 4, 8, s, s,
                   lambda r, c: "orange" if (r, c) == (1, 2) else "grey",
                   lambda r, c: f"{r * 8 + c}")
    d.text(270, 278, "A cell is 4×4 elements. Lane 10 makes the orange ones, 8×8 in all. Eight", 12, colour="soft")
    d.text(270, 296, "neighbouring lanes read eight neighbouring float4s of B: 32 floats, all 32 banks.", 12, colour="soft")


def timeline(d, x, y, rows, unit, label_width=110):
    for r, (name, spans) in enumerate(rows):
        d.text(x, y + r * 34 + 17, name, 12)
        for start, length, colour, label in spans:
            d.cell(x + label_width + start * unit, y + r * 34, length * unit - 2, 26, colour, label)


@drawing("01_gemm_double_buffered", 760, 250, "Loading and multiplying in turn, and at the same time")
def _(d):
    d.text(20, 26, "rung 7: in turn", bold=True)
    timeline(d, 20, 38, [("load", [(i * 4, 2, "orange", f"tile {i}") for i in range(4)]),
                         ("multiply", [(i * 4 + 2, 2, "green", f"tile {i}") for i in range(4)])], 39)
    d.text(20, 132, "rung 8: the next tile is on its way while this one is multiplied", bold=True)
    timeline(d, 20, 144, [("load", [(i * 2, 2, ["orange", "yellow"][i % 2], f"tile {i}") for i in range(4)]),
                          ("multiply", [(i * 2 + 2, 2, ["orange", "yellow"][i % 2], f"tile {i}") for i in range(4)])], 39)
    d.text(20, 232, "The two colours are the two buffers. Lengths are drawn equal, not measured.", 12, colour="soft")


@drawing("01_gemm_wmma", 760, 300, "A warp's 64×32 elements as 4×2 fragments of 16×16")
def _(d):
    s = 34
    d.text(20, 26, "one warp, one step of 16 k", bold=True)
    d.grid(60, 110, 4, 1, s, s, lambda r, c: "orange", lambda r, c: f"a{r}")
    d.grid(110, 60, 1, 2, s, s, lambda r, c: "blue", lambda r, c: f"b{c}")
    d.grid(110, 110, 4, 2, s, s, lambda r, c: "green", lambda r, c: f"{r},{c}")
    d.text(20, 270, "Each cell is a fragment of 16×16 numbers.", 12, colour="soft")
    d.text(270, 70, "mma_sync(sum[i][j], a[i], b[j], sum[i][j]):", 13)
    d.text(270, 92, "one operation of the warp, 16·16·16 multiply-adds.", 12, colour="soft")
    d.text(270, 130, "6 fragments loaded, 8 products:", 13)
    d.text(270, 152, "rung 5's square of registers, one level up.", 12, colour="soft")
    d.text(270, 190, "Which lane holds which number of a fragment is not told:", 13)
    d.text(270, 212, "whoever wants to see one stores the fragment first.", 12, colour="soft")


@drawing("01_gemm_swizzle", 760, 300, "16-byte chunks of a tile's rows: as they lie, and swizzled")
def _(d):
    # A's tile: 32 numbers of 16 bits a row = 4 chunks of 16 bytes; two rows fill the 32 banks.
    def tile(x, title, place):
        d.text(x, 26, title, bold=True)
        for b in range(8):
            d.text(x + b * 40 + 20, 48, f"{4 * b}–{4 * b + 3}", 11, "middle", "soft")
        at = {}
        for row in range(8):
            for chunk in range(4):
                at[(row // 2, row % 2 * 4 + place(row, chunk))] = (row, chunk)
        d.grid(x, 56, 4, 8, 40, 34, lambda r, c: WHEEL[at[(r, c)][0]] if at[(r, c)][1] == 1 else "grey",
               lambda r, c: f"{at[(r, c)][0]},{at[(r, c)][1]}")
    tile(20, "as they lie: chunk 1 of 8 rows in 8 banks", lambda row, chunk: chunk)
    tile(400, "swizzled: in all 32", lambda row, chunk: chunk ^ (row // 2 & 3))
    d.text(20, 216, "Columns: banks. A cell is a chunk of 16 bytes: row, chunk.", 12, colour="soft")
    d.text(20, 240, "ldmatrix reads the same chunk of 8 rows at once (coloured). As they lie, rows 0, 2, 4, 6 meet in the same", 12)
    d.text(20, 258, "four banks and take turns. Swizzled, chunk c of row r lies at place c xor (r/2 mod 4): eight places.", 12)


@drawing("01_gemm_pipeline", 810, 200, "Four stages of shared memory: three tiles ahead")
def _(d):
    d.text(20, 26, "rung 10: three tiles ahead", bold=True)
    rows = [(f"stage {s}", [(t - 3 if t >= 3 else 0, (3 if t >= 3 else t), "grey", f"copy {t}") for t in range(s, 8, 4) if t > 0] +
             [(t, 1, WHEEL[s], f"· {t}") for t in range(s, 8, 4)]) for s in range(4)]
    timeline(d, 20, 40, rows, 78)
    d.text(20, 190, "A column is one tile's multiplication. A copy has three of them to arrive; then its stage is multiplied, then free.", 12, colour="soft")


# ---- 02 reduction -------------------------------------------------------------------------------------------------
def tree(d, x, title, rounds, label):
    d.text(x, 26, title, bold=True)
    for i, active in enumerate(rounds):
        d.grid(x, 40 + i * 40, 1, 16, 20, 22, lambda r, c: "orange" if active(c) else "grey", lambda r, c: c)
        d.text(x + 328, 56 + i * 40, label(i), 11, colour="soft")


@drawing("02_reduce_trees", 800, 226, "Which threads add in each round: spread thinly, or the first ones")
def _(d):
    tree(d, 20, "rung 1: thread i adds part[i + d]", [lambda c, k=k: c % (2 * 2 ** k) == 0 for k in range(4)], lambda i: f"d = {2 ** i}")
    tree(d, 410, "rung 2: the same, folded", [lambda c, k=k: c < 8 // 2 ** k for k in range(4)], lambda i: f"d = {8 // 2 ** i}")
    d.text(20, 212, "Orange: threads that add. With warps of 4, rung 1 keeps 4, 4, 2, 1 warps busy, rung 2 only 2, 1, 1, 1.", 12, colour="soft")


@drawing("02_reduce_unrolled", 760, 240, "Eight loads a thread before the tree, a warp alone after it")
def _(d):
    d.text(20, 26, "rung 3", bold=True)
    for load in range(4):
        d.grid(20 + load * 180, 40, 1, 8, 21, 22, lambda r, c: WHEEL[c])
    for load, words in enumerate(["x[i]", "x[i + 256]", "x[i + 512]", "… 8 loads"]):
        d.text(104 + load * 180, 80, words, 12, "middle", "soft")
    d.text(20, 112, "A thread adds up elements of its own colour: 256 apart, so that every load of a warp is 4 full sectors.", 12)
    for i, (w, colour, words) in enumerate([(256, "orange", "128 + 128: barrier"), (128, "orange", "64 + 64: barrier"), (64, "orange", "32 + 32: barrier"),
                                            (32, "green", "16, 8, 4, 2, 1: one warp, __syncwarp")]):
        d.cell(20, 128 + i * 24, w * 1.4, 20, colour)
        d.text(400, 143 + i * 24, words, 12)


@drawing("02_reduce_shuffle", 760, 230, "Lanes read the register of the lane 4, 2, 1 further")
def _(d):
    d.text(20, 26, "rung 4: __shfl_down_sync, drawn with 8 lanes", bold=True)
    for i, distance in enumerate((4, 2, 1)):
        d.grid(20, 44 + i * 56, 1, 8, 56, 24, lambda r, c, distance=distance: "orange" if c < distance else "grey", lambda r, c: f"lane {c}")
        for lane in range(distance):
            d.arrow(48 + (lane + distance) * 56, 70 + i * 56, 52 + lane * 56, 96 + i * 56)
        d.text(490, 60 + i * 56, f"distance {distance}", 12, colour="soft")
    d.grid(20, 44 + 3 * 56 - 6, 1, 8, 56, 18, lambda r, c: "green" if c == 0 else "grey", lambda r, c: "sum" if c == 0 else "")
    for i, words in enumerate(["No shared memory,", "no barrier: registers", "are read directly.", "Only the sums of the", "8 warps go through", "shared memory."]):
        d.text(600, 60 + 18 * i, words, 12)


@drawing("02_reduce_two_pass", 760, 210, "A grid walks along x in steps of the whole grid; one block adds the blocks' sums")
def _(d):
    d.text(20, 26, "rung 5: pass 1", bold=True)
    d.grid(20, 40, 1, 24, 28, 24, lambda r, c: WHEEL[c % 4], lambda r, c: c % 4)
    d.text(20, 84, "Block b takes piece b, b + blocks, b + 2·blocks, …; a lane takes a float4 of each, a warp 512 bytes.", 12, colour="soft")
    d.grid(20, 100, 1, 4, 56, 24, lambda r, c: WHEEL[c], lambda r, c: f"sum {c}")
    d.text(260, 117, "one sum a block, in fp64: at most 1024 of them", 12, colour="soft")
    d.text(20, 152, "pass 2: one block", bold=True)
    d.cell(20, 164, 224, 24, "green", "result")
    d.text(260, 181, "two launches for any n", 12, colour="soft")


# ---- 03 transposition ---------------------------------------------------------------------------------------------
@drawing("03_transpose_naive", 700, 240, "A warp reads a row and writes a column")
def _(d):
    s = 22
    d.text(20, 26, "in: a row, 4 sectors", bold=True)
    d.grid(20, 40, 8, 8, s, s, lambda r, c: WHEEL[c] if r == 2 else "grey")
    d.arrow(208, 126, 258, 126)
    d.text(270, 26, "out: a column, 32 sectors", bold=True)
    d.grid(270, 40, 8, 8, s, s, lambda r, c: WHEEL[r] if c == 2 else "grey")
    d.text(470, 90, "Each lane's element lands in a row", 12)
    d.text(470, 108, "of its own: a sector of 32 bytes", 12)
    d.text(470, 126, "is touched for every 4.", 12)


@drawing("03_transpose_tile", 790, 250, "Through a tile: rows are read and rows are written; the turn is made in shared memory")
def _(d):
    s = 20
    wheel = lambda hot: lambda r, c: WHEEL[c if hot == "row" else r] if (r if hot == "row" else c) == 2 else "grey"
    for x, title, hot in [(20, "in: a row, 4 sectors", "row"), (220, "tile: stored by row", "row"),
                          (420, "tile: read by column", "column"), (620, "out: a row, 4 sectors", "row")]:
        d.text(x, 26, title, 12, bold=True)
        d.grid(x, 40, 8, 8, s, s, wheel(hot))
    for x in (184, 584):
        d.arrow(x, 120, x + 32, 120)
    d.text(400, 124, "barrier", 11, "middle", "soft")
    d.text(20, 224, "Neighbouring lanes read and write neighbours in global memory. The column is read where it costs less.", 12, colour="soft")


@drawing("03_transpose_banks", 780, 300, "The tile's banks: plain, padded, swizzled; coloured is a column of the tile")
def _(d):
    def tile(x, title, where, note):
        d.text(x, 26, title, bold=True)
        for b in range(8):
            d.text(x + b * 28 + 14, 48, b, 11, "middle", "soft")
        content = {where(r, c): (r, c) for r in range(8) for c in range(8)}
        d.grid(x, 54, 8, 8, 28, 24, lambda r, c: "bg" if (r, c) not in content else (WHEEL[content[(r, c)][0]] if content[(r, c)][1] == 3 else "grey"),
               lambda r, c: "%d,%d" % content[(r, c)] if (r, c) in content else "")
        d.text(x, 266, note, 12, colour="soft")
    tile(20, "rung 2: tile[8][8]", lambda r, c: (r, c), "column 3: one bank, 8 turns")
    tile(275, "rung 3: tile[8][9]", lambda r, c: divmod(r * 9 + c, 8), "column 3: 8 banks, one turn")
    tile(530, "rung 4: tile[y][x ^ y]", lambda r, c: (r, c ^ r), "column 3: 8 banks, one turn")
    d.text(20, 290, "Drawn with 8 banks (columns); a cell names the element (row, column) that it holds.", 12)


@drawing("03_transpose_vectorised", 760, 250, "A warp of rung 5: 4 rows × 8 groups of four")
def _(d):
    s = 17
    d.text(20, 26, "load: 16 bytes a lane", bold=True)
    d.grid(20, 40, 4, 32, s, 24, lambda r, c: WHEEL[c // 4], lambda r, c: "")
    for r in range(4):
        d.text(20 + 32 * s + 10, 57 + 24 * r, f"lanes {8 * r} … {8 * r + 7}", 11, colour="soft")
    d.text(20, 160, "One request: 32 lanes × 16 bytes = 512 bytes, 16 full sectors. A lane's four elements go to the tile in four", 12)
    d.text(20, 178, "stores: in each, the lanes of a row are 4 banks apart and the rows 1 bank apart (65 elements): 32 banks.", 12)
    d.text(20, 206, "Reading by columns is the same pattern turned over: four loads, 32 banks each, then one wide store.", 12)


# ---- 04 softmax ---------------------------------------------------------------------------------------------------
@drawing("04_softmax_rows", 760, 270, "A thread a row, and a warp a row")
def _(d):
    s = 24
    d.text(20, 26, "rungs 1 and 2: a thread a row", bold=True)
    d.grid(20, 40, 8, 12, s, 20, lambda r, c: WHEEL[r] if c == 4 else "grey")
    d.text(20, 222, "At step k each lane reads class k of its own row:", 12, colour="soft")
    d.text(20, 240, "rows are far apart, a sector for each lane.", 12, colour="soft")
    d.text(400, 26, "rung 3: a warp a row", bold=True)
    d.grid(400, 40, 8, 12, s, 20, lambda r, c: WHEEL[c % 8] if r == 2 and c < 8 else "grey")
    d.text(400, 222, "At step k the lanes read 32 neighbouring classes", 12, colour="soft")
    d.text(400, 240, "of one row: 4 sectors for all of them.", 12, colour="soft")


@drawing("04_softmax_online", 800, 190, "The sum so far is rescaled when a larger logit comes")
def _(d):
    x = [2, 1, 4, 3, 6]
    d.text(20, 26, "rung 2: maximum and sum in one pass", bold=True)
    for i, v in enumerate(x):
        left = 20 + i * 155
        top = max(x[:i + 1])
        grows = i == 0 or top > max(x[:i])
        d.cell(left, 44, 130, 26, "orange" if grows else "grey", f"x = {v}", 12)
        d.text(left, 92, f"maximum {top}", 12)
        rescale = "" if i == 0 else (f"sum·e^({max(x[:i])}−{top})" if grows else "sum")
        d.text(left, 112, f"{rescale} + e^({v}−{top})" if i else f"e^({v}−{top})", 11, colour="soft")
        if i:
            d.arrow(left - 23, 57, left - 3, 57)
    d.text(20, 150, "Orange: a new maximum. All that was added so far was relative to the old one; multiplying by e^(old − new)", 12)
    d.text(20, 168, "corrects every term of it at once. What remains at the end is what two passes would have found.", 12)


@drawing("04_softmax_butterfly", 640, 230, "__shfl_xor_sync: after 3 rounds every one of 8 lanes has the maximum")
def _(d):
    values = [3, 1, 7, 2, 5, 0, 4, 6]
    d.text(20, 26, "rung 3: a butterfly, drawn with 8 lanes", bold=True)
    for i, distance in enumerate((4, 2, 1, 0)):
        d.grid(20, 44 + i * 46, 1, 8, 56, 24, lambda r, c: "green" if values[c] == 7 else "grey", lambda r, c: values[c], 12)
        if distance:
            d.text(480, 74 + i * 46, f"max with lane xor {distance}", 12, colour="soft")
            for c in range(8):
                d.line((48 + c * 56, 69 + i * 46), (48 + (c ^ distance) * 56, 89 + i * 46))
            values = [max(values[c], values[c ^ distance]) for c in range(8)]


# ---- 05 batch normalisation ---------------------------------------------------------------------------------------
@drawing("05_batchnorm_layouts", 760, 270, "A block's channel in NCHW and its 32 channels in NHWC")
def _(d):
    s = 15
    d.text(20, 26, "NCHW: a block has one channel", bold=True)
    for n in range(3):
        d.grid(20, 40 + n * 60, 3, 20, s, 16, lambda r, c: "orange" if r == 1 else "grey")
        d.text(328, 62 + n * 60, f"sample {n}", 11, colour="soft")
    d.text(20, 238, "Rows are channels, along a row lie its positions:", 12, colour="soft")
    d.text(20, 256, "a warp reads 32 positions.", 12, colour="soft")
    d.text(420, 26, "NHWC: a block has 32 channels", bold=True)
    for n in range(3):
        d.grid(420, 40 + n * 60, 3, 20, s, 16, lambda r, c: WHEEL[c % 8] if c < 8 else "grey")
    d.text(420, 238, "Rows are positions, along a row lie the channels:", 12, colour="soft")
    d.text(420, 256, "a warp reads a position of 32 channels.", 12, colour="soft")


@drawing("05_batchnorm_passes", 760, 250, "How often the activation is read and written, forward")
def _(d):
    def row(y, name, reads):
        d.text(20, y + 17, name, 12)
        for i, (colour, label) in enumerate(reads):
            d.cell(170 + i * 142, y, 138, 26, colour, label)
    d.text(20, 26, "forward, 4 bytes an element for each box", bold=True)
    row(44, "1 two passes", [("orange", "read x: mean"), ("orange", "read x: variance"), ("orange", "read x: normalise"), ("blue", "write y")])
    row(84, "2 Welford", [("orange", "read x: both"), ("orange", "read x: normalise"), ("blue", "write y")])
    row(124, "2, then a ReLU", [("orange", "read x: both"), ("orange", "read x: normalise"), ("blue", "write y, read y"), ("blue", "write ReLU(y)")])
    row(164, "3 fused", [("orange", "read x: both"), ("orange", "read x: normalise"), ("blue", "write ReLU(y)")])
    d.text(20, 222, "The statistics need all of a channel before the first y can be made: two readings of x are the least.", 12, colour="soft")


@drawing("05_batchnorm_merge", 760, 190, "Two parts of a channel with their counts, means and squared distances become one")
def _(d):
    for i, (words, colour) in enumerate([("n, mean, M₂ of lane 0", "orange"), ("n, mean, M₂ of lane 1", "blue")]):
        d.cell(20, 30 + i * 56, 210, 34, colour, words, 12)
        d.arrow(234, 47 + i * 56, 292, 75)
    d.cell(298, 58, 210, 34, "green", "n, mean, M₂ of both", 12)
    d.text(20, 140, "mean = mean₀ + (mean₁ − mean₀) · n₁/n        M₂ = M₂₀ + M₂₁ + (mean₁ − mean₀)² · n₀·n₁/n", 13)
    d.text(20, 166, "The difference of two means is small where both are right: nothing large is subtracted from something large.", 12, colour="soft")


# ---- 06 elementwise -----------------------------------------------------------------------------------------------
@drawing("06_elementwise", 760, 250, "An element a lane, and 16 bytes a lane")
def _(d):
    s = 22
    d.text(20, 26, "rung 1: 4 bytes a lane", bold=True)
    d.grid(20, 38, 1, 32, s, 24, lambda r, c: WHEEL[c % 8])
    d.text(20, 82, "32 lanes · 4 bytes = 128 bytes: one request, 4 sectors (in 16 bit 64 bytes, 2 sectors)", 12, colour="soft")
    d.text(20, 114, "rung 2: 16 bytes a lane", bold=True)
    d.grid(20, 126, 1, 32, s, 24, lambda r, c: WHEEL[c // 4 % 8])
    d.text(20, 170, "32 lanes · 16 bytes = 512 bytes: one request, 16 sectors (only the first 8 lanes are drawn)", 12, colour="soft")
    d.text(20, 206, "As many sectors as before; the requests for them are a quarter (in 16 bit an eighth).", 12)
    d.text(20, 226, "Work that neighbours share, a Philox counter or the division for a channel, is done once for a vector.", 12)


# ---- 07 pooling ---------------------------------------------------------------------------------------------------
@drawing("07_pool", 760, 240, "A 2×2 window, its maximum, its index, and the gradient's way back")
def _(d):
    x = [[1, 3, 2, 0], [2, 1, 5, 4], [0, 6, 1, 1], [2, 2, 3, 0]]
    best = {(0, 0): (0, 1), (0, 1): (1, 2), (1, 0): (2, 1), (1, 1): (3, 2)}
    winners = set(best.values())
    s = 40
    d.text(20, 26, "x", bold=True)
    d.grid(20, 38, 4, 4, s, s, lambda r, c: WHEEL[(r // 2) * 2 + c // 2] if (r, c) in winners else "grey", lambda r, c: x[r][c], 13)
    d.arrow(190, 118, 226, 118)
    d.text(236, 66, "y", bold=True)
    d.grid(236, 78, 2, 2, s, s, lambda r, c: WHEEL[r * 2 + c], lambda r, c: x[best[r, c][0]][best[r, c][1]], 13)
    d.text(336, 66, "index", bold=True)
    d.grid(336, 78, 2, 2, s, s, lambda r, c: WHEEL[r * 2 + c], lambda r, c: (best[r, c][0] % 2) * 2 + best[r, c][1] % 2, 13)
    d.text(446, 66, "dy", bold=True)
    d.grid(446, 78, 2, 2, s, s, lambda r, c: WHEEL[r * 2 + c], lambda r, c: "abcd"[r * 2 + c], 13)
    d.arrow(534, 118, 568, 118)
    d.text(576, 26, "dx", bold=True)
    d.grid(576, 38, 4, 4, s, s, lambda r, c: WHEEL[(r // 2) * 2 + c // 2] if (r, c) in winners else "grey",
           lambda r, c: "abcd"[(r // 2) * 2 + c // 2] if (r, c) in winners else "0", 13)
    d.text(20, 224, "The index (row-major in the window, one byte) says where dy goes; no element of x is read again.", 12, colour="soft")


@drawing("07_pool_vectors", 840, 210, "A channel a thread, and a vector of channels a thread, in NHWC")
def _(d):
    s = 21
    for i, (title, group) in enumerate([("rung 1: a channel a thread", 1), ("rung 2: four channels a thread", 4)]):
        x = 20 + i * 375
        d.text(x, 26, title, bold=True)
        for p in range(4):
            d.grid(x, 40 + p * 28, 1, 16, s, 22, lambda r, c: WHEEL[c // group % 8])
            d.text(x + 16 * s + 6, 56 + p * 28, ["0,0", "0,1", "1,0", "1,1"][p], 11, colour="soft")
    d.text(20, 172, "Rows: the four positions of a window, each with its channels side by side. Where the window lies is worked out by every", 12)
    d.text(20, 190, "thread: divisions by the width and height of y, for one result or for four (in fp16 for eight).", 12)


# ---- 08 optimizer -------------------------------------------------------------------------------------------------
@drawing("08_optimizer", 820, 250, "A launch for each tensor, and chunks of all tensors in one launch")
def _(d):
    tensors = [(5, "w1"), (1, "b1"), (7, "w2"), (1, "b2"), (4, "w3"), (1, "b3")]
    d.text(20, 26, "rung 1: a launch for each tensor", bold=True)
    x = 20
    for i, (n, name) in enumerate(tensors):
        d.cell(x, 40, 26, 28, "red")
        d.cell(x + 26, 40, n * 26, 28, WHEEL[i % 6], name)
        x += 26 + n * 26 + 6
    d.text(20, 90, "red: the launch itself, some microseconds, whatever the tensor's size; a small tensor leaves most of a GPU idle", 12, colour="soft")
    d.text(20, 126, "rung 2: chunks of 2048 elements, numbered through", bold=True)
    d.cell(20, 140, 26, 28, "red")
    x, chunk = 46, 0
    for i, (n, name) in enumerate(tensors):
        for k in range(n):
            d.cell(x, 140, 26, 28, WHEEL[i % 6], chunk)
            x, chunk = x + 26, chunk + 1
    d.text(20, 192, "table of first chunks: w1 0, b1 5, w2 6, b2 13, w3 14, b3 18. Block 15 finds by bisection: chunk 1 of w3.", 12)
    d.text(20, 212, "A tensor's last chunk may be short: a bias of 64 elements is one chunk, with work for 64 of its 256 threads.", 12, colour="soft")


# ---- 09 augmentation ----------------------------------------------------------------------------------------------
@drawing("09_augment", 760, 250, "Six kernels with the picture stored between them, and one kernel with it in registers")
def _(d):
    steps = ["resample", "brightness", "contrast", "saturation", "normalise", "cutout"]
    d.text(20, 26, "rung 1: each step reads and writes the picture", bold=True)
    for i, step in enumerate(steps):
        d.cell(20 + i * 120, 40, 104, 30, WHEEL[i], step)
        d.arrow(72 + i * 120, 72, 72 + i * 120, 96)
        if i:
            d.arrow(46 + i * 120, 96, 46 + i * 120, 72)
    d.cell(20, 98, 704, 24, "grey", "y in global memory, 12 bytes a pixel for each arrow")
    d.text(20, 160, "rung 2: a pixel stays in registers", bold=True)
    d.cell(20, 174, 704, 30, "green", " → ".join(steps))
    d.arrow(700, 206, 700, 220)
    d.cell(20, 222, 704, 22, "grey", "y, written once")


# ---- 10 convolution -----------------------------------------------------------------------------------------------
@drawing("10_conv_direct", 780, 230, "An output is the sum over a window, channel by channel")
def _(d):
    s = 20
    d.text(20, 26, "x: C channels", bold=True)
    for c in (2, 1, 0):
        d.grid(20 + c * 14, 66 - c * 14, 6, 6, s, s, lambda r, q: "orange" if 1 <= r < 4 and 2 <= q < 5 else "grey")
    d.arrow(190, 126, 246, 126)
    d.text(260, 60, "w[o]: C × 3 × 3", bold=True)
    d.grid(270, 90, 3, 3, s, s, lambda r, c: "blue")
    d.arrow(350, 126, 400, 126)
    d.text(420, 46, "y[o]", bold=True)
    d.grid(420, 66, 6, 6, s, s, lambda r, c: "green" if (r, c) == (2, 3) else "grey")
    d.text(20, 214, "The next output's window overlaps this one in six of nine pixels; all O outputs of a pixel use the same window.", 12, colour="soft")


@drawing("10_conv_im2col", 760, 270, "All windows as columns of a matrix; convolution is a matrix product")
def _(d):
    s = 15
    d.text(300, 26, "columns: C·9 × OH·OW", bold=True)
    d.grid(300, 40, 9, 16, s, s, lambda r, c: "orange" if c == 5 else "grey")
    d.text(60, 186, "w: O × C·9", bold=True)
    d.grid(60, 196, 3, 9, s, s, lambda r, c: "blue" if r == 1 else "grey")
    d.grid(300, 196, 3, 16, s, s, lambda r, c: "green" if (r, c) == (1, 5) else "grey")
    d.text(550, 222, "y: O × OH·OW", bold=True)
    for i, words in enumerate(["A column is one window, so", "a pixel stands in 9 of them.", "Rung 2 stores this matrix;", "rung 3 works out where an", "element of it lies in x."]):
        d.text(560, 70 + 18 * i, words, 12)


@drawing("10_conv_implicit", 760, 240, "A tile of the matrix of windows is fetched from x itself")
def _(d):
    s = 16
    d.text(20, 26, "x, NHWC: channels of a pixel side by side", bold=True)
    for r in range(4):
        for c in range(4):
            hot = r == 1 and 1 <= c < 3
            d.grid(20 + c * 76, 40 + r * 34, 1, 4, s, 24, lambda a, b, hot=hot: "orange" if hot else "grey")
    d.arrow(330, 106, 388, 106)
    d.text(400, 26, "a tile in shared memory", bold=True)
    d.grid(400, 40, 8, 8, s, s, lambda r, c: "orange" if c == 3 else "grey")
    d.text(400, 190, "rows: k (tap, channel); columns: output pixels", 12, colour="soft")
    for i, words in enumerate(["k and pixel give tap,", "channel, row and column,", "and so an address in x, or", "a 0 in the padding. The", "product itself is GEMM's."]):
        d.text(560, 60 + 18 * i, words, 12)
    d.text(20, 206, "Orange: two taps of one window, 4 channels each, and where they lie in the tile.", 12, colour="soft")
    d.text(20, 226, "Neighbouring k are neighbouring channels: a warp's loads are contiguous as long as C allows.", 12, colour="soft")


@drawing("10_conv_pooled", 780, 250, "The rows of a tile in another order: four neighbours are a pooling window")
def _(d):
    s = 30
    for i, (title, number) in enumerate([("rung 6: row m is output pixel m", lambda r, c: r * 8 + c),
                                         ("rung 7: rows 4·k … 4·k + 3 are window k", lambda r, c: (c // 2) * 4 + r % 2 * 2 + c % 2 + r // 2 * 16)]):
        x = 20 + i * 400
        d.text(x, 26, title, bold=True)
        d.grid(x, 40, 4, 8, s, s, lambda r, c: WHEEL[r // 2 * 4 + c // 2], lambda r, c, number=number: number(r, c))
    d.text(20, 190, "Output pixels of a picture of 4×8, with their row in the tile; a colour is a window of the pooling.", 12)
    d.text(20, 210, "Left, the first 8 rows of the tile hold halves of four windows: the other halves may lie in another block.", 12, colour="soft")
    d.text(20, 230, "Right, they hold two whole windows, and the block that made them can take their maximum.", 12, colour="soft")


@drawing("10_conv_slices", 780, 220, "A sum over all pixels, cut into slices that blocks make side by side")
def _(d):
    d.text(20, 26, "dw: few tiles, a long sum", bold=True)
    for k in range(4):
        d.cell(20 + k * 110, 44, 104, 40, WHEEL[k], f"pixels of slice {k}", 12)
        d.arrow(72 + k * 110, 88, 72 + k * 110, 112)
        d.cell(42 + k * 110, 116, 60, 40, WHEEL[k], f"dw of {k}", 12)
    d.arrow(468, 136, 520, 136)
    d.cell(526, 116, 60, 40, "grey", "dw", 13)
    d.text(596, 132, "added in the order", 12, colour="soft")
    d.text(596, 150, "0, 1, 2, 3: always", 12, colour="soft")
    d.text(20, 190, "Four times as many blocks work at once. The price: each slice's dw is written and read again.", 12)


@drawing("10_conv_gradients", 760, 250, "Three products of the same three matrices: fprop, dgrad, wgrad")
def _(d):
    rows = [("fprop", "y", "w", "windows of x", "O × pixels", "green", "blue", "orange"),
            ("dgrad", "dx", "wᵀ", "windows of dy", "C × pixels", "orange", "blue", "green"),
            ("wgrad", "dw", "dy", "(windows of x)ᵀ", "O × C·9", "blue", "green", "orange")]
    for i, (name, out, a, b, size, co, ca, cb) in enumerate(rows):
        y = 40 + i * 62
        d.text(20, y + 25, name, 13, bold=True)
        d.cell(110, y, 90, 40, co, out, 13)
        d.text(215, y + 25, "=", 14)
        d.cell(238, y, 90, 40, ca, a, 13)
        d.text(338, y + 25, "·", 14)
        d.cell(352, y, 160, 40, cb, b, 13)
        d.text(530, y + 25, f"{out}: {size}", 12, colour="soft")
    d.text(20, 236, "wgrad's sum runs over all pixels of the batch: few tiles of results, a long K. It is cut into slices.", 12, colour="soft")


@drawing("10_conv_winograd", 760, 250, "Winograd: transform, multiply element by element over channels, transform back")
def _(d):
    s = 20
    d.text(20, 26, "4×4 pixels of x", bold=True)
    d.grid(20, 40, 4, 4, s, s, lambda r, c: "orange")
    d.arrow(106, 80, 150, 80)
    d.text(104, 66, "Bᵀ·x·B", 11, colour="soft")
    d.grid(156, 40, 4, 4, s, s, lambda r, c: "yellow")
    d.text(156, 26, "V", bold=True)
    d.text(20, 150, "3×3 weights", bold=True)
    d.grid(20, 164, 3, 3, s, s, lambda r, c: "blue")
    d.arrow(86, 194, 150, 194)
    d.text(90, 182, "G·w·Gᵀ", 11, colour="soft")
    d.grid(156, 154, 4, 4, s, s, lambda r, c: "teal")
    d.text(156, 148, "U", bold=True)
    d.arrow(242, 80, 300, 112)
    d.arrow(242, 194, 300, 150)
    d.text(306, 74, "M: 16 products", bold=True)
    d.grid(306, 90, 4, 4, s, s, lambda r, c: "violet")
    d.text(306, 188, "one for each place,", 12, colour="soft")
    d.text(306, 206, "summed over channels", 12, colour="soft")
    d.arrow(392, 130, 450, 130)
    d.text(394, 122, "Aᵀ·M·A", 11, colour="soft")
    d.grid(460, 110, 2, 2, s, s, lambda r, c: "green")
    d.text(460, 98, "2×2 of y", bold=True)
    d.text(530, 110, "16 multiplications for 4 outputs,", 12)
    d.text(530, 128, "where the definition needs 36:", 12)
    d.text(530, 146, "2.25 times fewer. F(4×4, 3×3):", 12)
    d.text(530, 164, "36 for 16 instead of 144, 4 times.", 12)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                          pathlib.Path(__file__).resolve().parent.parent / "docs/course/images")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in DRAWINGS.items():
        (folder / f"{name}.svg").write_text(make().svg(), encoding="utf-8")
    print(f"{len(DRAWINGS)} drawings in {folder}")


if __name__ == "__main__":
    main()

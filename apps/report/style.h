// The look of every report: one style sheet, two colour schemes, wide and narrow screens, paper.
#pragma once

#include <string_view>

namespace lathe {

// Series colours --c0 … --c3 keep apart for colour-blind readers (blue, orange, teal, purple).
constexpr std::string_view kStyle = R"css(
:root {
  --page: #f6f7f9; --card: #ffffff; --text: #16202e; --muted: #5d6b7e; --line: #e1e6ed; --soft: #f0f3f7;
  --c0: #2463d6; --c1: #d9660a; --c2: #0b8a7d; --c3: #8a4fd0; --heat: 36,99,214; --miss: 217,102,10;
  --strong: #ffffff; --good: #0a7a4b; --good-soft: #e0f4ea; --bad: #b42318; --bad-soft: #fdecea;
  --warn: #8a5a00; --warn-soft: #fff3d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e141c; --card: #161e29; --text: #e4eaf2; --muted: #94a3b8; --line: #2a3544; --soft: #1d2734;
    --c0: #72a7ff; --c1: #ffa04d; --c2: #3ecdbb; --c3: #c39bff; --heat: 114,167,255; --miss: 255,160,77;
    --strong: #0b1017; --good: #5fd6a0; --good-soft: #12352a; --bad: #ff8f85; --bad-soft: #40201f;
    --warn: #f2c766; --warn-soft: #3a2f14;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 60px; }
header { margin: 0 0 18px; }
h1 { font-size: 26px; line-height: 1.2; margin: 2px 0 4px; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 0 0 14px; letter-spacing: -.005em; }
h3 { font-size: 14px; margin: 22px 0 8px; } .columns h3:first-child, h2 + h3 { margin-top: 0; }
p { margin: 0 0 10px; max-width: 75ch; }
.brand { color: var(--c0); font-weight: 700; font-size: 13px; letter-spacing: .06em; text-transform: uppercase; }
.muted, .note { color: var(--muted); }
.note { font-size: 13px; }
nav { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 0; font-size: 14px; }
a { color: var(--c0); text-decoration: none; }
a:hover { text-decoration: underline; }
section, .verdict { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 22px 24px; margin: 0 0 16px; }
.verdict { display: grid; grid-template-columns: auto 1fr; gap: 6px 28px; align-items: center; }
.verdict .figure { font-size: 52px; line-height: 1; font-weight: 700; letter-spacing: -.03em;
  font-variant-numeric: tabular-nums; }
.verdict .figure small { font-size: 24px; font-weight: 600; letter-spacing: 0; }
.verdict p { margin: 0 0 6px; }
.verdict .interval { max-width: 620px; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 99px; font-size: 12px; font-weight: 650;
  background: var(--soft); color: var(--muted); white-space: nowrap; }
.badge.good { background: var(--good-soft); color: var(--good); }
.badge.bad { background: var(--bad-soft); color: var(--bad); }
.badge.warn, .warning { background: var(--warn-soft); color: var(--warn); }
.warning { padding: 8px 12px; border-radius: 8px; margin: 0 0 8px; max-width: none; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; margin: 0 0 16px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 12px 16px; }
.tile b { display: block; font-size: 20px; font-weight: 650; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.tile span { color: var(--muted); font-size: 13px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 26px 36px; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: 14px; font-weight: 600; margin: 0 0 4px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 13px; font-weight: 400; color: var(--muted); }
.legend i { display: inline-block; width: 16px; margin-right: 6px; vertical-align: middle; border-top: 3px solid; }
.legend i.dashed { border-top-style: dotted; }
.legend i.box { width: 10px; height: 10px; border: 0; border-radius: 3px; background: currentColor; vertical-align: -1px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 12px; fill: var(--muted); font-family: inherit; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--muted); } svg .mark { stroke: var(--muted); stroke-dasharray: 3 3; }
svg .label { fill: var(--text); } svg .track { fill: var(--soft); } svg .gap { stroke: var(--card); stroke-width: 2; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
svg .dashed { stroke-dasharray: 1 5; stroke-width: 2.4; }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); } .s3 { stroke: var(--c3); }
.f0 { fill: var(--c0); color: var(--c0); } .f1 { fill: var(--c1); color: var(--c1); }
.f2 { fill: var(--c2); color: var(--c2); } .f3 { fill: var(--c3); color: var(--c3); }
.f4 { fill: var(--muted); color: var(--muted); }
.scroll { overflow-x: auto; margin: 0 0 10px; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 18px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
td:first-child { min-width: 8.5em; } .columns th, .columns td { padding-right: 13px; }
th { color: var(--muted); font-weight: 600; font-size: 13px; border-bottom-color: var(--muted); white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
tr:last-child td { border-bottom: 0; }
.heat th, .heat td { border: 0; padding: 0; font-size: 13px; }
.heat td { width: 58px; min-width: 44px; height: 34px; text-align: center; border: 2px solid var(--card); border-radius: 6px;
  vertical-align: middle; background-clip: padding-box; }
.heat th { max-width: 175px; overflow: hidden; text-overflow: ellipsis; vertical-align: middle; padding: 4px 8px 4px 0;
  text-align: right; overflow-wrap: normal; }
.heat thead th { padding: 4px; text-align: center; vertical-align: bottom; max-width: 84px; white-space: normal; line-height: 1.25; }
.heat .tall th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; max-height: 130px; }
.heat .hit { background-color: rgba(var(--heat), var(--v)); } .heat .miss { background-color: rgba(var(--miss), var(--v)); }
.heat .strong { color: var(--strong); font-weight: 600; } .heat .zero { color: var(--muted); }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(104px, 1fr)); gap: 14px 12px; }
.pictures img { width: 100%; aspect-ratio: 1; object-fit: contain; border-radius: 8px; background: var(--soft);
  display: block; image-rendering: auto; }
.pictures figcaption { font-size: 12px; font-weight: 400; line-height: 1.35; margin: 5px 0 0; overflow-wrap: anywhere; }
.pictures .small img { image-rendering: pixelated; }
dl { display: grid; grid-template-columns: minmax(110px, max-content) 1fr; gap: 4px 20px; margin: 0 0 12px; font-size: 14px; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
pre { background: var(--soft); border-radius: 8px; padding: 12px 14px; margin: 0 0 14px; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 8px 0; } summary { cursor: pointer; color: var(--c0); font-size: 14px; } details > *:not(summary) { margin-top: 10px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 6px 36px; }
.columns > * { min-width: 0; }
@media (max-width: 560px) {
  main { padding: 18px 12px 40px; } section, .verdict { padding: 16px 15px; border-radius: 10px; }
  .verdict { grid-template-columns: 1fr; } .verdict .figure { font-size: 44px; } h1 { font-size: 22px; }
  th, td { padding-right: 12px; } .pictures { grid-template-columns: repeat(auto-fill, minmax(86px, 1fr)); } .tiles { grid-template-columns: 1fr 1fr; gap: 8px; } .heat td { width: 44px; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 6px; }
}
@media print { body { background: none; } section, .verdict { break-inside: avoid; } nav { display: none; } }
)css";

}  // namespace lathe

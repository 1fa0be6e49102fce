"""The look of the written report: one column, calm type, tables that print."""

from typing import Final

STYLE: Final = """
:root { --ink: #1f2933; --soft: #52606d; --faint: #7b8794; --line: #e4e7eb; --paper: #ffffff;
  --tint: #f5f7fa; --blue: #0072b2; --amber: #9a6700; --green: #00664a; }
* { box-sizing: border-box; }
html { background: var(--tint); }
body { margin: 0 auto; max-width: 58rem; padding: 4rem 4.5rem 5rem; background: var(--paper);
  color: var(--ink); font: 16px/1.6 Inter, "Segoe UI", "Helvetica Neue", Helvetica, Arial,
  sans-serif; -webkit-font-smoothing: antialiased; font-variant-numeric: tabular-nums; }
header { border-bottom: 1px solid var(--line); padding-bottom: 1.6rem; margin-bottom: 2.2rem; }
h1 { font-size: 2.1rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0.2rem 0 0.6rem;
  font-weight: 650; }
.kicker { color: var(--blue); font-size: 0.8rem; letter-spacing: 0.08em; font-weight: 600;
  text-transform: uppercase; margin: 0; }
.lead { font-size: 1.12rem; color: var(--soft); margin: 0; max-width: 44rem; }
.remarks { white-space: pre-line; border-left: 3px solid var(--line); padding-left: 1rem;
  color: var(--soft); margin: 1.2rem 0 0; }
h2 { font-size: 1.3rem; letter-spacing: -0.01em; margin: 3rem 0 0.6rem; font-weight: 620; }
h3 { font-size: 1rem; margin: 1.8rem 0 0.4rem; font-weight: 600; }
p { margin: 0.5rem 0; max-width: 46rem; }
ul { margin: 0.4rem 0; padding-left: 1.2rem; max-width: 46rem; }
li { margin: 0.25rem 0; }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1px; background: var(--line);
  border: 1px solid var(--line); border-radius: 10px; overflow: hidden; margin: 0 0 1rem; }
.card { background: var(--paper); padding: 1rem 1.1rem; }
.card b { display: block; font-size: 1.55rem; font-weight: 620; letter-spacing: -0.02em;
  line-height: 1.25; }
.card span { color: var(--soft); font-size: 0.85rem; }
figure { margin: 1.4rem 0 0.6rem; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--faint); font-size: 0.85rem; margin-top: 0.3rem; }
.wide { overflow-x: auto; }
h1, p, li, td, figcaption { overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; margin: 1rem 0; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid #cbd2d9;
  padding: 0.35rem 0.5rem; vertical-align: bottom; }
td { border-bottom: 1px solid var(--line); padding: 0.38rem 0.5rem; vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; min-width: 7rem; }
th.n, td.n { text-align: right; white-space: nowrap; }
.say { color: var(--soft); font-size: 0.9rem; }
.tag { display: inline-block; white-space: nowrap; font-size: 0.78rem; padding: 0 0.5rem;
  border-radius: 999px; background: var(--tint); color: var(--soft);
  border: 1px solid var(--line); }
.tag.identified { color: var(--green); border-color: #b7e0d2; background: #effaf6; }
.tag.anchored { color: var(--blue); border-color: #b8d9ec; background: #eef6fb; }
.tag.open { color: var(--amber); border-color: #ecd9a6; background: #fdf8ea; }
.small { color: var(--faint); font-size: 0.85rem; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: 8px;
  padding: 0.8rem 1rem; font: 0.84rem/1.55 "SF Mono", ui-monospace, Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line);
  color: var(--faint); font-size: 0.82rem; }
@media (max-width: 46rem) { body { padding: 2rem 1.3rem; } .cards { grid-template-columns:
  repeat(2, 1fr); } }
@page { margin: 18mm 16mm; }
@media print { html { background: none; } body { padding: 0; max-width: none; font-size: 10.5pt;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3, p:has(+ figure) { break-after: avoid; break-inside: avoid; }
  figure, tr, li, .cards, pre { break-inside: avoid; }
  h2 { margin-top: 2rem; } td, th { padding-top: 0.22rem; padding-bottom: 0.22rem; }
  p, li { orphans: 3; widows: 3; } footer { margin-top: 1.2rem; break-before: avoid; }
  figure svg { max-height: 17cm; }
  .wide { overflow: visible; } thead { display: table-header-group; }
  a { color: inherit; text-decoration: none; } }
""".strip()

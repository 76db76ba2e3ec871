import { DARK, LIGHT } from '../charts/palette.ts'
import type { Palette } from '../charts/palette.ts'

/** The style sheet of the page: two schemes, print, and everything down to 320 pixels. System fonts, no images. */
export function styleSheet (): string {
  return `${SCHEMES}${PAGE}${TABLES}${CHARTS}${NARROW_AND_PRINT}${steps(LIGHT)}@media screen and (prefers-color-scheme:dark){${steps(DARK)}}`
}

/** One rule for each step of the colour scales. */
function steps ({ changes, costs }: Palette): string {
  const rules = (name: string, swatches: Palette['changes']): string =>
    swatches.map(({ fill, ink }, at) => `.${name}-${at}{--fill:${fill};--on:${ink}}`).join('')
  return rules('change', changes) + rules('cost', costs)
}

/** Every ink has a contrast of 4.5 or more on both `--page` and `--surface`. */
const SCHEMES = `
:root{color-scheme:light;--page:#f6f6f3;--surface:#fff;--ink:#14171c;--soft:#575e6a;--rule:#dcdfe3;--faint:#eceef0;--focus:#0b5cad;
--improved:#0a5aa8;--regressed:#a34100;--unsure:#6a4a9c;--failed:#b01f18;--held:#0f6b45;
--s0:#006874;--s1:#8a2f9b;--s2:#626000;--s3:#a01c52;--s4:#2d6a2f;--s5:#4048a8;--s6:#7a4a21;--s7:#4d5562}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--page:#0d1014;--surface:#15191f;--ink:#e8eaee;--soft:#a0a8b4;--rule:#2b313a;--faint:#1f242b;--focus:#7cbcff;
--improved:#74b6ff;--regressed:#ffa45e;--unsure:#c4a5f5;--failed:#ff8b82;--held:#5fd6a4;
--s0:#58d5e0;--s1:#e29af0;--s2:#d2d65a;--s3:#ff92b8;--s4:#7fd787;--s5:#aab4ff;--s6:#e0b48c;--s7:#b8c0cc}}
`

const PAGE = `
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
header,main,footer{max-width:80rem;margin:0 auto;padding:0 clamp(.75rem,3vw,2.5rem)}
header{padding-top:clamp(1.5rem,5vw,4rem)}
h1,h2,h3,h4{line-height:1.15;text-wrap:balance;margin:0}
h1{font-size:clamp(2rem,1.3rem + 3.2vw,3.75rem);font-weight:680;letter-spacing:-.03em}
h1 span{white-space:nowrap}h1 .regressed{color:var(--regressed)}h1 .improved{color:var(--improved)}h1 .failed{color:var(--failed)}
h2{font-size:clamp(1.4rem,1.15rem + 1vw,1.9rem);letter-spacing:-.02em;font-weight:660;margin:3.5rem 0 .25rem;padding-top:1.25rem;border-top:2px solid var(--ink)}
h3{font-size:1.06rem;font-weight:640;margin:2.5rem 0 .5rem}
h4{font-size:.95rem;font-weight:600;margin:1.2rem 0 .8rem}
p{margin:.4rem 0}
a{color:inherit;text-underline-offset:.2em;text-decoration-color:var(--soft)}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:2px solid var(--focus);outline-offset:2px;border-radius:3px}
.kicker,.lede,.note,.soft,figcaption .soft{color:var(--soft)}
.kicker{font-size:.9rem;margin:0 0 .6rem}
.lede{font-size:1.06rem;max-width:62rem;margin:.9rem 0 1.1rem}
.note{font-size:.9rem;max-width:58rem;margin:.25rem 0 .9rem}
.soft{font-weight:400}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--surface);padding:.3rem .6rem;z-index:2}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;margin:0;padding:0;list-style:none;font-size:.92rem}
nav a{display:inline-block;padding:.2rem 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.5rem,1fr));gap:0 1rem;margin:1.5rem 0 .75rem;padding:0;list-style:none}
.tiles li{padding:.35rem 0;color:var(--soft)}
.tiles b{display:block;font-size:2.5rem;line-height:1.1;font-weight:620;letter-spacing:-.03em}
.tiles .nobody b{font-weight:300}
.tiles li>span{font-size:.9rem}
.tiles .improved:not(.nobody){color:var(--improved)}.tiles .regressed:not(.nobody){color:var(--regressed)}.tiles .failed{color:var(--failed)}.tiles .inconclusive{color:var(--unsure)}
.share{display:flex;gap:2px;height:.5rem;margin-bottom:.5rem}
.share span{background:var(--rule);min-width:4px}
.share .improved{background:var(--improved)}.share .regressed{background:var(--regressed)}.share .failed{background:var(--failed)}.share .inconclusive{background:var(--unsure)}.share .no-change{background:var(--soft)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,18rem),1fr));gap:.9rem 2rem;margin:.75rem 0}
.facts dt{font-size:.82rem;color:var(--soft)}.facts dd{margin:0}
footer{margin-top:4rem;padding-bottom:3rem;color:var(--soft);font-size:.88rem}
details.group{border-top:1px solid var(--rule);padding:.2rem 0 .5rem}
summary{cursor:pointer;padding:.35rem 0;width:fit-content}
details.group>summary{font-weight:600}
details.data>summary{font-size:.82rem;color:var(--soft);padding:.15rem 0}
`

const TABLES = `
.scroll{overflow-x:auto;max-width:100%;position:relative}
table{border-collapse:collapse;font-size:.86rem;line-height:1.35;overflow-wrap:normal}
th,td{padding:.34rem .55rem;text-align:left;font-weight:400;border-bottom:1px solid var(--faint);white-space:nowrap;vertical-align:baseline}
th:first-child,td:first-child{padding-left:0}
thead th{color:var(--soft);border-bottom:1px solid var(--rule);vertical-align:bottom}
.data table{font-size:.8rem;margin:.2rem 0 .6rem}.data td,.data th[scope=col]:not(:first-child){text-align:right}
.claims th[scope=row]{white-space:normal;min-width:11rem}
.cells{width:100%}
.cells .figure{text-align:right}
.cells tbody tr:hover{background:var(--faint)}
.cells thead th{position:sticky;top:0;background:var(--page);z-index:1}
.cells .error{white-space:normal;min-width:16rem;color:var(--failed)}
.cells .words:last-child{color:var(--soft);font-size:.8rem}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;margin:0;cursor:pointer;white-space:nowrap}
th button:disabled{cursor:auto;color:inherit}
th button:enabled:hover{color:var(--ink)}
th button:enabled::after{content:"↕";display:inline-block;width:1.1em;text-align:right;opacity:.45}
th[aria-sort=ascending] button::after{content:"↑";opacity:1}th[aria-sort=descending] button::after{content:"↓";opacity:1}
th[aria-sort=ascending],th[aria-sort=descending]{color:var(--ink)}
.verdict{white-space:nowrap;color:var(--soft)}
.verdict.improved{color:var(--improved)}.verdict.regressed{color:var(--regressed)}.verdict.inconclusive,.verdict.open{color:var(--unsure)}.verdict.failed,.verdict.broken{color:var(--failed)}.verdict.held{color:var(--held)}
.bracketed .cells .verdict::before,.bracketed .tiles li>span::before{content:"("}.bracketed .cells .verdict::after,.bracketed .tiles li>span::after{content:")"}
.choice{border:0;padding:0;margin:.75rem 0;display:flex;flex-wrap:wrap;gap:.4rem;align-items:center;font-size:.88rem}
.choice legend{float:left;color:var(--soft);padding:0 .4rem 0 0}
.choice input{position:absolute;opacity:0;width:1px;height:1px}
.choice label>span{display:block;padding:.2rem .75rem;border:1px solid var(--rule);border-radius:99px;cursor:pointer;background:var(--surface)}
.choice label:hover>span{border-color:var(--soft)}
.choice b{font-weight:600}
.choice input:checked+span{border-color:var(--ink);box-shadow:inset 0 0 0 1px var(--ink)}
.choice input:focus-visible+span{outline:2px solid var(--focus);outline-offset:2px}
${['regressed', 'improved', 'no-change', 'inconclusive', 'failed', 'not-compared']
  .map((verdict) => `section:has(>.choice .show-${verdict}:checked) .cells tbody tr:not(.is-${verdict})`).join(',')}{display:none}
`

const CHARTS = `
figure{margin:0;min-width:0}
figcaption{font-size:.9rem;font-weight:600;padding:0 0 .35rem}
.grid{display:grid;gap:1.6rem 2.2rem;align-items:start}
.grid.heat{gap:1.4rem 1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,var(--column)),max-content))}
.grid.lines{grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr))}
.grid.forest{grid-template-columns:repeat(auto-fill,minmax(min(100%,34rem),1fr))}
.grid.panels{grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:1.1rem 1.6rem;margin-top:.5rem;align-items:end}
.wide{margin-top:1rem}
svg{display:block;font:12px/1 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;fill:var(--ink);overflow:visible}
svg.legend{max-width:100%;height:auto;margin:0 0 1rem}
svg.spark{display:inline-block;vertical-align:-3px}
.lines svg,.panels svg{width:100%;height:auto}
.lines svg{max-width:30rem}.panels svg{max-width:22rem}
.wide svg{width:100%;max-width:64rem;height:auto}.forest svg{max-width:100%;height:auto}
.middle{text-anchor:middle}.end{text-anchor:end}
path{fill:none;stroke:var(--ink)}
svg .tick,svg .axis,svg .soft{fill:var(--soft)}text.tick,text.axis{font-size:11.5px}
.rule,.grid-lines path{stroke:var(--rule)}.zero,.tick-line{stroke:var(--soft)}.zero{opacity:.6}.border{stroke:var(--soft);stroke-dasharray:2 3}
.noise{fill:var(--rule);opacity:.75}
.cell rect{fill:var(--fill);stroke:none}.cell text{fill:var(--on);text-anchor:middle;font-size:13px;font-weight:560}.cell .change{font-size:11px;font-weight:400}
.cell.plain{--fill:var(--faint);--on:var(--ink)}.cell.none text{fill:var(--soft)}
.cell.broken rect{fill:none;stroke:var(--failed);stroke-dasharray:3 3}.cell.broken text{fill:var(--failed);font-size:11.5px}
.cell.marked rect{stroke:var(--ink);stroke-width:2}.cell.marked .change{font-weight:640}
.grid.heat svg{max-width:100%;height:auto}
${Array.from({ length: 8 }, (_, at) => `.series-${at}{--hue:var(--s${at})}`).join('')}
.band{fill:var(--hue);stroke:none;opacity:.2}.line{stroke:var(--hue);stroke-width:2;stroke-linejoin:round}.mark{fill:var(--hue);stroke:var(--page);stroke-width:1}.series-7 .mark{fill:var(--page);stroke:var(--hue);stroke-width:2}
.leader{stroke:var(--hue);opacity:.45}.name{font-size:12px}.lines .name{fill:var(--hue);font-weight:600}.slope{font-weight:400;fill:var(--ink)}
.forest .change{font-size:11.5px}.forest .heading{font-size:11.5px;font-weight:600}
.mark-improved,.mark-regressed,.mark-inconclusive,.mark-no-change,.mark-held,.mark-broken,.mark-open{--hue:var(--soft)}
.mark-improved{--hue:var(--improved)}.mark-regressed{--hue:var(--regressed)}.mark-inconclusive,.mark-open{--hue:var(--unsure)}.mark-broken{--hue:var(--failed)}.mark-held{--hue:var(--held)}
g[class^=mark-] path{stroke:var(--hue);stroke-width:1.6}g[class^=mark-] .shape{fill:var(--hue);stroke-width:2}.mark-improved .shape,.mark-regressed .shape{stroke:none!important}.mark-inconclusive .shape{fill:var(--page)!important;stroke-width:1.6}
.dots{stroke:var(--ink);stroke-width:3;stroke-linecap:round;opacity:.62}.dots.faint{opacity:.3}.dots.beyond{stroke:var(--regressed);opacity:1;stroke-width:4}
.violin{fill:var(--s0);stroke:none;opacity:.22}.interval{stroke:var(--s0);stroke-width:4;stroke-linecap:round}.figure-line{stroke:var(--s0);stroke-width:2}
.trend{stroke:var(--ink);stroke-width:2;stroke-linejoin:round}
.panels figcaption{font-weight:500;font-size:.84rem;padding-bottom:.1rem}.flag{display:block;color:var(--unsure);font-size:.78rem;font-weight:400;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
`

const NARROW_AND_PRINT = `
@media (min-width:48rem){.scroll:has(>.cells){max-height:90vh;overflow:auto}}
@media (max-width:30rem){h2{margin-top:2.5rem}.tiles{grid-template-columns:1fr 1fr}.tiles b{font-size:2rem}}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{@page{margin:14mm}:root{--page:#fff}body{font-size:9pt}.scroll{overflow:visible!important;max-height:none!important}nav,.skip,.choice,details.data{display:none}
svg,.share,.tiles{print-color-adjust:exact;-webkit-print-color-adjust:exact}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}thead th{position:static!important}table{font-size:7pt}th,td{padding:.2rem .25rem}.cells .words:last-child{white-space:normal}.grid.lines{grid-template-columns:1fr 1fr}.cells .spark{display:none}th button::after{content:none!important}svg{min-width:0!important}
details.group::details-content{content-visibility:visible;height:auto;display:block}}
`

/**
 * The interface as one page: every operation by tag, with its parameters, bodies and answers, and a box to try it. It asks
 * for nothing but the OpenAPI document of the same server, and its policy lets no other script run.
 */
import { createHash } from 'node:crypto';
import { DOCS_SCRIPT } from './docs-script.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #0a6e5c; }
@media (prefers-color-scheme: dark) { :root { --accent: #58d6bd; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
h1 { margin: 0; } h2 { margin: 2rem 0 .5rem; text-transform: capitalize; }
header { border-bottom: 1px solid var(--line); padding-bottom: 1rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .6rem; padding: .5rem .8rem; align-items: baseline; }
details > div { border-top: 1px solid var(--line); padding: .8rem; }
.method { color: var(--accent); font: 600 13px ui-monospace, monospace; min-width: 4.5rem; }
.path { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.words { color: GrayText; margin-left: auto; }
label { display: block; margin: .5rem 0; } label > span { display: block; font-size: 13px; }
input, textarea, select { box-sizing: border-box; font: 13px ui-monospace, monospace; padding: .4rem; width: 100%; }
td { border-top: 1px solid var(--line); font-size: 13px; padding: .2rem .6rem .2rem 0; vertical-align: top; }
textarea { min-height: 8rem; } button { font: inherit; padding: .3rem 1rem; }
pre { background: var(--soft); border-radius: 6px; max-height: 30rem; overflow: auto; padding: .8rem; white-space: pre-wrap; }
.note { color: GrayText; font-size: 13px; white-space: pre-line; }
`;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export const DOCS_PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(DOCS_SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Carillon: REST interface</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>Carillon</h1>
<p id="about" class="note"></p>
<label><span>Key for the requests you try here. It stays in this tab.</span>
<input id="key" type="password" autocomplete="off" placeholder="Bearer key"></label>
<label><span>Find an operation</span><input id="find" type="search" placeholder="pause, dead letters, /jobs …"></label>
<p class="note">The whole document: <a href="openapi.json">openapi.json</a></p>
</header>
<main id="operations"><p>Reading the document …</p></main>
<noscript>This page needs JavaScript; the document itself is <a href="openapi.json">openapi.json</a>.</noscript>
<script>${DOCS_SCRIPT}</script>
</body>
</html>
`;

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file of the documentation page. */
export interface Page {
  readonly type: string;
  readonly content: Buffer;
}

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

// Without `validatorUrl: null`, the page would send the document to a validator on the internet.
const start = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#page', deepLinking: true, docExpansion: 'none', filter: true, validatorUrl: null });
`;

/** Forbids resources of other servers, inline scripts, and frames of other pages around this one. */
export const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The files of the Swagger UI package that the page needs. */
export const pageAssets = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const;

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

const own: ReadonlyMap<string, Page> = new Map([
  ['', { type: 'text/html; charset=utf-8', content: Buffer.from(html) }],
  ['start.js', { type: 'text/javascript; charset=utf-8', content: Buffer.from(start) }],
]);

/** The page at `/docs`, or a file of it; undefined for any other name. */
export function documentationPage(name: string): Page | undefined {
  const asset = pageAssets.find((known) => known === name);
  if (asset === undefined) return own.get(name);
  return {
    type: types[asset.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    content: readFileSync(assetPath(asset)),
  };
}

/** The asset beside the bundled daemon, or in the npm package when the daemon runs from source. */
function assetPath(asset: string): string {
  const beside = fileURLToPath(new URL(`./docs/${asset}`, import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(import.meta.resolve(`swagger-ui-dist/${asset}`));
}

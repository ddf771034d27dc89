import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file of the documentation page, as it goes out. */
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

// Without an address of a validator the page asks nobody but us.
const start = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#page', deepLinking: true, docExpansion: 'none', filter: true, validatorUrl: null });
`;

/** Nothing is loaded from elsewhere, nothing inline is run, and no other page may show this one. */
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

/** The files that Swagger UI's page needs, by name. The rest of its package is other ways to build it. */
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
  const asset = pageAssets.find((one) => one === name);
  if (asset === undefined) return own.get(name);
  return {
    type: types[asset.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    content: readFileSync(placeOf(asset)),
  };
}

/** Beside the bundle, or in the package that they come from. */
function placeOf(asset: string): string {
  const beside = fileURLToPath(new URL(`./docs/${asset}`, import.meta.url));
  return existsSync(beside) ? beside : fileURLToPath(import.meta.resolve(`swagger-ui-dist/${asset}`));
}

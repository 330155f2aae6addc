import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { basePath } from '../../platform/http/base_path.ts';
import { notFound } from '../../platform/http/errors.ts';
import { hiddenRoute, problem } from '../../platform/http/hidden_route.ts';
import { built_console, readAsset } from './build.ts';
import type { Asset } from './build.ts';
import { consoleHeaders, createNonce, reference_headers, site_headers } from './policy.ts';
import { hasSiteFile, readSiteFile } from './site.ts';

const asset_route = hiddenRoute({
  200: ['text/javascript', 'text/css', 'image/svg+xml', 'font/woff2'],
  404: [problem],
});
const site_route = hiddenRoute({
  200: [
    'text/html',
    'text/javascript',
    'text/css',
    'application/json',
    'image/svg+xml',
    'image/gif',
    'image/png',
    'image/webp',
    'font/woff2',
  ],
  308: [],
  404: ['text/html', problem],
  503: ['text/html'],
});
const reference_route = hiddenRoute({ 200: ['text/html'], 503: ['text/html'] });
const page_route = hiddenRoute({ 200: ['text/html'], 404: [problem], 503: ['text/html'] });

/** For a file with a hash in its name, which never changes. */
const kept_for_ever = 'public, max-age=31536000, immutable';

/** Paths that answer as an API, also to a browser. */
const no_page = /^\/(?:api|docs|assets|complete)(?:[/?]|$)/;

/**
 * Routes of the console: one page for every other address that a browser requests, the docs, the
 * API reference, and their files. They change nothing: the pages use the API, which has all the
 * rules.
 */
export function consoleRoutes(app: FastifyInstance, { config }: Deps): void {
  app.get<{ Params: { name: string } }>('/assets/:name', asset_route, async (request, reply) => {
    const asset = await readAsset(
      built_console,
      request.params.name,
      request.headers['accept-encoding'],
    );
    if (asset === undefined) throw notFound();
    return sendAsset(reply.header('cache-control', kept_for_ever), asset);
  });

  app.get('/docs', hiddenRoute({ 308: [] }), (_request, reply) =>
    reply.redirect(`${basePath({ config })}/docs/`, 308),
  );

  app.get('/docs/operations', hiddenRoute({ 308: [] }), (_request, reply) =>
    reply.redirect(`${basePath({ config })}/docs/operations/`, 308),
  );

  // Links in the docs name files, so that they also work without a server.
  for (const path of ['/docs/operations/', '/docs/operations/index.html'])
    app.get(path, reference_route, (_request, reply) => sendReference(reply));

  app.get<{ Params: { '*': string } }>('/docs/*', site_route, async (request, reply) => {
    const other = await otherSpelling(request.params['*']);
    return other === undefined
      ? sendSite(request, reply)
      : reply.redirect(`${basePath({ config })}/docs/${other}`, 308);
  });

  app.get('/*', page_route, async (request, reply) => {
    if (!isPage(request)) return reply.callNotFound();
    return sendConsole(reply, basePath({ config }));
  });
}

function isPage(request: FastifyRequest): boolean {
  return !no_page.test(request.url) && takesPage(request);
}

function takesPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true;
}

async function sendConsole(reply: FastifyReply, base_path: string): Promise<FastifyReply> {
  const page = await built_console.readPage('index');
  const nonce = createNonce();
  void reply.type('text/html; charset=utf-8').headers(consoleHeaders(nonce));
  if (page === undefined) return reply.code(503).send(not_built);
  return reply.send(
    page
      .replace('<base href="/" />', `<base href="${base_path}/" />`)
      .replace('nonce=""', `nonce="${nonce}"`),
  );
}

/**
 * Finds the page for the name of its file (`api.md`, as texts name it), and for a folder with or
 * without its slash; undefined for every other path.
 */
async function otherSpelling(path: string): Promise<string | undefined> {
  if (await hasSiteFile(path)) return undefined;
  const page = path.replace(/\.md$/, '').replace(/(?<=^|\/)README$/, '');
  for (const one of [page, `${page}/`, page.replace(/\/$/, '')])
    if (one !== path && (await hasSiteFile(one))) return one;
  return undefined;
}

/** Sends a file of the docs, or their error page if a browser requests a missing path. */
async function sendSite(
  request: FastifyRequest<{ Params: { '*': string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const path = request.params['*'];
  const encodings = request.headers['accept-encoding'];
  const found = await readSiteFile(path, encodings);
  const asset = found ?? (await missingPage(request.url));
  if (found === undefined && !takesPage(request)) throw notFound();
  if (asset === undefined) {
    return reply.code(503).type('text/html; charset=utf-8').headers(site_headers).send(not_built);
  }
  void reply.headers(site_headers).code(found === undefined ? 404 : 200);
  if (path.startsWith('assets/') && found !== undefined)
    void reply.header('cache-control', kept_for_ever);
  return sendAsset(reply, asset);
}

/** Returns the error page, with links to its files that work from the wrong path. */
async function missingPage(url: string): Promise<Asset | undefined> {
  const page = await readSiteFile('404.html');
  if (page === undefined) return undefined;
  const [, path = ''] = /\/docs\/([^?#]*)/.exec(url) ?? [];
  const up = '../'.repeat(path.split('/').length - 1);
  const html = page.bytes.toString().replaceAll(/(?<= (?:src|href)=")(?:\.\/)?/g, up);
  return { ...page, bytes: Buffer.from(html) };
}

function sendAsset(reply: FastifyReply, asset: Asset): FastifyReply {
  if (asset.encoding !== undefined) void reply.header('content-encoding', asset.encoding);
  // The ETag depends on the encoding, because the bodies differ.
  return reply.type(asset.type).header('vary', 'accept-encoding').send(asset.bytes);
}

/** The reference of the API. Its addresses are relative, so it works under any base path. */
async function sendReference(reply: FastifyReply): Promise<FastifyReply> {
  const page = await built_console.readPage('reference');
  void reply.type('text/html; charset=utf-8').headers(reference_headers);
  return page === undefined ? reply.code(503).send(not_built) : reply.send(page);
}

const not_built = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Sluice</title></head>
  <body>
    <h1>The pages are not built</h1>
    <p>Run <code>npm run prepare</code> in the folder of the server, then load the page again.
      Its packages are installed by <code>npm ci</code> without <code>--omit=dev</code>.</p>
    <p>The API works anyway: <code>/api/schema/</code> is its OpenAPI document.</p>
  </body>
</html>
`;

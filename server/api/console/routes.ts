import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { basePath } from '../../platform/http/base_path.ts';
import { notFound } from '../../platform/http/errors.ts';
import { hiddenRoute, problem } from '../../platform/http/hidden_route.ts';
import { built_console, readAsset } from './build.ts';
import { consoleHeaders, createNonce, reference_headers } from './policy.ts';

const asset_route = hiddenRoute({
  200: ['text/javascript', 'text/css', 'image/svg+xml', 'font/woff2'],
  404: [problem],
});
const reference_route = hiddenRoute({ 200: ['text/html'], 503: ['text/html'] });
const page_route = hiddenRoute({ 200: ['text/html'], 404: [problem], 503: ['text/html'] });

/** Paths that answer as an API, even if a browser is led there. */
const no_page = /^\/(?:api|docs|assets|complete)(?:[/?]|$)/;

/**
 * The console: one page for every address that nothing else answers and that a browser asks for,
 * the page of the API reference, and the files that both load. They change nothing: they ask the
 * API, which has all the rules.
 */
export function consoleRoutes(app: FastifyInstance, { config }: Deps): void {
  app.get<{ Params: { name: string } }>('/assets/:name', asset_route, async (request, reply) => {
    const asset = await readAsset(
      built_console,
      request.params.name,
      request.headers['accept-encoding'],
    );
    if (asset === undefined) throw notFound();
    if (asset.encoding !== undefined) reply.header('content-encoding', asset.encoding);
    // Another encoding is another body; the name has the hash, so the file never changes.
    return reply
      .type(asset.type)
      .header('vary', 'accept-encoding')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(asset.bytes);
  });

  app.get('/docs', hiddenRoute({ 308: [] }), (_request, reply) =>
    reply.redirect(`${basePath({ config })}/docs/`, 308),
  );

  app.get('/docs/', reference_route, (_request, reply) => sendReference(reply));

  app.get('/*', page_route, async (request, reply) => {
    if (!isPage(request)) return reply.callNotFound();
    return sendConsole(reply, basePath({ config }));
  });
}

function isPage({ headers, url }: FastifyRequest): boolean {
  return !no_page.test(url) && headers.accept?.includes('text/html') === true;
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
    <h1>The console is not built</h1>
    <p>Run <code>npm run prepare</code> in the folder of the server, then load the page again.
      Its packages are installed by <code>npm ci</code> without <code>--omit=dev</code>.</p>
    <p>The API works anyway: <code>/api/schema/</code> is its OpenAPI document.</p>
  </body>
</html>
`;

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { takes } from '../accept.ts';
import type { HttpContext } from '../context.ts';
import { etagOf, isKnown } from '../etag.ts';
import { hiddenRoute } from '../hidden_route.ts';
import { publicDocument, withExamples } from './public_document.ts';
import type { Part } from './public_document.ts';
import type { ApiReference } from './reference.ts';

type Context = { config: Pick<HttpContext['config'], 'public_url'> };
/** A document in each encoding, with its tag. */
type Served = Record<'br' | 'gzip' | 'identity', { bytes: Buffer; etag: string }>;

const answers = hiddenRoute({ 200: ['application/json'], 304: [] });

/**
 * Adds the routes of the documents: the API, and the foreign protocols. They are public and the
 * same for everybody, so they may be compressed: they contain no secret.
 */
export function serveDocument(app: FastifyInstance, context: Context, texts: ApiReference): void {
  const made = new Map<Part, Promise<Served>>();
  const answer = (part: Part) => async (request: FastifyRequest, reply: FastifyReply) => {
    const served = made.get(part) ?? encode(app, context, texts, part);
    made.set(part, served);
    // A failure is not cached.
    served.catch(() => made.delete(part));
    return send(request, reply, await served);
  };
  app.get('/api/schema/', answers, answer('api'));
  app.get(`/api/schema/${texts.apart.path}/`, answers, answer('apart'));
}

async function encode(
  app: FastifyInstance,
  { config }: Context,
  texts: ApiReference,
  part: Part,
): Promise<Served> {
  const document = publicDocument(app.swagger(), texts, part);
  const address = config.public_url.replace(/\/$/, '');
  const text = JSON.stringify(withExamples(document, await texts.examples(), address));
  const identity = Buffer.from(text);
  const tag = etagOf(text).slice(0, -1);
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
    promisify(gzip)(identity),
  ]);
  return {
    br: { bytes: br, etag: `${tag}-br"` },
    gzip: { bytes: gz, etag: `${tag}-gzip"` },
    identity: { bytes: identity, etag: `${tag}"` },
  };
}

/** Answers in the best encoding that the client accepts, or with 304 if it has the document. */
function send(request: FastifyRequest, reply: FastifyReply, served: Served): FastifyReply {
  const accepted = request.headers['accept-encoding'];
  const encoding = (['br', 'gzip'] as const).find((one) => takes(accepted, [one])) ?? 'identity';
  const { bytes, etag } = served[encoding];
  void reply.header('vary', 'accept-encoding').header('etag', etag);
  if (isKnown(request, etag)) return reply.code(304).send('');
  if (encoding !== 'identity') void reply.header('content-encoding', encoding);
  return reply.type('application/json; charset=utf-8').send(bytes);
}

import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import { signedText } from '../../../engine/exports/runs/receipt.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { getPresence } from '../found.ts';
import { refuseEmptyRange } from '../range.ts';
import { StatementQuery } from './schema.ts';
import { makeStatement, statementText } from './statement.ts';

/** Route `statement/` of an export: a signed report of verified deliveries, for an auditor. */
export function statementRoute(
  app: FastifyInstance,
  engine: Engine,
  { base, within }: Mount,
): void {
  app.get(
    `${base}:id/statement/`,
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: 'Download a signed statement of verified deliveries',
        description:
          'Says which deliveries of a period were found as delivered and when, what differs, ' +
          'and who accepted a difference and why. The signature covers the text without its ' +
          'last key, like the signature of a receipt.',
        querystring: StatementQuery,
        response: {
          200: {
            description: 'JSON with a signature, or text.',
            content: {
              'application/json': {
                schema: Type.Object(
                  { signature: Type.Object({}, { additionalProperties: true }) },
                  { additionalProperties: true, title: 'VerificationStatement' },
                ),
              },
              'text/plain': { schema: Type.String() },
            },
          },
        },
      },
    },
    async (request, reply) => {
      const { id } = await getPresence(request, engine.db);
      const { after = null, before = null, format = 'json' } = query(request, StatementQuery);
      if (after !== null && before !== null)
        refuseEmptyRange(Date.parse(after), Date.parse(before));
      const created_at = isoInstant(engine.clock.now());
      const statement = await makeStatement(engine.db, id, { after, before }, created_at);
      const name = `statement-${id}.${format === 'json' ? 'json' : 'txt'}`;
      reply.header('content-disposition', `attachment; filename="${name}"`);
      return format === 'json'
        ? reply
            .type('application/json; charset=utf-8')
            .send(Buffer.from(signedText(statement, engine.secrets)))
        : reply
            .type('text/plain; charset=utf-8')
            .send(statementText(statement, engine.secrets.public_key));
    },
  );
}

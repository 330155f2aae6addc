import sql from 'sql-template-tag';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { missing } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { getPresence } from '../found.ts';
import { refuseEmptyRange } from '../range.ts';
import { ReceiptsQuery } from './schema.ts';
import { zipReceipts } from './zip.ts';

/** Route `receipts/` of an export: the signed receipts of a range as a zip file. */
export function receiptsRoute(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  app.get(
    `${base}:id/receipts/`,
    {
      config: { scope: 'batch_export:read', within },
      schema: {
        summary: 'Download the signed receipts of a range as a zip file',
        description:
          'Contains the newest receipt of each delivery to the current destination, the ' +
          'public key of the server, and a text that says how to check a receipt.',
        querystring: ReceiptsQuery,
        response: {
          200: {
            description: 'A zip file.',
            content: { 'application/zip': { schema: Type.String({ format: 'binary' }) } },
          },
        },
      },
    },
    async (request, reply) => {
      const { id } = await getPresence(request, engine.db);
      const { name, revision } =
        (await engine.db.row<{ name: string; revision: number }>(
          sql`SELECT name, revision FROM batch_exports WHERE id = ${id}`,
        )) ?? missing();
      const { after, before } = query(request, ReceiptsQuery);
      if (after !== undefined && before !== undefined)
        refuseEmptyRange(Date.parse(after), Date.parse(before));
      const range = { id, revision, start_at: after ?? null, end_at: before ?? null };
      return reply
        .type('application/zip')
        .header('content-disposition', `attachment; filename="receipts-${id}.zip"`)
        .send(zipReceipts(engine, { ...range, name }));
    },
  );
}

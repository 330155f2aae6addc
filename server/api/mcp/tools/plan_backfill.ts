import { Type } from 'typebox';
import { instant } from '../../../platform/http/schemas.ts';
import type { ApiRecord } from '../api_call.ts';
import { ask, pick } from '../api_call.ts';
import { batch_export, defineTool, exportPath, project } from '../tool.ts';
import { exportPage } from './get_export.ts';

/** Forecasts a backfill; never starts one. */
export const plan_backfill = defineTool({
  name: 'plan_backfill',
  title: 'Plan a backfill',
  description:
    'Shows the runs and rows of a backfill of a past range. It starts nothing; a person starts ' +
    'it at `open`.',
  input: Type.Object({
    project,
    export: batch_export,
    start_at: instant(),
    end_at: instant(),
    mode: Type.Optional(
      Type.String({ maxLength: 20, description: 'missing (default) or all: every row again.' }),
    ),
    by: Type.Optional(
      Type.String({ maxLength: 20, description: 'timestamp (default) or inserted_at.' }),
    ),
  }),
  scopes: ['batch_export:write'],
  run: async (args, { api, console_url }) => {
    const { project: project_id, export: id, ...wanted } = args;
    const answer = await ask(api, {
      method: 'POST',
      path: `${exportPath(project_id, id)}backfill/`,
      body: { ...wanted, dry_run: true },
    });
    const backfill = answer['backfill'] as ApiRecord;
    return {
      ...pick(backfill, ['mode', 'by', 'start_at', 'end_at', 'runs', 'detail', 'settles_at']),
      ...pick(backfill, ['progress', 'plan']),
      open: exportPage(console_url, answer),
    };
  },
});

import type { BatchExport } from '../../api/batch_exports/schema.ts';
import type { ExportOverview } from '../../api/batch_exports/overview/schema.ts';
import { openApi } from '../client/api.ts';
import { printJson, printRecord, printTable, say } from '../client/print.ts';
import type { Output } from '../client/print.ts';
import { readCount } from '../client/read_options.ts';
import type { ReadFlags } from '../client/read_options.ts';
import { weekdays } from './create.ts';
import { exportPath, findExportId, projectPath } from './find_export.ts';
import { exportColumns, runColumns, shownInstant } from './shown_export.ts';

type ListFlags = ReadFlags & { search?: string; health?: string; tag?: string; limit: string };

/** `sluice exports list`: the exports of the project with their health, newest first. */
export async function listExports(output: Output, flags: ListFlags): Promise<number> {
  const api = openApi(flags);
  const { search, health, tag } = flags;
  const rows = await api.list<ExportOverview>(
    projectPath(api, 'overview/'),
    readCount('--limit', flags.limit),
    { search, health, tag, slots: 0 },
  );
  if (flags.json === true) printJson(output, rows);
  else if (rows.length === 0 && output.is_terminal)
    say(output, 'No exports here. Create one: `sluice exports create --help`.');
  else printTable(output, rows, exportColumns(output));
  return 0;
}

/** `sluice exports show`: one export with its health and its newest runs. */
export async function showExport(output: Output, name: string, flags: ReadFlags): Promise<number> {
  const api = openApi(flags);
  const id = await findExportId(api, name);
  const record = await api.get<BatchExport>(exportPath(api, id));
  if (flags.json === true) {
    printJson(output, record);
    return 0;
  }
  const query = { batch_export: id, slots: 0 };
  const [seen] = await api.list<ExportOverview>(projectPath(api, 'overview/'), 1, query);
  const { type, config } = record.destination;
  printRecord(output, [
    ['name', record.name],
    ['id', record.id],
    ['model', record.model],
    ['interval', record.interval],
    ['turns at', turnOf(record)],
    ['tags', record.tags.join(', ')],
    ['destination', type],
    ...Object.entries(config ?? {}).flatMap(([key, value]) =>
      value === null ? [] : [[`  ${key}`, textOf(value)] as const],
    ),
    ['health', seen?.health.detail],
    ['delivered until', shownInstant(output, seen?.delivered_until ?? null)],
    ['verified through', shownInstant(output, seen?.verified_through ?? null)],
    ['next run', shownInstant(output, seen?.next_run?.due_at ?? null)],
    ['managed by', record.managed_by?.source],
  ]);
  if (record.latest_runs.length > 0 && output.is_terminal) {
    say(output, '');
    printTable(output, record.latest_runs, runColumns(output));
  }
  return 0;
}

/** Returns the time at which days and weeks of the export start. */
function turnOf({ offset_day, offset_hour, offset_minute, timezone }: BatchExport) {
  if (offset_hour === null) return undefined;
  const two = (value: number | null) => String(value ?? 0).padStart(2, '0');
  const day = offset_day === null ? '' : `${weekdays[offset_day]} `;
  return `${day}${two(offset_hour)}:${two(offset_minute)} ${timezone}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

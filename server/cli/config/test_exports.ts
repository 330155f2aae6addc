import type { Plan, Step } from '../../api/configuration/schema.ts';
import { counted } from '../../platform/counted.ts';
import type { Client } from './client.ts';

type Tested = { steps?: { name: string; status: string; detail: string }[]; detail?: string };
type Previewed = { records?: number; text?: string | null; detail?: string };

/** The result of testing one export; `text` starts with its oldest rows in their delivered form. */
export type TriedExport = {
  path: string;
  is_ok: boolean;
  detail: string | null;
  records: number | null;
  text: string | null;
};

/** Tests every export that a plan creates or changes: its destination, then its first rows. */
export async function testExports(
  client: Client,
  { steps }: Plan,
  configuration: unknown,
  see: (tried: TriedExport) => void,
): Promise<TriedExport[]> {
  const exports = steps.filter(
    ({ kind, action }) => kind === 'batch_export' && action !== 'delete',
  );
  const all: TriedExport[] = [];
  for (const step of exports) {
    const tried = await testOne(client, step, withSecrets(partAt(configuration, step.path)));
    see(tried);
    all.push(tried);
  }
  return all;
}

/** Returns the lines for a person. */
export function triedLines({ path, is_ok, detail, records, text }: TriedExport): string[] {
  if (!is_ok) return [`FAILED ${path}: ${detail ?? ''}`];
  const rows = (text ?? '').split('\n').slice(0, 3);
  return [
    `ok ${path}`,
    ...(records === null ? [] : [`   ${counted(records, 'row')} of a preview`]),
    ...rows.filter((line) => line !== '').map((line) => `   ${line.slice(0, 160)}`),
  ];
}

async function testOne(client: Client, { id, path }: Step, body: unknown): Promise<TriedExport> {
  const base = `batch_exports/${id === null ? '' : `${id}/`}`;
  const nothing = { path, detail: null, records: null, text: null };
  const tested = await client.about<Tested>(`${base}test/`, body);
  const failed = (tested.body.steps ?? []).find(({ status }) => status === 'failed');
  if (tested.status !== 200 || failed !== undefined)
    return { ...nothing, is_ok: false, detail: failed?.detail ?? tested.body.detail ?? '' };
  // A project that does not exist yet has no rows; another project's rows would mislead.
  if (id === null) return { ...nothing, is_ok: true };
  const { status, body: shown } = await client.about<Previewed>(`${base}preview/`, body);
  if (status !== 200) return { ...nothing, is_ok: false, detail: shown.detail ?? 'no preview' };
  return { ...nothing, is_ok: true, records: shown.records ?? 0, text: shown.text ?? null };
}

function partAt(value: unknown, path: string): unknown {
  let at = value;
  for (const step of path.split('.'))
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  return at;
}

/** Returns the value in the API's form: values instead of marks, and no stored secrets. */
function withSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== 'was');
  const [[name, content] = [], ...more] = entries;
  if (name === 'secret' && more.length === 0) return content;
  if (more.length === 0 && (name === 'keep' || name === 'env')) return undefined;
  return Object.fromEntries(
    entries
      .map(([key, inner]): [string, unknown] => [key, withSecrets(inner)])
      .filter(([, inner]) => inner !== undefined),
  );
}

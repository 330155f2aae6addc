import type { Plan, Step } from '../../api/configuration/schema.ts';
import { counted } from '../../platform/counted.ts';
import type { Client } from './client.ts';

type Tested = { steps?: { name: string; status: string; detail: string }[]; detail?: string };
type Previewed = { records?: number; text?: string | null; detail?: string };

/**
 * Tries every export that a plan creates or changes as it would be: its destination, and the oldest
 * rows as they would arrive. Gives 1 when something fails.
 */
export async function testExports(
  client: Client,
  { steps }: Plan,
  configuration: unknown,
  say: (line: string) => void,
): Promise<number> {
  const exports = steps.filter(
    ({ kind, action }) => kind === 'batch_export' && action !== 'delete',
  );
  if (exports.length === 0) say('No export would change.');
  let failed = 0;
  for (const step of exports) {
    const body = withSecrets(partAt(configuration, step.path));
    const isWell = await testOne(client, step, body, say);
    failed += isWell ? 0 : 1;
  }
  return failed === 0 ? 0 : 1;
}

async function testOne(
  client: Client,
  { id, path }: Step,
  body: unknown,
  say: (line: string) => void,
): Promise<boolean> {
  const base = `batch_exports/${id === null ? '' : `${id}/`}`;
  const tested = await client.about<Tested>(`${base}test/`, body);
  const tries = tested.body.steps ?? [];
  const failed = tries.find(({ status }) => status === 'failed');
  const isWell = tested.status === 200 && failed === undefined;
  const told = failed?.detail ?? tested.body.detail ?? '';
  say(`${isWell ? 'ok' : 'FAILED'} ${path}${isWell ? '' : `: ${told}`}`);
  if (!isWell) return false;
  // The rows of a project that is not created yet would be those of another one.
  if (id === null) return true;
  const shown = await client.about<Previewed>(`${base}preview/`, body);
  if (shown.status !== 200) {
    say(`FAILED ${path}: ${shown.body.detail ?? 'no preview'}`);
    return false;
  }
  say(`   ${counted(shown.body.records ?? 0, 'row')} of a preview`);
  for (const line of (shown.body.text ?? '').split('\n').slice(0, 3))
    if (line !== '') say(`   ${line.slice(0, 160)}`);
  return true;
}

function partAt(value: unknown, path: string): unknown {
  let at = value;
  for (const step of path.split('.'))
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[step] : undefined;
  return at;
}

/** As the API takes it: values in place of marks, and nothing where what is stored is kept. */
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

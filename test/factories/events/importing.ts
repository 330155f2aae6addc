import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { importFile } from '../../../server/cli/import/import.ts';
import type { ImportOptions } from '../../../server/cli/import/import.ts';
import { openHarness } from '../../harness.ts';
import type { TestOrganization } from '../../harness.ts';

type ImportedRow = {
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: string;
  uuid: string;
};

/**
 * Opens a server that listens, and a folder for files: `put` writes a file, `run` imports it,
 * `rows` returns the stored rows.
 */
export async function openImporting() {
  const harness = await openHarness();
  const url = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  const folder = await mkdtemp(join(tmpdir(), 'sluice-import-test-'));
  return {
    harness,
    url,
    folder,
    run: (
      owner: TestOrganization,
      file: string,
      options: Partial<ImportOptions> = {},
      stdin = '',
    ) => runImport({ url, ...options }, owner, file, stdin),
    put: async (name: string, content: string | Buffer): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, content);
      return path;
    },
    rows: async (owner: TestOrganization): Promise<ImportedRow[]> => {
      return harness.deps.clickhouse.rows<ImportedRow>({
        query:
          'SELECT event, distinct_id, timestamp, properties, uuid FROM events WHERE team_id = ' +
          '{team_id:Int64} ORDER BY timestamp, toUInt128(uuid)',
        query_params: { team_id: owner.project.id },
      });
    },
    close: async () => {
      await rm(folder, { recursive: true, force: true });
      await harness.close();
    },
  };
}

async function runImport(
  options: Partial<ImportOptions> & { url: string },
  owner: TestOrganization,
  file: string,
  stdin: string,
) {
  const said: string[] = [];
  const complained: string[] = [];
  const terminal = {
    stdin: Readable.from([Buffer.from(stdin)]),
    is_tty: false,
    say: (line: string) => said.push(line),
    complain: (line: string) => complained.push(line),
    draw: () => assert.fail('nothing is drawn where there is no terminal'),
  };
  const code = await importFile(
    { file, project: String(owner.project.id), key: owner.key, timezone: 'UTC', ...options },
    terminal,
  );
  return { code, said, complained };
}

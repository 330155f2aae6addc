import assert from 'node:assert/strict';
import type { TestOrganization } from '../harness.ts';

const fields = [{ id: 1, name: 'uuid', type: 'string', required: false }];

/** Creates a table of a client in the export folder with its namespace, and returns the answer. */
export async function newLakeTable(home: TestOrganization, namespace: string, name = 'events') {
  const base = `/iceberg/v1/${home.project.id}/namespaces`;
  const made = await home.ask('POST', base, { namespace: [namespace] });
  assert.ok([200, 409].includes(made.status), made.text);
  const schema = { type: 'struct', fields };
  const { status, body, text } = await home.ask('POST', `${base}/${namespace}/tables`, {
    name,
    schema,
  });
  assert.equal(status, 200, text);
  return body as { 'metadata-location': string; metadata: { location: string } };
}

/**
 * Writes an example of each operation of the OpenAPI document, by real requests to a server
 * (`npm run docs:examples`): the first successful request of the stories in test/reference/ and its
 * answer. Examples that still fit stay as they are; `-- --all` writes all of them anew. Prints the
 * operations that no story asks.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../require_node.mjs';
import {
  examples_folder,
  examplesOfProjects,
  readExamples,
} from '../../server/api/reference/reference.ts';
import type { Json } from '../../server/platform/http/openapi/json.ts';
import type { Example } from '../../server/platform/http/openapi/reference.ts';
import { findFaults, listExampled } from '../../test/reference/faults.ts';
import { recordRequests } from '../../test/reference/recorder.ts';
import { stableExamples } from '../../test/reference/stable.ts';
import { stories } from '../../test/reference/stories.ts';
import { openStoryWorld } from '../../test/reference/world.ts';
import { readOptions } from '../options.ts';
import { compactJson } from './compact_json.ts';

const { all } = readOptions({ all: false });
const world = await openStoryWorld();
try {
  const began_ms = Date.now();
  const recorded = recordRequests(world.harness.app);
  for (const [name, tell] of Object.entries(stories)) {
    await tell(world).catch((error: unknown) => {
      process.exitCode = 1;
      console.log(error instanceof Error ? error.stack : error);
    });
    console.log(`${name}: ${recorded.size} operations so far`);
  }
  const fresh = stableExamples(recorded, began_ms);
  const document = world.harness.app.swagger();
  const stored = all ? {} : await readExamples();
  const faulty = findFaults(document, stored);
  const kept = Object.entries(stored).filter(([id]) => !faulty.has(id));
  const operations = listExampled(document);
  const asked = operations.flatMap(({ id }) => (id in fresh ? [[id, fresh[id]!] as const] : []));
  const examples = { ...Object.fromEntries(asked), ...Object.fromEntries(kept) };
  write(examples, operations);
  for (const fault of findFaults(document, examples).values()) console.log(fault);
} finally {
  await world.close();
}

/** Writes a file for each tag, without what an example under an organization already shows. */
function write(examples: Record<string, Example>, operations: { id: string; tag: string }[]): void {
  mkdirSync(examples_folder, { recursive: true });
  for (const name of readdirSync(examples_folder)) rmSync(join(examples_folder, name));
  const told = examplesOfProjects(examples);
  for (const tag of new Set(operations.map((one) => one.tag))) {
    const own = operations.filter(
      (one) => one.tag === tag && one.id in examples && !(one.id in told),
    );
    const sorted = own.map(({ id }) => id).toSorted();
    const shown = Object.fromEntries(sorted.map((id) => [id, examples[id]! as Json]));
    const text = compactJson(shown);
    writeFileSync(join(examples_folder, `${tag}.json`), `${text}\n`);
  }
}

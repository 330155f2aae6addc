import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Type } from 'typebox';
import type { DestinationDefinition, Sink } from '../../model/destination/destination.ts';

const config = Type.Object(
  { arg: Type.Optional(Type.String({ default: '', description: 'It has no effect.' })) },
  { additionalProperties: false },
);

/** Reads every row, counts it and discards it: for trying schedules, queries and speed. */
export const noop: DestinationDefinition<typeof config> = {
  type: 'NoOp',
  label: 'Nowhere',
  config,
  secrets: [],
  where: [],
  column_set: 'files',
  not_verifiable: 'This destination keeps no rows, so there is nothing to verify.',
  validate: () => [],
  encoding: () => ({ format: 'JSONLines', compression: null }),
  open: async () => sink,
  check: async () => [
    {
      name: 'Nothing to reach',
      status: 'passed',
      detail: 'This destination keeps no rows.',
      duration_ms: 0,
    },
  ],
  verify: async () => [],
  // A destination without rows cannot have one twice.
  receipts: async function* () {},
};

const sink: Sink = {
  isCommitted: async () => false,
  recover: async (outcomes) => outcomes,
  write: async (slice, bytes) => {
    await pipeline(
      bytes,
      new Writable({
        highWaterMark: 1024 * 1024,
        write: (_chunk, _encoding, callback) => callback(),
      }),
    );
    return { name: `slice ${slice.number}`, state: null };
  },
  commit: async () => undefined,
  abort: async () => undefined,
  close: async () => undefined,
};

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { main } from '../../test/processes/server_process.ts';

const { values } = parseArgs({ options: { server: { type: 'string' } }, strict: false });

/**
 * The main file of the server that is measured: this checkout's, or with `--server <folder>` that
 * of another one, so that what was before is measured by the same bench in the same sitting.
 */
export const benched_program =
  typeof values['server'] === 'string' ? join(values['server'], 'server', 'main.ts') : main;

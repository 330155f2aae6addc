import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { main } from '../../test/processes/server_process.ts';

const { values } = parseArgs({ options: { server: { type: 'string' } }, strict: false });

/**
 * The main file of the measured server: of this checkout, or of another one with `--server
 * <folder>`. So the same bench measures an older version in the same session.
 */
export const benched_program =
  typeof values['server'] === 'string' ? join(values['server'], 'server', 'main.ts') : main;

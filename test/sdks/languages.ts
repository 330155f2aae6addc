import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** What the program of a client was told when its events were refused. */
export type ToldProgram = { client: string; told: string[] };

const packages = ['segment-analytics-python==2.4.0', 'rudder-sdk-python==2.1.9'];
const run = promisify(execFile);
/** A client that takes the refusal for a fault of the network sends the same for minutes. */
const wait_ms_max = 60_000;

/**
 * Installs the clients of Python (PyPI) into the folder, once, and lets each send an event under
 * the key to the server. Rejects when one of them does not end.
 */
export async function sendByPython(
  folder: string,
  address: string,
  key: string,
): Promise<ToldProgram[]> {
  const interpreter = join(folder, 'bin', 'python');
  if (!existsSync(interpreter)) {
    await run('python3', ['-m', 'venv', folder]);
    await run(interpreter, ['-m', 'pip', 'install', '--quiet', ...packages]);
  }
  const script = join(import.meta.dirname, '../../scripts/campaigns/sdks/refused.py');
  const { stdout } = await run(interpreter, [script, address, key], { timeout: wait_ms_max });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as ToldProgram);
}

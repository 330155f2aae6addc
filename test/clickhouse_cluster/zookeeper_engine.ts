/**
 * Runs the embedded engine with a configuration that names a ZooKeeper; its two arguments are
 * folder and file. Reads statements from standard input, one JSON text in each line, and answers
 * each with a line, `{"answer": ...}` or `{"fault": ...}`. It is killed at the end, because an
 * engine with replicated tables does not end cleanly.
 */
import { createInterface } from 'node:readline';
import { openAddon } from '../../server/platform/embedded/clickhouse/addon.ts';

const [folder, file] = process.argv.slice(2) as [string, string];
const addon = openAddon();
const open = () => addon.CreateConnection(folder, [`--config-file=${file}`]);
open();
for await (const line of createInterface({ input: process.stdin })) {
  const connection = open();
  let told: object;
  try {
    const statement = JSON.parse(line) as string;
    const { bytes } = await addon.QueryAsyncConnection(connection, statement, 'JSONEachRow');
    told = { answer: Buffer.from(bytes).toString() };
  } catch (error) {
    told = { fault: (error as Error).message };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
  addon.CloseConnection(connection);
}

// `sluice import` of one file as a process that a test can kill. Arguments: file, project, URL,
// key.
import { importFile } from '../../server/cli/import/import.ts';

const [file = '', project = '', url = '', key = ''] = process.argv.slice(2);
process.exitCode = await importFile(
  { file, project, url, key, timezone: 'UTC' },
  { stdin: process.stdin, is_tty: false, say: () => {}, complain: () => {}, draw: () => {} },
);

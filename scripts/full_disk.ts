// A server on a small file system (tmpfs; needs root): events come in until it says 503, then the
// disk is filled to its last byte by something else, then there is room again. Compares what was
// answered 200 with what is stored and what a File export delivered.
// npm run full_disk [-- --mebibytes 768]
import { parseArgs } from 'node:util';
import { runFullDisk } from '../test/chaos/full_disk.ts';

const { values } = parseArgs({ options: { mebibytes: { type: 'string', default: '768' } } });
await runFullDisk(Number(values.mebibytes), (line) => console.log(line));

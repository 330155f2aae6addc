// A server on a small file system (tmpfs; needs root): events come in until it says 503, then the
// disk is filled to its last byte by something else, then there is room again. Compares what was
// answered 200 with what is stored and what a File export delivered.
// With --floor 0 nothing stops events before the stores themselves refuse to write.
// npm run full_disk [-- --mebibytes 768 --floor 0]
import { runFullDisk } from '../../test/chaos/full_disk.ts';
import { readOptions } from '../options.ts';

await runFullDisk({
  ...readOptions({ mebibytes: 768, floor: '' }),
  say: (line) => console.log(line),
});

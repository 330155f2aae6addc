import { flushCompileCache } from 'node:module';
import { bundlePackage } from './bundle.ts';
import { encodeFrame, openFrameReader } from './frames.ts';
import { frame_bytes_max } from './limits.ts';
import type { PluginFiles, PluginManifest } from '../plugin.ts';

// The order comes as one frame on standard input, the answer goes as one frame to standard output;
// the parent ends the process.
const read = openFrameReader(frame_bytes_max, (message) => {
  const { files, manifest } = message as { files: PluginFiles; manifest: PluginManifest };
  void bundlePackage(files, manifest).then((bundles) =>
    process.stdout.write(encodeFrame(bundles, frame_bytes_max)),
  );
});
process.stdin.on('data', read);
// It is killed as soon as it has answered: what it compiled of itself is kept before that.
flushCompileCache();

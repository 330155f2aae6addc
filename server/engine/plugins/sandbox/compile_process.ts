import { flushCompileCache } from 'node:module';
import { bundlePackage } from './bundle.ts';
import { encodeFrame, openFrameReader } from './frames.ts';
import { frame_bytes_max } from './limits.ts';
import type { PluginFiles, PluginManifest } from '../plugin.ts';

// Standard input delivers the order as one frame, and standard output gets the answer as one frame;
// the parent ends the process.
const read = openFrameReader(frame_bytes_max, (message) => {
  const { files, manifest } = message as { files: PluginFiles; manifest: PluginManifest };
  void bundlePackage(files, manifest).then((bundles) =>
    process.stdout.write(encodeFrame(bundles, frame_bytes_max)),
  );
});
process.stdin.on('data', read);
// The parent kills it right after the answer, so its compile cache is stored first.
flushCompileCache();

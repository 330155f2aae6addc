import { PluginError, invalidPackage } from '../../plugin.ts';
import type { PluginFiles } from '../../plugin.ts';
import { openCollector } from './collector.ts';
import { package_limits, showBytes } from '../limits.ts';
import type { PackageLimits } from '../limits.ts';
import { readTar } from './tar.ts';
import { readZip } from './zip.ts';
import { readBounded } from '../../../../platform/read_bounded.ts';

/**
 * Reads an archive, zip or tar (compressed with gzip or not), recognized by its content. Guarantee:
 * everything happens in memory and within the limits; the result has relative names that are unique
 * on every file system, and texts with correct sizes and checksums. A `PluginError` with the name
 * and the reason refuses links, devices, encrypted or overlapping entries, names that lead out, and
 * damaged or truncated archives.
 */
export async function readArchive(
  bytes: AsyncIterable<Uint8Array> | Buffer,
  limits: PackageLimits = package_limits,
): Promise<PluginFiles> {
  const { packed_bytes_max } = limits;
  const refusal = () => tooLarge(packed_bytes_max);
  const archive = Buffer.isBuffer(bytes)
    ? bytes
    : await readBounded(bytes, packed_bytes_max, refusal);
  if (archive.length > packed_bytes_max) throw refusal();
  const collector = openCollector(limits, archive.length);
  if (isZip(archive)) await readZip(archive, collector);
  else if (isGzip(archive) || isTar(archive)) await readTar(archive, isGzip(archive), collector);
  else
    throw invalidPackage(
      archive[0] === 0x3c
        ? 'This is a web page, not an archive. Give the address of the download itself.'
        : 'This is neither a zip archive nor a tar archive, plain or compressed with gzip ' +
            '(tar.gz). Give the address of one of these.',
    );
  return collector.finish();
}

function tooLarge(size_bytes_max: number): PluginError {
  return new PluginError(
    'too_large',
    `The archive is larger than ${showBytes(size_bytes_max)}; leave out what the plugin does ` +
      'not need to run.',
  );
}

function isZip(archive: Buffer): boolean {
  const signature = archive.subarray(0, 4).toString('latin1');
  return signature === 'PK\u0003\u0004' || signature === 'PK\u0005\u0006';
}

function isGzip(archive: Buffer): boolean {
  return archive[0] === 0x1f && archive[1] === 0x8b;
}

function isTar(archive: Buffer): boolean {
  return archive.subarray(257, 262).toString('latin1') === 'ustar';
}

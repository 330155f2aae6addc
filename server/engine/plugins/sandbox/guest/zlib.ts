import { compute } from './bridge.ts';
import { fromBinary, toBinary } from './bytes.ts';
import type { Buffer, BytesLike } from './bytes.ts';

const convertWith =
  (name: string) =>
  (data: BytesLike): Buffer =>
    fromBinary(compute(name, toBinary(data)));

/** The part of Node's `zlib` for plugins; unpacked data has its own limit. */
export const zlib = {
  gzipSync: convertWith('gzip'),
  gunzipSync: convertWith('gunzip'),
  deflateSync: convertWith('deflate'),
  inflateSync: convertWith('inflate'),
};

import { randomUUID } from 'node:crypto';
import { Refused, origin } from './store.ts';
import type { Store, Answer, Asked } from './store.ts';

const piece_bytes = 256 * 1024;

/** Opens an upload whose bytes arrive in pieces. */
export function startUpload(store: Store, body: Buffer): Answer {
  const id = randomUUID();
  store.uploads.set(id, {
    job: JSON.parse(body.toString()),
    bytes: Buffer.alloc(0),
    ended: undefined,
  });
  return {
    status: 200,
    headers: {
      location:
        `${origin}/upload/bigquery/v2/projects/${store.project}/jobs` +
        `?uploadType=resumable&upload_id=${id}`,
    },
  };
}

/** Stores the bytes that continue the earlier ones; the last piece starts the job. */
export async function takePiece(store: Store, { request, url, body }: Asked): Promise<Answer> {
  const upload = store.uploads.get(url.searchParams.get('upload_id') ?? '');
  if (upload === undefined) throw new Refused(404, 'notFound', 'Not Found');
  const [, from, to, total] =
    /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(String(request.headers['content-range'])) ?? [];
  if (total === undefined) throw new Refused(400, 'badRequest', 'Invalid Content-Range');
  if (upload.ended !== undefined) return { status: 200, body: upload.ended };
  if (from !== undefined) {
    if (Number(from) !== upload.bytes.length || Number(to) - Number(from) + 1 !== body.length)
      throw new Refused(400, 'badRequest', 'Invalid Content-Range');
    if (total === '*' && body.length % piece_bytes !== 0)
      throw new Refused(400, 'badRequest', 'A piece must be a multiple of 256 KiB');
    const isCut = store.parts > 0;
    if (isCut) store.parts -= 1;
    upload.bytes = Buffer.concat([upload.bytes, isCut ? body.subarray(0, piece_bytes) : body]);
  }
  if (total !== '*' && upload.bytes.length === Number(total)) {
    upload.ended = await store.jobs.insert(upload.job, upload.bytes);
    return { status: 200, body: upload.ended };
  }
  return {
    status: 308,
    headers: upload.bytes.length === 0 ? {} : { range: `bytes=0-${upload.bytes.length - 1}` },
  };
}

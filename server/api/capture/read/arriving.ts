import type { Readable } from 'node:stream';
import type { Clock } from '../../../platform/clock.ts';
import { tooLarge } from '../../../platform/http/errors.ts';
import { busyCapture } from '../busy.ts';

/** How long the body of a request may take to come, in milliseconds. */
const arrival_ms_max = 60_000;
/** Bytes that are kept of bodies that have not come whole, of all addresses and of one. */
const arriving_bytes_max = 128 * 1024 * 1024;
const share_bytes_max = arriving_bytes_max / 2;

/** A body that comes: from where, how long it says to be, and how long it may be. */
type Coming = { address: string; says_bytes: number; bytes_max: number };
type Done = (error: Error | null, bytes?: Buffer) => void;

/** The bodies that are coming. */
export type Arrivals = {
  /**
   * Reads a body as it comes, and calls `done` once. Guarantee: what is kept of all that come is
   * bounded, for each address too, and none of it for longer than a minute. The error is 413 for
   * one that is too long, 503 for one that comes too slowly or for which there is no room.
   */
  read(body: Readable, coming: Coming, done: Done): void;
  /** Refuses those that have had their time. */
  refuseLate(): void;
};

/** Opens the room for bodies that come: whoever sends slowly keeps nobody else out. */
export function openArrivals(clock: Clock): Arrivals {
  const coming_now = new Map<Readable, { ends_at: number; refuse(error: Error): void }>();
  const shares = new Map<string, number>();
  let all = 0;
  /** Counts bytes of an address in, or out; false where there is no room for them. */
  const count = (address: string, bytes: number) => {
    all += bytes;
    const share = (shares.get(address) ?? 0) + bytes;
    if (share > 0) shares.set(address, share);
    else shares.delete(address);
    return all <= arriving_bytes_max && share <= share_bytes_max;
  };
  return {
    read: (body, { address, says_bytes, bytes_max }, done) => {
      if (says_bytes > bytes_max) return done(tooLarge(bytes_max));
      const chunks: Buffer[] = [];
      let bytes = 0;
      const end: Done = (error, whole) => {
        body.off('data', take).off('end', finish).off('error', end).off('close', lose);
        coming_now.delete(body);
        count(address, -bytes);
        done(error, whole);
      };
      const lose = () => end(busyCapture(1));
      const finish = () => end(null, Buffer.concat(chunks, bytes));
      const take = (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        const has_room = count(address, chunk.length);
        if (bytes > bytes_max) end(tooLarge(bytes_max));
        else if (!has_room) end(busyCapture(1));
      };
      coming_now.set(body, { ends_at: clock.now() + arrival_ms_max, refuse: end });
      body.on('data', take).on('end', finish).on('error', end).on('close', lose);
    },
    refuseLate: () => {
      const now = clock.now();
      for (const { ends_at, refuse } of coming_now.values())
        if (ends_at <= now) refuse(busyCapture(1));
    },
  };
}

import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { tooLarge } from '../errors.ts';
import { openRoom } from './room.ts';

/** A body that comes: whose, how long it says to be, and how long it may be. */
type Coming = { owner: string; says_bytes: number; bytes_max: number };
type Done = (error: Error | null, bytes?: Buffer) => void;

/** The bodies that are coming. */
export type Arrivals = {
  /**
   * Reads a body as it comes, and calls `done` once. Guarantee: what is kept of all that come is
   * bounded, for each owner too, and none of it for longer than a body may take. The error is
   * 413 for one that is too long, `busy` for one that comes too slowly or has no room.
   */
  read(body: Readable, coming: Coming, done: Done): void;
  /** Refuses those that have had their time. */
  refuseLate(): void;
};

/**
 * Opens room for so many bytes of bodies that have not come whole, half of it for those of one
 * owner, each of which may take so long: whoever sends slowly keeps nobody else out.
 */
export function openArrivals(
  clock: Clock,
  wanted: { room_bytes_max: number; arrival_ms_max: number; busy: () => Error },
): Arrivals {
  const { room_bytes_max, arrival_ms_max, busy } = wanted;
  const coming_now = new Map<Readable, { ends_at: number; refuse(error: Error): void }>();
  const room = openRoom(room_bytes_max, busy);
  return {
    read: (body, { owner, says_bytes, bytes_max }, done) => {
      if (says_bytes > bytes_max) return done(tooLarge(bytes_max));
      const place = room.enter(owner);
      const chunks: Buffer[] = [];
      let bytes = 0;
      const end: Done = (error, whole) => {
        body.off('data', take).off('end', finish).off('error', end).off('close', lose);
        coming_now.delete(body);
        place.leave();
        done(error, whole);
      };
      const lose = () => end(busy());
      const finish = () => end(null, Buffer.concat(chunks, bytes));
      const take = (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > bytes_max) return end(tooLarge(bytes_max));
        try {
          place.hold(bytes);
        } catch (error) {
          end(error as Error);
        }
      };
      coming_now.set(body, { ends_at: clock.now() + arrival_ms_max, refuse: end });
      body.on('data', take).on('end', finish).on('error', end).on('close', lose);
    },
    refuseLate: () => {
      const now = clock.now();
      for (const { ends_at, refuse } of coming_now.values()) if (ends_at <= now) refuse(busy());
    },
  };
}

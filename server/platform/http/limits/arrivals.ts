import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { tooLarge } from '../errors.ts';
import { openRoom } from './room.ts';

/** An arriving body: its owner, its announced size, and its limit. */
type Coming = { owner: string; says_bytes: number; bytes_max: number };
type Done = (error: Error | null, bytes?: Buffer) => void;

/** The arriving bodies. */
export type Arrivals = {
  /**
   * Reads an arriving body, and calls `done` once. Guarantee: the memory of all arriving bodies is
   * bounded, also per owner, and so is the time that each is held. The error is 413 for a body that
   * is too long, `busy` for one that is too slow or finds no room.
   */
  read(body: Readable, coming: Coming, done: Done): void;
  /** Refuses bodies whose time is over. */
  refuseLate(): void;
};

/**
 * Opens room for this many bytes of incomplete bodies, half of it for one owner, each with a time
 * limit: a slow sender blocks nobody else.
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

import type { Duplex } from 'node:stream';

/**
 * The fault of the next COMMIT of a transaction that has written a receipt. `reaches`: whether the
 * server gets it; if not, the server rolls back. The client gets an error, nothing, or the end of
 * its connection. `away`: no new connection is accepted afterwards, until the fault is cleared.
 */
export type CommitFault<Refusal> = {
  reaches: boolean;
  answer: Refusal | 'nothing' | 'cut';
  away?: true;
};

/** The next COMMIT of a client of the proxy. */
export type CommitFaults<Refusal> = {
  /** True while new connections are accepted. */
  isAway(): boolean;
  /** Sets the fault of the next COMMIT; undefined clears it. */
  strike(fault: CommitFault<Refusal> | undefined): void;
  /**
   * Joins two ends of a connection, and applies the fault to the COMMIT. `seen` gets the passed
   * part of an answer, before anything else.
   */
  join(client: Duplex, upstream: Duplex, seen?: (chunk: Buffer) => Buffer | undefined): void;
};

/** A protocol's bytes for the messages that the proxy needs. */
export type CommitWords<Refusal> = {
  isCommit(chunk: Buffer): boolean;
  rollback: Buffer;
  error(refusal: Refusal): Buffer;
  /** Returns true if the connection ends with this error. */
  isLast(refusal: Refusal): boolean;
};

/** Opens the faults of a proxy of this protocol. */
export function openCommitFaults<Refusal>(words: CommitWords<Refusal>): CommitFaults<Refusal> {
  let next: CommitFault<Refusal> | undefined;
  let isAway = false;
  return {
    isAway: () => isAway,
    strike: (fault) => {
      next = fault;
      isAway = false;
    },
    join: (client, upstream, seen = (chunk) => chunk) => {
      /** Waits for the server's answer to the COMMIT, or to what replaced it. */
      let struck: CommitFault<Refusal> | undefined;
      let hasReceipt = false;
      pump(client, upstream, (chunk) => {
        hasReceipt ||= chunk.includes('INSERT INTO') && chunk.includes('sluice_receipts');
        if (next === undefined || !hasReceipt || !words.isCommit(chunk)) return chunk;
        [struck, next] = [next, undefined];
        isAway = struck.away === true;
        return struck.reaches ? chunk : words.rollback;
      });
      pump(upstream, client, (come) => {
        const chunk = seen(come);
        if (struck === undefined || chunk === undefined) return chunk;
        const { answer } = struck;
        if (answer === 'nothing') return undefined;
        if (answer === 'cut') {
          client.destroy();
          return undefined;
        }
        struck = undefined;
        if (!words.isLast(answer)) return words.error(answer);
        client.end(words.error(answer));
        return undefined;
      });
    },
  };
}

/** Passes on the results of `change`, no faster than they are read. */
function pump(from: Duplex, to: Duplex, change: (chunk: Buffer) => Buffer | undefined): void {
  from.on('data', (chunk: Buffer) => {
    const changed = change(chunk);
    if (changed === undefined || to.destroyed || to.write(changed)) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  from.on('end', () => to.end());
}

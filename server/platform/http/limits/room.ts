/** The share of the room that one request holds. */
export type Place = {
  /** Sets the number of held bytes; throws if there is no room for them. */
  hold(bytes: number): void;
  /** Releases all of it. */
  leave(): void;
};

/** Room for bodies in memory, of all senders. */
export type Room = {
  /** Opens a place for the owner, who may use at most half of the room. */
  enter(owner: string): Place;
};

/**
 * Opens room for this many bytes. Guarantee: requests never hold more in total, and those of one
 * owner at most half of it, so that they block nobody else. `full` creates the error beyond that.
 */
export function openRoom(bytes_max: number, full: () => Error): Room {
  const shares = new Map<string, number>();
  let all = 0;
  return {
    enter: (owner) => {
      let held = 0;
      const set = (bytes: number) => {
        all += bytes - held;
        const share = (shares.get(owner) ?? 0) + bytes - held;
        held = bytes;
        if (share > 0) shares.set(owner, share);
        else shares.delete(owner);
        return all <= bytes_max && share <= bytes_max / 2;
      };
      return {
        hold: (bytes) => {
          const grows = bytes > held;
          if (!set(bytes) && grows) throw full();
        },
        leave: () => void set(0),
      };
    },
  };
}

/** The share of the room that one request holds. */
export type Place = {
  /** Says how many bytes are held by now; throws where there is no room for so many. */
  hold(bytes: number): void;
  /** Gives all of it back. */
  leave(): void;
};

/** Room for what is held in memory of bodies, of all senders. */
export type Room = {
  /** A place of the owner, who takes half of the room at most. */
  enter(owner: string): Place;
};

/**
 * Opens room for so many bytes. Guarantee: no number of requests holds more at once, and those of
 * one owner no more than half of it, so that they keep nobody else out. `full` is what is thrown at
 * those who would.
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

type Data = { payload: object };
type Request = (...sent: unknown[]) => unknown;
type OnDelete = (request: Request, data: Data) => unknown;

/** Thrown if a destination cannot be told of a person; nothing was sent. */
export class NotForgotten extends Error {}

/**
 * Returns the `onDelete` of a destination, unless it would request something else than the person's
 * deletion: one names the account instead, and two do nothing.
 */
export function deletionOf({ onDelete }: { onDelete?: unknown }): { onDelete?: OnDelete } {
  if (typeof onDelete !== 'function') return {};
  const original = onDelete as OnDelete;
  return {
    onDelete: async (request, data) => {
      let is_read = false;
      let is_sent = false;
      const noted = (work: () => unknown) => {
        is_read = true;
        return work() as never;
      };
      const payload = new Proxy(data.payload, {
        get: (ids, key) => noted(() => Reflect.get(ids, key)),
        ownKeys: (ids) => noted(() => Reflect.ownKeys(ids)),
      });
      const guarded: Request = (...sent) => {
        // Some send both ids unchanged, and read neither before.
        if (!is_read) JSON.stringify(sent);
        if (!is_read) throw new NotForgotten('It does not ask for the person.');
        is_sent = true;
        return request(...sent);
      };
      const result = await original(guarded, { ...data, payload });
      if (!is_sent) throw new NotForgotten('It does nothing.');
      return result;
    },
  };
}

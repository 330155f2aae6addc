/** A cache of recent answers by question. The entries of a store disappear with it. */
export type Memo<Value> = {
  /**
   * Returns the cached answer, or asks. A concurrent caller with the same question waits for the
   * answer, and asks only if there is none (undefined, or a failure).
   */
  once(
    store: object,
    question: string,
    ask: () => Promise<Value | undefined>,
  ): Promise<Value | undefined>;
  /** Stores an answer and evicts the oldest ones for it. */
  keep(store: object, question: string, value: Value, weight?: number): void;
};

/** Exports of a project that are due together start within seconds. */
const lifetime_ms = 10_000;

type Kept<Value> = { value: Value; weight: number; kept_at: number };

/** Opens a cache that keeps answers for ten seconds, up to this weight for each store. */
export function openMemo<Value>(weight_max: number): Memo<Value> {
  const stores = new WeakMap<object, { answers: Map<string, Kept<Value>>; weight: number }>();
  const asked = new WeakMap<object, Map<string, Promise<Value | undefined>>>();
  const isOld = ({ kept_at }: Kept<Value>) => performance.now() - kept_at >= lifetime_ms;
  const find = (store: object, question: string): Value | undefined => {
    const known = stores.get(store)?.answers.get(question);
    return known === undefined || isOld(known) ? undefined : known.value;
  };
  return {
    once: async (store, question, ask) => {
      const waits = asked.get(store)?.get(question);
      // No await between lookup and request.
      const known = find(store, question) ?? (waits && (await waits));
      if (known !== undefined) return known;
      const answer = ask();
      const waited = asked.get(store) ?? new Map<string, Promise<Value | undefined>>();
      asked.set(store, waited);
      const told = answer
        .catch(() => undefined)
        .finally(() => waited.get(question) === told && waited.delete(question));
      waited.set(question, told);
      return answer;
    },
    keep: (store, question, value, weight = 1) => {
      const kept = stores.get(store) ?? { answers: new Map<string, Kept<Value>>(), weight: 0 };
      stores.set(store, kept);
      const forget = (key: string) => {
        kept.weight -= kept.answers.get(key)?.weight ?? 0;
        kept.answers.delete(key);
      };
      forget(question);
      kept.answers.set(question, { value, weight, kept_at: performance.now() });
      kept.weight += weight;
      // A Map keeps the order of its entries, so the first one is the oldest.
      for (const [oldest, answer] of kept.answers) {
        if (kept.weight <= weight_max && !isOld(answer)) break;
        forget(oldest);
      }
    },
  };
}

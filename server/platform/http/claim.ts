/**
 * An idempotency key that this request holds. `stored` is true once the answer is stored, in the
 * transaction of the change if there is one.
 */
export type Claim = {
  id: string;
  /** The person, or the service key; the other one is null. */
  user_id: number | null;
  service_key_id: string | null;
  key: string;
  method: string;
  path: string;
  body_hash: Buffer;
  /** False until the answer is stored, if the key is claimed together with it. */
  taken: boolean;
  stored: boolean;
};

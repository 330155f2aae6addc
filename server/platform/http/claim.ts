/**
 * A key that this request holds. `stored` is true once the answer is kept, in the transaction of
 * the change itself where there is one.
 */
export type Claim = {
  id: string;
  user_id: number;
  key: string;
  method: string;
  path: string;
  stored: boolean;
};

// Sends requests from a thread of its own, so that the loop that is measured does nothing of the
// client's work.
import { parentPort } from 'node:worker_threads';
import { request } from 'undici';

/** One request to send, and what it was answered. */
export type Sent = {
  url: string;
  method: string;
  headers: Record<string, string>;
  bytes: Uint8Array;
};

parentPort?.on('message', ({ url, method, headers, bytes }: Sent) => {
  const answered = request(url, { method: method as 'POST', headers, body: bytes }).then(
    async ({ statusCode, body }) => {
      await body.dump({ limit: 1e9 });
      return statusCode;
    },
    // A body that is too large is refused while it is still on its way.
    () => 0,
  );
  void answered.then((status) => parentPort?.postMessage(status, []));
});

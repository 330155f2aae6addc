import { jsonAnswer, pixelAnswer } from '../protocol.ts';
import type { Protocol } from '../protocol.ts';
import { decodeMessages, messageAlone } from '../segment/segment.ts';

const types = ['track', 'page', 'screen', 'identify', 'group', 'alias', 'event'];
const paths = (base: string) => types.map((type) => `${base}${type}/`);

/**
 * The protocol of Jitsu's library: calls in Segment's form, one per request, under its own paths.
 */
export const jitsu: Protocol = {
  name: 'jitsu',
  match: [
    {
      paths: [...paths('/api/s/'), ...paths('/api/s/s2s/')],
      summary: "Send one call with Jitsu's library",
    },
    {
      paths: paths('/api/px/'),
      methods: ['GET'],
      answers: ['image/gif'],
      summary: 'Send one call with the address of a picture, in the form of Jitsu',
    },
  ],
  decode: decodeMessages,
  alone: messageAlone,
  answer: ({ method }) => (method === 'GET' ? pixelAnswer() : jsonAnswer({ ok: true })),
  settings: [],
};

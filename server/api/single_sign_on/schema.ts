import { Type } from 'typebox';

/** Where an administrator begins a test. */
export const TestSignIn = Type.Object(
  {
    url: Type.String({
      format: 'uri',
      description:
        'To be opened in a browser. It signs nobody in; at the end it shows what the identity ' +
        'provider said, or why that would be refused.',
    }),
    expires_at: Type.String({ format: 'date-time', description: 'Until when the test can begin.' }),
  },
  { title: 'TestSignIn' },
);

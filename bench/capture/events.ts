import { randomUUID } from 'node:crypto';

/** The number of events in a stream. */
export const stream_events = 100_000;

/** An event as a browser sends it, from one of 5,000 visitors. */
export function eventOf(number: number) {
  return {
    event: 'page viewed',
    distinct_id: `visitor ${number % 5_000}`,
    uuid: randomUUID() as string,
    properties: {
      $current_url: `https://shop.example/articles/${number % 900}`,
      $referrer: 'https://search.example/',
      $browser: 'Firefox',
      $device_id: '0190163d-8694-739b-aea5-966c26f8ad91',
      amount: number % 97,
    },
  };
}

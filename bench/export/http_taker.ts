// Accepts bodies over HTTP and ignores them: export.ts sends rows to it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

const server = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => response.end());
});
server.listen(0, '127.0.0.1', () => {
  process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
process.on('disconnect', () => process.exit());

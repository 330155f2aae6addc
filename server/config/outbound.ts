import type { OutboundOptions } from '../platform/outbound/outbound.ts';
import { choice, hosts, proxy, ranges, setting } from './values.ts';
import type { ValuesOf } from './values.ts';

/** Settings for outgoing connections: allowed addresses, and proxies. */
export const outbound_settings = {
  outbound_allow: setting(
    'SLUICE_OUTBOUND_ALLOW',
    '',
    ranges,
    'Private and loopback addresses that exports, plugins and metadata may reach, as ' +
      'addresses and CIDR ranges separated by commas (`127.0.0.0/8,10.1.0.0/16`).',
  ),
  https_proxy: setting(
    'SLUICE_HTTPS_PROXY',
    '',
    proxy,
    'Proxy for outgoing `https://` connections, as `http://user:password@host:3128`, with a ' +
      '% in the password written %25 ([outbound_proxy.md](outbound_proxy.md)). Default: the ' +
      'proxy of `HTTPS_PROXY` or `https_proxy`, else none.',
    ['HTTPS_PROXY', 'https_proxy'],
  ),
  http_proxy: setting(
    'SLUICE_HTTP_PROXY',
    '',
    proxy,
    'The same for `http://`. Default: the proxy of `HTTP_PROXY` or `http_proxy`, else none.',
    ['HTTP_PROXY', 'http_proxy'],
  ),
  no_proxy: setting(
    'SLUICE_NO_PROXY',
    '',
    hosts,
    'Hosts that are reached without a proxy, separated by commas: names, which also cover the ' +
      'names below them (`example.com`), and addresses, both with an optional `:port`; CIDR ' +
      'ranges; `*` for all. Default: that of `NO_PROXY` or `no_proxy`, else none. Loopback never ' +
      'goes through a proxy.',
    ['NO_PROXY', 'no_proxy'],
  ),
  proxy_connect: setting(
    'SLUICE_PROXY_CONNECT',
    'address',
    choice('address', 'name'),
    'Whether a proxy is asked to connect to the `address` that was checked, or to the host by ' +
      '`name`, as proxies want that allow hosts by their names; then the proxy looks the name up ' +
      'again.',
  ),
};

/** Returns the guard and the proxies that the settings ask for. */
export function outboundOptions(config: ValuesOf<typeof outbound_settings>): OutboundOptions {
  return { allow: config.outbound_allow, proxies: proxiesOf(config) };
}

/** Returns only the proxies, for addresses that the operator may choose freely. */
export function proxiesOf(
  config: ValuesOf<typeof outbound_settings>,
): NonNullable<OutboundOptions['proxies']> {
  const { https_proxy, http_proxy, no_proxy, proxy_connect } = config;
  return {
    https: https_proxy,
    http: http_proxy,
    without: no_proxy,
    connect_by: proxy_connect === 'name' ? 'name' : 'address',
  };
}

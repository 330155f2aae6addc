// The part of autocannon that the benches use; the package brings no types.
declare module 'autocannon' {
  type Options = { url: string; connections: number; duration: number; headers?: Record<string, string> };
  type Result = { non2xx: number; errors: number; requests: { average: number; total: number }; latency: { p99: number } };
  const autocannon: (options: Options) => Promise<Result>;
  export default autocannon;
}

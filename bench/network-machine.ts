/**
 * `lab/enclosed node bench/network-machine.ts`, after `node scripts/package.ts`, `lab/build` and `lab/layer`: creates
 * the VLANs and routes of `bench/network.ts` over HTTP in the test machine, 128 requests at a time, and times another
 * route.
 */
import { startNas } from '../test/support/lab/nas.ts';

const atOnce = 128;
const [vlans, routes] = [Number(process.argv[2] ?? 1000), Number(process.argv[3] ?? 4000)];

await using nas = await startNas({ disks: 0, networks: [0, 1], bare: [1] });
const send = async (path: string, body: object) => void (await nas.api.expect(201, 'POST', path, body));
const vlan = (n: number) => send('network/vlan/', { vlan_vint: `vlan${n}`, vlan_pint: 'vec1', vlan_tag: 1 + n });
const route = (n: number) =>
  send('network/staticroute/', {
    sr_destination: `172.${16 + Math.floor(n / 250)}.${n % 250}.0/24`,
    sr_gateway: `10.0.3.${2 + (n % 48)}`,
  });

await send('network/interface/', {
  int_name: 'a',
  int_interface: 'vec1',
  int_ipv4address: '10.0.3.50',
  int_v4netmaskbit: '24',
});
for (const [what, make, count] of [
  ['VLANs', vlan, vlans],
  ['static routes', route, routes],
] as const) {
  const begun = performance.now();
  for (let first = 0; first < count; first += count / 4) {
    const quarter = performance.now();
    await many(count / 4, (n) => make(first + n));
    console.log(`${first + count / 4} ${what}: the last ${count / 4} took ${seconds(quarter)}`);
  }
  console.log(`${count} ${what} over HTTP: ${seconds(begun)}`);
}
const before = performance.now();
await route(routes);
console.log(`another route: ${seconds(before)}`);
console.log(
  `the machine has ${(await nas.machine.run('ip -o link show type vlan | wc -l; ip route show proto static | wc -l')).trim().replace('\n', ' VLANs and ')} static routes`,
);
const start = performance.now();
await nas.machine.run('systemctl restart holdfast', { seconds: 300 });
console.log(`a restart of the daemon: ${seconds(start)}`);

async function many(count: number, make: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let n = next++; n < count; n = next++) await make(n);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

import { client } from '../base/client.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import { Card, Pill, Scroller, type State, Waiting } from '../parts/common.tsx';
import { Resources } from './area.tsx';

const states: Readonly<Record<string, readonly [State, string]>> = {
  Active: ['ok', 'connected'],
  'No carrier': ['bad', 'no cable'],
};

/** The interfaces with their addresses, and what else the network has. */
export default function NetworkPage() {
  const found = useLive('interfaces', ['record:network/interface', 'machine'], () =>
    client.get('/api/v1.0/network/interface/', { query: { limit: 0 } }),
  );
  return (
    <>
      <div class="row top">
        <h1>Network</h1>
        <span class="grow" />
        <a class="btn primary" href={link('network', 'record', { of: 'network/interface', new: '1' })}>
          New interface
        </a>
      </div>
      <Card title="Interfaces" beside={<span class="soft">those that Holdfast configures</span>}>
        {found.value === undefined ? (
          <Waiting refused={found.refused} what="the interfaces" />
        ) : found.value.length === 0 ? (
          <p class="empty soft">Holdfast configures no interface yet: the machine keeps the addresses that it has.</p>
        ) : (
          <Scroller label="Interfaces">
            <table>
              <thead>
                <tr>
                  <th>Interface</th>
                  <th>Link</th>
                  <th>Addresses</th>
                  <th>Given by</th>
                  <th>
                    <span class="unseen">Change</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {found.value.map((one) => {
                  const [state, title] = states[one.int_media_status] ?? ['off', 'not known'];
                  const key = String(one.id);
                  return (
                    <tr key={key}>
                      <td>
                        <a href={link('network', 'record', { of: 'network/interface', key })}>{one.int_interface}</a>
                      </td>
                      <td>
                        <Pill state={state}>{title}</Pill>
                      </td>
                      <td>{[...one.ipv4_addresses, ...one.ipv6_addresses].join(', ') || '–'}</td>
                      <td class="soft">{one.int_dhcp ? 'DHCP' : one.int_ipv4address === '' ? '–' : 'this record'}</td>
                      <td class="num">
                        <a href={link('network', 'address', { key })}>
                          Change address…<span class="unseen"> of {one.int_interface}</span>
                        </a>
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </Scroller>
        )}
      </Card>
      <div class="more">
        <Resources entry="network" />
      </div>
    </>
  );
}

import { client } from '../base/client.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import { Card, Pill, Scroller, type State, Waiting } from '../parts/common.tsx';
import * as t from '../texts/pages/network.ts';
import { Resources } from './area.tsx';

const states: Readonly<Record<string, readonly [State, string]>> = {
  Active: ['ok', 'connected'],
  'No carrier': ['bad', t.noCable],
};

/** The interfaces with their addresses, and what else the network has. */
export default function NetworkPage() {
  const found = useLive('interfaces', ['record:network/interface', 'machine'], () =>
    client.get('/api/v1.0/network/interface/', { query: { limit: 0 } }),
  );
  return (
    <>
      <div class="row top">
        <h1>{t.network}</h1>
        <span class="grow" />
        <a class="btn primary" href={link('network', 'record', { of: 'network/interface', new: '1' })}>
          {t.newInterface}
        </a>
      </div>
      <Card title={t.interfaces} beside={<span class="soft">{t.thoseThatHoldfastConfigures}</span>}>
        {found.value === undefined ? (
          <Waiting refused={found.refused} what={t.theInterfaces} />
        ) : found.value.length === 0 ? (
          <p class="empty soft">{t.holdfastConfiguresNoInterfaceYetThe}</p>
        ) : (
          <Scroller label={t.interfaces}>
            <table>
              <thead>
                <tr>
                  <th>{t.interfaceIt}</th>
                  <th>{t.link}</th>
                  <th>{t.addresses}</th>
                  <th>{t.givenBy}</th>
                  <th>
                    <span class="unseen">{t.change}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {found.value.map((one) => {
                  const [state, title] = states[one.int_media_status] ?? ['off', t.notKnown];
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
                      <td class="soft">{one.int_dhcp ? t.dhcp : one.int_ipv4address === '' ? '–' : t.thisRecord}</td>
                      <td class="num">
                        <a href={link('network', 'address', { key })}>
                          {t.changeAddressDots(<span class="unseen">{t.ofIt(one.int_interface)}</span>)}
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

import { client } from '../base/client.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import { Card, Pill, type State, Waiting } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Resources } from '../parts/resources.tsx';
import { Rows } from '../parts/rows.tsx';
import * as t from '../texts/pages/network.ts';

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
      <PageHead title={t.network}>
        <a class="btn primary" href={link('network', 'record', { of: 'network/interface', new: '1' })}>
          {t.newInterface}
        </a>
      </PageHead>
      <Card title={t.interfaces} beside={<span class="soft">{t.thoseThatHoldfastConfigures}</span>}>
        {found.value === undefined ? (
          <Waiting refused={found.refused} what={t.theInterfaces} />
        ) : found.value.length === 0 ? (
          <p class="empty soft">{t.holdfastConfiguresNoInterfaceYetThe}</p>
        ) : (
          <Rows
            label={t.interfaces}
            rows={found.value}
            keyOf={(one) => String(one.id)}
            columns={[
              {
                title: t.interfaceIt,
                cell: (one) => (
                  <a href={link('network', 'record', { of: 'network/interface', key: String(one.id) })}>
                    {one.int_interface}
                  </a>
                ),
              },
              {
                title: t.link,
                cell: (one) => {
                  const [state, title] = states[one.int_media_status] ?? ['off', t.notKnown];
                  return <Pill state={state}>{title}</Pill>;
                },
              },
              {
                title: t.addresses,
                cell: (one) => [...one.ipv4_addresses, ...one.ipv6_addresses].join(', ') || '–',
              },
              {
                ...{ title: t.givenBy, isSoft: true },
                cell: (one) => (one.int_dhcp ? t.dhcp : one.int_ipv4address === '' ? '–' : t.thisRecord),
              },
              {
                ...{ title: t.change, isAction: true },
                cell: (one) => (
                  <a href={link('network', 'address', { key: String(one.id) })}>
                    {t.changeAddressDots(<span class="unseen">{t.ofIt(one.int_interface)}</span>)}
                  </a>
                ),
              },
            ]}
          />
        )}
      </Card>
      <div class="more">
        <Resources entry="network" />
      </div>
    </>
  );
}

import { useSignal } from '@preact/signals';
import { client } from '../base/client.ts';
import { numberIn, rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { type Asked, asPlainCommand, transactions } from '../parts/asking.ts';
import { Card, Waiting } from '../parts/common.tsx';
import { SelectField, TextField } from '../parts/labelled.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import * as t from '../texts/pages/new-target.ts';

interface Known {
  readonly pools: readonly string[];
  /** The id of the first portal; undefined if there is none. */
  readonly portal: number | undefined;
  readonly service: { readonly id: string; readonly isOn: boolean } | undefined;
}

async function readKnown(): Promise<Known> {
  const read = async (path: string) => rowsIn(await client.request('GET', `/api/v1.0/${path}/?limit=0`));
  const [pools, portals, services] = await Promise.all([
    read('storage/volume'),
    read('services/iscsi/portal'),
    read('services/services'),
  ]);
  const found = services.find((one) => one['srv_service'] === 'iscsitarget');
  return {
    pools: pools.map((one) => textIn(one['vol_name'] ?? one['name'])),
    portal: numberIn(portals[0]?.['id']),
    service: found && { id: textIn(found['id']), isOn: found['srv_enable'] === true },
  };
}

/** A disk that a client has over the network: space, target, who may use it, and the service are one change. */
export default function NewTargetPage() {
  const known = useLive('what a target needs', ['record:services/iscsi/portal', 'machine'], readKnown);
  if (known.value === undefined) return <Waiting refused={known.refused} what={t.poolsAndPortals} />;
  if (known.value.pools.length === 0)
    return (
      <Card title={t.thereIsNoPoolYet}>
        <p>{t.aDiskForAClientLies}</p>
        <a class="btn primary" href={link('storage', 'new-pool')}>
          {t.newPool}
        </a>
      </Card>
    );
  return <NewTarget known={known.value} />;
}

function NewTarget({ known: { pools, portal, service } }: { known: Known }) {
  const name = useSignal('disk1');
  const pool = useSignal(pools[0] ?? '');
  const size = useSignal('100G');
  const initiators = useSignal('');
  const file = `/mnt/${pool.value}/iscsi/${name.value}`;
  const ref = (of: string) => ({ $ref: `${of}.id` });
  const requests = [
    ...(portal === undefined
      ? [
          {
            ...{ name: 'portal', method: 'POST', path: 'services/iscsi/portal/' },
            body: { iscsi_target_portal_ips: ['0.0.0.0:3260'] },
          },
        ]
      : []),
    {
      ...{ name: 'clients', method: 'POST', path: 'services/iscsi/authorizedinitiator/' },
      body: {
        iscsi_target_initiator_initiators: initiators.value.trim().split(/\s+/).join(' ') || 'ALL',
        iscsi_target_initiator_comment: name.value,
      },
    },
    {
      ...{ name: 'extent', method: 'POST', path: 'services/iscsi/extent/' },
      body: {
        ...{ iscsi_target_extent_name: name.value, iscsi_target_extent_type: t.file },
        ...{ iscsi_target_extent_path: file, iscsi_target_extent_filesize: `${size.value.replace(/B$/, '')}B` },
      },
    },
    { name: 'target', method: 'POST', path: 'services/iscsi/target/', body: { iscsi_target_name: name.value } },
    {
      ...{ method: 'POST', path: 'services/iscsi/targetgroup/' },
      body: {
        ...{ iscsi_target: ref('target'), iscsi_target_portalgroup: portal ?? ref('portal') },
        iscsi_target_initiatorgroup: ref('clients'),
      },
    },
    {
      ...{ method: 'POST', path: 'services/iscsi/targettoextent/' },
      body: { iscsi_target: ref('target'), iscsi_extent: ref('extent') },
    },
    ...(service === undefined || service.isOn
      ? []
      : [{ method: 'PUT', path: `services/services/${service.id}/`, body: { srv_enable: true } }]),
  ];
  const asked: Asked = { method: 'POST', address: transactions, body: { requests }, etag: undefined };
  return (
    <>
      <PageHead up={[link('block'), t.block]} title={t.aDiskForAClient} about={t.draftNothingHasHappenedYet} />
      <RequestForm
        {...{ asked }}
        shown={{ requests }}
        command={asPlainCommand(asked)}
        known={[
          ...['iscsi_target_name', 'iscsi_target_extent_name', 'iscsi_target_extent_path'],
          ...['iscsi_target_extent_filesize', 'iscsi_target_initiator_initiators'],
        ]}
        send={t.makeTheDisk}
        report={t.madeTheDisk(name.value)}
        isIncomplete={name.value === '' || size.value === ''}
        done={() => go(link('block'))}
        beside={
          <a class="btn" href={link('block')}>
            {t.cancel}
          </a>
        }
      >
        {(problems) => (
          <>
            <TextField
              id="name"
              label={t.name}
              value={name.value}
              set={(value) => (name.value = value)}
              problems={problems['iscsi_target_name'] ?? problems['iscsi_target_extent_name']}
              help={t.theClientSeesItAsThe}
            />
            <SelectField
              id="pool"
              label={t.pool}
              value={pool.value}
              set={(value) => (pool.value = value)}
              problems={problems['iscsi_target_extent_path']}
              help={t.theDiskIsTheFileIt(file)}
            >
              {pools.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </SelectField>
            <TextField
              id="size"
              label={t.size}
              value={size.value}
              set={(value) => (size.value = value)}
              problems={problems['iscsi_target_extent_filesize']}
              help={t.suchAs100GItCanGrow}
            />
            <TextField
              id="initiators"
              label={t.clientsThatMayUseIt}
              value={initiators.value}
              set={(value) => (initiators.value = value)}
              problems={problems['iscsi_target_initiator_initiators']}
              help={t.namesOfInitiatorsWithBlanksBetween}
            />
            <p class="help">{portal === undefined ? t.aPortalIsMadeTooISCSI : t.itIsReachedByThePortal}</p>
          </>
        )}
      </RequestForm>
    </>
  );
}

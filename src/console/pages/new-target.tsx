import { useSignal } from '@preact/signals';
import { client } from '../base/client.ts';
import { numberIn, rowsIn, textIn } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link } from '../base/route.ts';
import { type Asked, asPlainCommand, transactions } from '../parts/asking.ts';
import { Card, Waiting } from '../parts/common.tsx';
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
  const field = (
    id: string,
    title: string,
    signal: { value: string },
    problems: readonly string[] | undefined,
    help: string,
  ) => (
    <div class="field">
      <label for={id}>{title}</label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        value={signal.value}
        aria-describedby={`${id}-problem ${id}-help`}
        aria-invalid={problems !== undefined}
        onInput={(event) => (signal.value = event.currentTarget.value)}
      />
      <p class="err" id={`${id}-problem`}>
        {problems?.join(' ')}
      </p>
      <p class="help" id={`${id}-help`}>
        {help}
      </p>
    </div>
  );
  const asked: Asked = { method: 'POST', address: transactions, body: { requests }, etag: undefined };
  return (
    <>
      <div class="row top">
        <a href={link('block')}>{t.block}</a>
        <h1>{t.aDiskForAClient}</h1>
        <span class="grow" />
        <span class="soft">{t.draftNothingHasHappenedYet}</span>
      </div>
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
            {field(
              'name',
              t.name,
              name,
              problems['iscsi_target_name'] ?? problems['iscsi_target_extent_name'],
              t.theClientSeesItAsThe,
            )}
            <div class="field">
              <label for="pool">{t.pool}</label>
              <select
                id="pool"
                value={pool.value}
                aria-describedby="pool-help"
                onChange={(event) => (pool.value = event.currentTarget.value)}
              >
                {pools.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
              <p class="err">{problems['iscsi_target_extent_path']?.join(' ')}</p>
              <p class="help" id="pool-help">
                {t.theDiskIsTheFileIt(file)}
              </p>
            </div>
            {field('size', t.size, size, problems['iscsi_target_extent_filesize'], t.suchAs100GItCanGrow)}
            {field(
              'initiators',
              t.clientsThatMayUseIt,
              initiators,
              problems['iscsi_target_initiator_initiators'],
              t.namesOfInitiatorsWithBlanksBetween,
            )}
            <p class="help">{portal === undefined ? t.aPortalIsMadeTooISCSI : t.itIsReachedByThePortal}</p>
          </>
        )}
      </RequestForm>
    </>
  );
}

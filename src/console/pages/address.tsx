import { useSignal } from '@preact/signals';
import { addressOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { movedTo } from '../base/contact.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { asCommand } from '../parts/asking.ts';
import { Pick, Waiting } from '../parts/common.tsx';
import { TextField } from '../parts/labelled.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import * as t from '../texts/pages/address.ts';

const path = 'network/interface';
/** Seconds within which a person has to keep the change. */
const patience = 120;

/** Changes the address of an interface. The change goes back by itself unless a person keeps it. */
export default function AddressPage({ place: { words } }: { place: Place }) {
  const key = words.get('key') ?? '';
  const read = useLive(`interface ${key}`, [], async () => ({
    form: await formOf(path),
    one: await client.get('/api/v1.0/network/interface/{key}/', { path: { key } }),
  }));
  if (read.value?.form === undefined) return <Waiting refused={read.refused} what={t.theInterface} />;
  return <Change key={key} id={key} one={read.value.one} form={read.value.form} />;
}

interface ChangeProps {
  readonly id: string;
  readonly one: {
    readonly int_interface: string;
    readonly int_ipv4address: string;
    readonly int_v4netmaskbit: string;
    readonly int_dhcp: boolean;
    readonly ipv4_addresses: readonly string[];
  };
  readonly form: NonNullable<Awaited<ReturnType<typeof formOf>>>;
}

function Change({ id, one, form }: ChangeProps) {
  const [now = '', bits = ''] = (one.ipv4_addresses[0] ?? '').split('/');
  const isDhcp = useSignal(one.int_dhcp);
  const address = useSignal(one.int_ipv4address || now);
  const mask = useSignal(one.int_v4netmaskbit || bits || '24');
  const body = isDhcp.value
    ? { int_dhcp: true }
    : { int_dhcp: false, int_ipv4address: address.value, int_v4netmaskbit: mask.value };
  const isOwn = one.ipv4_addresses.some((it) => it.split('/')[0] === location.hostname);
  const back = link('network');
  const next = `${location.protocol}//${address.value}${location.port === '' ? '' : `:${location.port}`}/`;
  return (
    <>
      <PageHead
        up={[back, t.network]}
        title={t.changeTheAddressOf(one.int_interface)}
        about={one.ipv4_addresses.join(', ') || t.hasNoneNow}
      />
      <RequestForm
        asked={{
          method: 'PUT',
          address: `${addressOf(path, id)}?confirm_within=${patience}`,
          ...{ body, etag: undefined },
        }}
        shown={body}
        command={asCommand(form, 'set', id, body, form.fields)}
        known={['int_ipv4address', 'int_v4netmaskbit', 'int_dhcp']}
        send={t.changeTheAddress}
        report={t.changedTheAddressOf(one.int_interface)}
        around={(work) => {
          if (isOwn && !isDhcp.value) movedTo.value = next;
          return work();
        }}
        done={() => go(back)}
        beside={
          <a class="btn" href={back}>
            {t.cancel}
          </a>
        }
      >
        {(problems) => (
          <>
            <fieldset class="picks">
              <legend class="unseen">{t.whereTheAddressComesFrom}</legend>
              <Pick
                name="source"
                isChosen={!isDhcp.value}
                choose={() => (isDhcp.value = false)}
                title={t.fixed}
                text={t.itStaysUntilYouChangeIt}
              />
              <Pick
                name="source"
                isChosen={isDhcp.value}
                choose={() => (isDhcp.value = true)}
                title={t.dhcp}
                text={t.theNetworkGivesItItMay}
              />
            </fieldset>
            <p class="err">{problems['int_dhcp']?.join(' ')}</p>
            {!isDhcp.value && (
              <>
                <TextField
                  id="address"
                  label={t.ipv4Address}
                  value={address.value}
                  set={(value) => (address.value = value)}
                  problems={problems['int_ipv4address']}
                />
                <TextField
                  id="mask"
                  label={t.lengthOfTheNetworkPrefix}
                  value={mask.value}
                  set={(value) => (mask.value = value)}
                  isNumber
                  problems={problems['int_v4netmaskbit']}
                  help={t.anExampleOfAPrefix}
                />
              </>
            )}
            <p class={isOwn ? 'warn' : 'help'}>
              {t.theChangeGoesBackByItself(patience)}
              {isOwn && t.youAreConnectedByThisAddress(isDhcp.value ? t.theNewOne : next)}
            </p>
          </>
        )}
      </RequestForm>
    </>
  );
}

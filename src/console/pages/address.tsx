import { useSignal } from '@preact/signals';
import { addressOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { movedTo } from '../base/contact.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { asCommand } from '../parts/asking.ts';
import { Waiting } from '../parts/common.tsx';
import { RequestForm } from '../parts/request-form.tsx';

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
  if (read.value?.form === undefined) return <Waiting refused={read.refused} what="the interface" />;
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
      <div class="row top">
        <a href={back}>Network</a>
        <h1>Change the address of {one.int_interface}</h1>
        <span class="soft">{one.ipv4_addresses.join(', ') || 'has none now'}</span>
      </div>
      <RequestForm
        asked={{
          method: 'PUT',
          address: `${addressOf(path, id)}?confirm_within=${patience}`,
          ...{ body, etag: undefined },
        }}
        shown={body}
        command={asCommand(form, 'set', id, body, form.fields)}
        known={['int_ipv4address', 'int_v4netmaskbit', 'int_dhcp']}
        send="Change the address"
        report={`Changed: the address of ${one.int_interface}`}
        around={(work) => {
          if (isOwn && !isDhcp.value) movedTo.value = next;
          return work();
        }}
        done={() => go(back)}
        beside={
          <a class="btn" href={back}>
            Cancel
          </a>
        }
      >
        {(problems) => (
          <>
            <fieldset class="picks">
              <legend class="unseen">Where the address comes from</legend>
              <label class="pick">
                <input type="radio" name="source" checked={!isDhcp.value} onChange={() => (isDhcp.value = false)} />
                <b>Fixed</b>
                <span class="soft">It stays until you change it.</span>
              </label>
              <label class="pick">
                <input type="radio" name="source" checked={isDhcp.value} onChange={() => (isDhcp.value = true)} />
                <b>DHCP</b>
                <span class="soft">The network gives it. It may change.</span>
              </label>
            </fieldset>
            <p class="err">{problems['int_dhcp']?.join(' ')}</p>
            {!isDhcp.value && (
              <>
                <div class="field beneath">
                  <label for="address">IPv4 address</label>
                  <input
                    id="address"
                    type="text"
                    autocomplete="off"
                    value={address.value}
                    aria-describedby="address-problem"
                    aria-invalid={problems['int_ipv4address'] !== undefined}
                    onInput={(event) => (address.value = event.currentTarget.value)}
                  />
                  <p class="err" id="address-problem">
                    {problems['int_ipv4address']?.join(' ')}
                  </p>
                </div>
                <div class="field">
                  <label for="mask">Length of the network prefix</label>
                  <input
                    id="mask"
                    type="text"
                    inputMode="numeric"
                    autocomplete="off"
                    value={mask.value}
                    aria-describedby="mask-help mask-problem"
                    aria-invalid={problems['int_v4netmaskbit'] !== undefined}
                    onInput={(event) => (mask.value = event.currentTarget.value)}
                  />
                  <p class="err" id="mask-problem">
                    {problems['int_v4netmaskbit']?.join(' ')}
                  </p>
                  <p class="help" id="mask-help">
                    24 is the mask 255.255.255.0.
                  </p>
                </div>
              </>
            )}
            <p class={isOwn ? 'warn' : 'help'}>
              The change goes back by itself after {patience} s unless you press Keep, which then stands in every
              window.
              {isOwn &&
                ` You are connected by this address: open ${isDhcp.value ? 'the new one' : next} after it and press Keep there.`}
            </p>
          </>
        )}
      </RequestForm>
    </>
  );
}

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { addressOf, type Form, formOf } from '../base/catalogue.ts';
import { count } from '../base/format.ts';
import type { Row } from '../base/json.ts';
import { useLive } from '../base/live.ts';
import { go, link, type Place } from '../base/route.ts';
import { person, renewing } from '../base/session.ts';
import { asCommand, openBody, transactions } from '../parts/asking.ts';
import { Card, Pill, Waiting } from '../parts/common.tsx';
import {
  addressesOf,
  after,
  type FirstHour,
  firstLeft,
  hostFor,
  isDone,
  readFirstHour,
  type StageName,
  stages,
  topics,
} from '../parts/first-hour.ts';
import { SelectField, TextField } from '../parts/labelled.tsx';
import { SomeFields, useDraft } from '../parts/made-form.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import { initialValues } from '../parts/values.ts';
import * as t from '../texts/pages/first-hour.ts';

const stepLink = (step: StageName) => link('overview', 'first-hour', { step });

/** From an empty machine to a share: each step is a request, can be skipped, and is recognised when it is done already. */
export default function FirstHourPage({ place: { words } }: { place: Place }) {
  const name = person.value?.name ?? '';
  const now = useLive(`first hour of ${name}`, topics, () => readFirstHour(name));
  if (now.value === undefined) return <Waiting refused={now.refused} what={t.whatIsThere} />;
  const asked = stages.find((one) => one.name === words.get('step'))?.name;
  if (asked === undefined) {
    // The step in sight does not change by what other windows do.
    location.replace(stepLink(firstLeft(now.value)));
    return null;
  }
  return <Walk now={now.value} step={asked} />;
}

interface StepProps {
  readonly now: FirstHour;
  next(): void;
  readonly skip: ComponentChildren;
}

function Walk({ now, step }: { now: FirstHour; step: StageName }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Before the page is drawn: later it would take the focus from what a person has reached by then.
  useLayoutEffect(() => heading.current?.focus(), []);
  // What was there when the step was opened: the form stays while its own request is carried out.
  const wasDone = useSignal(isDone(step, now));
  const index = stages.findIndex(({ name }) => name === step);
  const props: StepProps = {
    now,
    next: () => go(stepLink(after(step))),
    skip: (
      <a class="btn" href={stepLink(after(step))}>
        {t.skip}
      </a>
    ),
  };
  return (
    <>
      <PageHead title={t.theFirstHour} about={t.fromAnEmptyMachineToA} />
      <ol class="stages" aria-label={t.steps}>
        {stages.map(({ name, title }) => (
          <li key={name} aria-current={name === step ? 'step' : undefined} class={isDone(name, now) ? 'done' : ''}>
            <a href={stepLink(name)}>
              {title}
              {isDone(name, now) && <span class="unseen">{t.done}</span>}
            </a>
          </li>
        ))}
      </ol>
      <h2 ref={heading} tabIndex={-1} class="unseen">
        {t.stepOf(index + 1, stages.length, stages[index]?.title)}
      </h2>
      {wasDone.value ? (
        <Done {...props} step={step} again={() => (wasDone.value = false)} />
      ) : (
        <>
          {step === 'password' && <Password {...props} />}
          {step === 'pool' && <Pool {...props} />}
          {step === 'dataset' && <Dataset {...props} />}
          {step === 'account' && <NewAccount {...props} />}
          {step === 'share' && <Share {...props} />}
          {step === 'snapshots' && <Snapshots {...props} />}
          {step === 'address' && <Address now={now} />}
        </>
      )}
    </>
  );
}

/** The pool maker is as large as all other steps together: it is loaded when its step is opened. */
function Pool({ next, skip }: StepProps) {
  const maker = useLive('the pool maker', [], () => import('../parts/pool-maker.tsx'));
  const Maker = maker.value?.PoolMaker;
  return Maker === undefined ? (
    <Waiting refused={maker.refused} what={t.theForm} />
  ) : (
    <Maker done={next} beside={skip} />
  );
}

/** A step that has nothing left to do. */
function Done({ now, step, again, next }: StepProps & { step: StageName; again(): void }) {
  const found: Readonly<Record<StageName, string>> = {
    password: now.root === undefined ? t.thePasswordWasSetOrAnother : '',
    pool: t.thereIsAPool(now.pools.join(', ')),
    dataset: t.thereIsADataset(namesIn(now.datasets)),
    account: t.thereIsAnAccount(namesIn(now.accounts)),
    share: t.thereIsAShare(now.shares.map(({ name, folder }) => name || folder).join(', ')),
    snapshots: t.snapshotsAreScheduledOf(now.scheduled.join(', ')),
    address: '',
  };
  return (
    <Card title={t.thisIsDone}>
      <p>{found[step]}</p>
      <div class="row end">
        <button type="button" class="primary" onClick={next}>
          {t.next}
        </button>
        {step === 'password' ? (
          <a class="btn" href={link('accounts', 'list', { of: 'account/users' })}>
            {t.accounts}
          </a>
        ) : (
          <button type="button" onClick={again}>
            {t.makeAnother}
          </button>
        )}
      </div>
    </Card>
  );
}

const namesIn = (some: readonly { readonly name: string }[]): string =>
  some.length > 4 ? t.ofThem(some.length) : some.map(({ name }) => name).join(', ');

function Password({ now, next, skip }: StepProps) {
  const form = useLive('form of users', [], () => formOf('account/users'));
  const password = useSignal('');
  const repeated = useSignal('');
  const command = form.value?.commands.find(({ verb }) => verb === 'set-password');
  if (form.value === undefined || command === undefined) return <Waiting refused={form.refused} what={t.theForm} />;
  const name = person.value?.name ?? '';
  const key = now.root ?? '';
  const body = { bsdusr_password: password.value };
  const differs = repeated.value !== '' && repeated.value !== password.value;
  return (
    <RequestForm
      asked={{ method: 'POST', address: addressOf('account/users', `${key}/password`), body, etag: undefined }}
      shown={openBody(body, command.fields)}
      command={asCommand(form.value, 'set-password', key, body, command.fields)}
      known={['bsdusr_password']}
      send={t.setThePassword}
      report={t.thePasswordOfRootIsSet}
      isIncomplete={password.value === '' || repeated.value !== password.value}
      around={(work) => renewing(name, password.value, work)}
      done={next}
      beside={skip}
    >
      {(problems) => (
        <>
          <p class="help">{t.theFirstPasswordWasPrintedIn}</p>
          <SomeFields
            fields={command.fields}
            wires={['bsdusr_password']}
            values={{}}
            {...{ problems }}
            set={(_, value) => (password.value = String(value ?? ''))}
          />
          <TextField
            id="repeated"
            label={t.theSameAgain}
            type="password"
            autocomplete="new-password"
            value={repeated.value}
            set={(value) => (repeated.value = value)}
            problems={differs ? [t.thisDiffersFromThePasswordAbove] : []}
          />
        </>
      )}
    </RequestForm>
  );
}

interface CreateProps extends Omit<StepProps, 'now'> {
  readonly path: string;
  readonly wires: readonly string[];
  readonly first: Row;
  readonly send: string;
  readonly report: (body: Row) => string;
  readonly about: ComponentChildren;
}

/** A step that makes one record of a resource. */
function Create(props: CreateProps) {
  const form = useLive(`form ${props.path}`, [], () => formOf(props.path));
  if (form.value === undefined) return <Waiting refused={form.refused} what={t.theForm} />;
  return <CreateForm {...props} form={form.value} />;
}

function CreateForm({ form, wires, first, send, report, about, next, skip }: CreateProps & { form: Form }) {
  const { body, set } = useDraft(first);
  return (
    <RequestForm
      asked={{ method: 'POST', address: addressOf(form.path), body, etag: undefined }}
      shown={openBody(body, form.fields)}
      command={asCommand(form, 'create', '', body, form.fields)}
      known={wires}
      {...{ send }}
      report={report(body)}
      done={next}
      beside={skip}
    >
      {(problems) => (
        <>
          <p class="help beneath">{about}</p>
          <SomeFields
            fields={form.fields}
            values={{ ...initialValues(form.fields, undefined), ...body }}
            {...{ wires, problems, set }}
          />
        </>
      )}
    </RequestForm>
  );
}

/** Says that a step needs a pool first. */
function NeedsPool({ skip }: { skip: ComponentChildren }) {
  return (
    <Card title={t.thereIsNoPoolYet}>
      <p>{t.thisLiesOnAPoolMake}</p>
      <div class="row end">
        <a class="btn primary" href={stepLink('pool')}>
          {t.makeAPool}
        </a>
        {skip}
      </div>
    </Card>
  );
}

function Dataset({ now, ...rest }: StepProps) {
  const pool = useSignal(now.pools[0]);
  if (pool.value === undefined) return <NeedsPool skip={rest.skip} />;
  return (
    <>
      {now.pools.length > 1 && (
        <div class="field row">
          <label for="pool">{t.pool}</label>
          <select
            id="pool"
            class="span"
            value={pool.value}
            onChange={(event) => (pool.value = event.currentTarget.value)}
          >
            {now.pools.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </div>
      )}
      <Create
        {...rest}
        key={pool.value}
        path={`storage/volume/${pool.value}/datasets`}
        wires={['name', 'comments', 'quota']}
        first={{ name: 'media' }}
        send={t.makeTheDataset}
        report={({ name }) => t.createdDataset(pool.value ?? '', String(name))}
        about={t.aDatasetIsAFolderOf(pool.value)}
      />
    </>
  );
}

function NewAccount({ now: _, ...rest }: StepProps) {
  return (
    <Create
      {...rest}
      path="account/users"
      wires={['bsdusr_username', 'bsdusr_full_name', 'bsdusr_password']}
      first={{ bsdusr_creategroup: true }}
      send={t.makeTheAccount}
      report={({ bsdusr_username: name }) => t.createdUser(String(name))}
      about={t.withThisNameAndPasswordA}
    />
  );
}

const servers = {
  SMB: { path: 'sharing/cifs', service: 'cifs', wires: ['cifs_path', 'cifs_name', 'cifs_ro', 'cifs_guestok'] },
  NFS: { path: 'sharing/nfs', service: 'nfs', wires: ['nfs_paths', 'nfs_network', 'nfs_ro'] },
} as const;

function Share(props: StepProps) {
  const protocol = useSignal<'SMB' | 'NFS'>('SMB');
  const { path } = servers[protocol.value];
  const forms = useLive(`forms of ${path}`, [], () =>
    Promise.all([formOf(path), formOf('services/services'), formOf('storage/permission')]),
  );
  const [share, service, permission] = forms.value ?? [];
  if (props.now.pools.length === 0) return <NeedsPool skip={props.skip} />;
  if (share === undefined || service === undefined || permission === undefined)
    return <Waiting refused={forms.refused} what={t.theForm} />;
  return <ShareForm key={share.path} {...props} {...{ protocol, share, service, permission }} />;
}

interface ShareProps extends StepProps {
  readonly protocol: { value: 'SMB' | 'NFS' };
  readonly share: Form;
  readonly service: Form;
  readonly permission: Form;
}

/** A share, its service, and who may write in its folder: three requests as one change. */
function ShareForm({ now, next, skip, protocol, share, service, permission }: ShareProps) {
  const { wires, service: serviceName } = servers[protocol.value];
  const folder = now.datasets.at(-1)?.mountpoint ?? `/mnt/${now.pools[0] ?? ''}`;
  const isSmb = protocol.value === 'SMB';
  const { body, set } = useDraft(isSmb ? { cifs_path: folder } : { nfs_paths: [folder] });
  const owner = useSignal(now.accounts.at(-1)?.name ?? '');
  const account = now.accounts.find(({ name }) => name === owner.value);
  const path = isSmb ? body['cifs_path'] : Array.isArray(body['nfs_paths']) ? body['nfs_paths'][0] : undefined;
  const { isOn, id } = now.services[serviceName];
  const rights = permission.commands.find(({ verb }) => verb === 'set')?.fields ?? [];
  const sharing = { method: 'POST', path: `${share.path}/`, body };
  const giving = {
    ...{ mp_path: path, mp_acl: 'windows', mp_user: account?.name ?? '' },
    ...(account?.group ? { mp_group: account.group } : { mp_group_en: false }),
    mp_recursive: true,
  };
  const requests = [
    sharing,
    ...(isOn ? [] : [{ method: 'PUT', path: `services/services/${id}/`, body: { srv_enable: true } }]),
    ...(account === undefined ? [] : [{ method: 'PUT', path: 'storage/permission/', body: giving }]),
  ];
  const commands = [
    asCommand(share, 'create', '', body, share.fields),
    ...(isOn ? [] : [asCommand(service, 'set', id, { srv_enable: true }, service.fields)]),
    ...(account === undefined ? [] : [asCommand(permission, 'set', '', giving, rights)]),
  ];
  return (
    <RequestForm
      asked={{ method: 'POST', address: transactions, body: { requests }, etag: undefined }}
      shown={{ requests }}
      command={commands.join('\n')}
      known={wires}
      send={t.shareTheFolder}
      report={t.shared(String(path ?? ''))}
      done={next}
      beside={skip}
    >
      {(problems) => (
        <>
          <fieldset class="field plain">
            <legend>{t.servedBy}</legend>
            {(['SMB', 'NFS'] as const).map((one) => (
              <label key={one} class="inline">
                <input
                  type="radio"
                  name="protocol"
                  checked={protocol.value === one}
                  onChange={() => (protocol.value = one)}
                />
                {one === 'SMB' ? t.smbForWindowsMacOSAndLinux : t.nfsForLinuxAndHypervisors}
              </label>
            ))}
          </fieldset>
          <SomeFields
            fields={share.fields}
            values={{ ...initialValues(share.fields, undefined), ...body }}
            {...{ wires, problems, set }}
          />
          <SelectField
            id="owner"
            label={t.whoMayWriteInTheFolder}
            value={owner.value}
            set={(value) => (owner.value = value)}
            help={t.theFolderAndEverythingInIt}
          >
            <option value="">{t.leaveItsOwnerAsItIs}</option>
            {now.accounts.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </SelectField>
        </>
      )}
    </RequestForm>
  );
}

function Snapshots({ now, ...rest }: StepProps) {
  const dataset = now.datasets.at(-1)?.name ?? now.pools[0];
  if (dataset === undefined) return <NeedsPool skip={rest.skip} />;
  return (
    <Create
      {...rest}
      path="storage/task"
      wires={[
        ...['task_filesystem', 'task_interval', 'task_begin', 'task_end', 'task_ret_count', 'task_ret_unit'],
        'task_recursive',
      ]}
      first={{
        ...{ task_filesystem: dataset, task_recursive: true, task_repeat_unit: 'daily' },
        ...{ task_begin: '00:00:00', task_end: '23:59:00', task_interval: 60 },
      }}
      send={t.scheduleTheSnapshots}
      report={({ task_filesystem: name }) => t.snapshotsOfAreScheduled(String(name))}
      about={t.aSnapshotKeepsTheFilesAs}
    />
  );
}

/** What clients type. */
function Address({ now }: { now: FirstHour }) {
  const host = hostFor(location.hostname, now.hostname);
  if (now.shares.length === 0)
    return (
      <Card title={t.nothingIsSharedYet}>
        <p>{t.shareAFolderAndThisPage}</p>
        <div class="row end">
          <a class="btn primary" href={stepLink('share')}>
            {t.shareAFolder}
          </a>
        </div>
      </Card>
    );
  return (
    <div class="cards reach">
      {now.shares.map((share) => {
        const { isOn, runs } = now.services[share.protocol === 'SMB' ? 'cifs' : 'nfs'];
        const account = share.isForGuests ? '' : (now.accounts.at(-1)?.name ?? '');
        return (
          <Card
            key={`${share.protocol} ${share.name} ${share.folder}`}
            title={share.name || share.folder}
            beside={
              <Pill state={runs ? 'ok' : 'warn'}>
                {runs ? t.runs(share.protocol) : isOn ? t.doesNotRun(share.protocol) : t.isOff(share.protocol)}
              </Pill>
            }
          >
            <dl class="state">
              {addressesOf(share, host, account).map(({ system, where, text }) => (
                <div key={`${system} ${where}`}>
                  <dt>
                    <b>{system}</b> · {where}
                  </dt>
                  <dd>
                    <code>{text}</code>
                  </dd>
                </div>
              ))}
            </dl>
            {!runs && (
              <p>
                {t.hasTheSwitchAndWhyIt(<a href={link('system', 'list', { of: 'services/services' })}>{t.services}</a>)}
              </p>
            )}
            {share.protocol === 'SMB' && account !== '' && <p class="help">{t.theClientAsksForAName(account)}</p>}
          </Card>
        );
      })}
      <div class="row">
        <a class="btn primary" href={link('overview')}>
          {t.toTheOverview}
        </a>
        <span class="soft">{count(now.shares.length, t.share)}</span>
      </div>
    </div>
  );
}

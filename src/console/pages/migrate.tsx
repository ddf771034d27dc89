import { useSignal } from '@preact/signals';
import type { components } from '../../../clients/typescript/src/index.ts';
import { client } from '../base/client.ts';
import { count } from '../base/format.ts';
import { type Refusal, refusalOf } from '../base/problem.ts';
import { go, link } from '../base/route.ts';
import type { Asked } from '../parts/asking.ts';
import { Card } from '../parts/common.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Refused } from '../parts/refused.tsx';
import { RequestForm } from '../parts/request-form.tsx';
import { Rows } from '../parts/rows.tsx';
import * as t from '../texts/pages/migrate.ts';

type Migration = components['schemas']['Migration'];
type Left = Migration['left'][number];

/** The database of an old appliance: what is proposed, what cannot be carried, and then the plan and the change. */
export default function MigratePage() {
  const content = useSignal('');
  const secret = useSignal('');
  const chosen = useSignal<Readonly<Record<string, string>>>({});
  const found = useSignal<Migration | undefined>(undefined);
  const text = useSignal('');
  const refusal = useSignal<Refusal | undefined>(undefined);
  const isReading = useSignal(false);
  const read = async () => {
    refusal.value = undefined;
    isReading.value = true;
    try {
      const body = { content: content.value, secret: secret.value, interfaces: chosen.value };
      found.value = await client.post('/api/holdfast/v1/migrate', { body });
      text.value = found.value.file;
    } catch (error) {
      found.value = undefined;
      refusal.value = refusalOf(error);
    } finally {
      isReading.value = false;
    }
  };
  return (
    <div class="cards">
      <PageHead up={[link('system'), t.system]} title={t.moveFromAnOldAppliance} />
      <Card title={t.theConfigurationOfFreeNASOrTrueNAS}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void read();
          }}
        >
          <Upload id="database" label={t.archiveOfTheExportOrFreenas} to={content}>
            {t.itIsReadInMemoryAnd}
          </Upload>
          <Upload id="secret" label={t.pwencSecretIfTheArchiveDoes} to={secret}>
            {t.withoutTheKeyEachSecretThat}
          </Upload>
          {found.value !== undefined && <Interfaces migration={found.value} chosen={chosen} />}
          <Refused refusal={refusal.value} known={[]} />
          <div class="row end">
            <button type="submit" class="primary" disabled={content.value === '' || isReading.value}>
              {found.value === undefined ? t.readIt : t.readItAgain}
            </button>
          </div>
        </form>
      </Card>
      {found.value !== undefined && <Proposal migration={found.value} text={text} />}
    </div>
  );
}

interface UploadProps {
  readonly id: string;
  readonly label: string;
  readonly to: { value: string };
  readonly children: string;
}

/** A file that is chosen, in base64. */
function Upload({ id, label, to, children }: UploadProps) {
  const take = (file: File | undefined) => {
    to.value = '';
    if (file === undefined) return;
    const reader = new FileReader();
    reader.onload = () => {
      to.value = String(reader.result).replace(/^data:[^,]*,/, '');
    };
    reader.readAsDataURL(file);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        type="file"
        aria-describedby={`${id}-help`}
        onChange={(event) => take(event.currentTarget.files?.[0])}
        {...{ id }}
      />
      <p class="help" id={`${id}-help`}>
        {children}
      </p>
    </div>
  );
}

/** Which interface here takes the place of which there. None is chosen without a person. */
function Interfaces({
  migration: { interfaces, here },
  chosen,
}: {
  migration: Migration;
  chosen: { value: Readonly<Record<string, string>> };
}) {
  const choose = (name: string, to: string) => {
    const { [name]: _, ...others } = chosen.value;
    chosen.value = to === '' ? others : { ...others, [name]: to };
  };
  return (
    <>
      {interfaces.map(({ name, description, addresses, proposed, why }) => (
        <div key={name} class="field">
          <label for={`nic-${name}`}>
            {t.becomes([name, description, ...addresses].filter((one) => one !== '').join(' · '))}
          </label>
          <select id={`nic-${name}`} onChange={(event) => choose(name, event.currentTarget.value)}>
            <option value="">{t.notCarried}</option>
            {here.map((one) => (
              <option key={one.name} value={one.name} selected={chosen.value[name] === one.name}>
                {t.link(one.name, one.mac, one.link, one.name === proposed ? t.probablyThisOne : '')}
              </option>
            ))}
          </select>
          {why !== '' && <p class="help">{why}</p>}
        </div>
      ))}
    </>
  );
}

function Proposal({ migration, text }: { migration: Migration; text: { value: string } }) {
  const { version, records, left, ignored } = migration;
  const body = { files: [{ name: 'migrated.yaml', text: text.value }] };
  const asked: Asked = { method: 'POST', address: '/api/holdfast/v1/file/apply', body, etag: undefined };
  return (
    <>
      <Card title={t.onWhatIsNotCarriedOr(count(left.length, t.remark))}>
        {ignored.length > 0 && <p class="help">{t.notRead(ignored.join(', '))}</p>}
        <Remarks left={left} />
      </Card>
      <RequestForm
        {...{ asked }}
        shown={body}
        command="holdfast apply -f migrated.yaml"
        known={[]}
        send={t.applyTheFile}
        isIncomplete={text.value.trim() === ''}
        report={t.appliedTheConfigurationOf(version)}
        done={() => go(link('activity'))}
        beside={
          <a class="btn" href={link('system')}>
            {t.cancel}
          </a>
        }
      >
        {() => (
          <div class="field">
            <label for="proposed">{t.theProposedFileOfVersion(count(records, t.record), version)}</label>
            <textarea
              id="proposed"
              class="code"
              rows={24}
              spellcheck={false}
              value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)}
            />
            <p class="help">{t.changeWhatDoesNotSuitYou}</p>
          </div>
        )}
      </RequestForm>
    </>
  );
}

function Remarks({ left }: { left: readonly Left[] }) {
  return (
    <Rows
      label={t.whatIsNotCarried}
      rows={left}
      keyOf={({ table, row, column, reason }) => `${table} ${row} ${column} ${reason}`}
      columns={[
        {
          ...{ title: t.where, isLong: true },
          cell: ({ table, row, column, record }) => (
            <>
              {record === '' ? `${table} ${row}` : record} <span class="soft">{column}</span>
            </>
          ),
        },
        { title: t.why, isLong: true, cell: ({ reason }) => reason },
        { title: t.whatToDo, isLong: true, cell: ({ remedy }) => remedy },
      ]}
    />
  );
}

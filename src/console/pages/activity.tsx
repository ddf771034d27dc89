import type { components } from '../../../clients/typescript/src/index.ts';
import { entryOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { capital, exactly, shown } from '../base/format.ts';
import { numberIn, type Row, rowIn, rowsIn, textIn } from '../base/json.ts';
import { touch, useLive } from '../base/live.ts';
import { notify, undo } from '../base/notices.ts';
import { refusalOf } from '../base/problem.ts';
import { link, type Place } from '../base/route.ts';
import { Card, Pill, Scroller, Waiting } from '../parts/common.tsx';
import { progressOf } from '../parts/job.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Rows } from '../parts/rows.tsx';
import { type Column, Table } from '../parts/table.tsx';
import * as t from '../texts/pages/activity.ts';

const time: Column = {
  ...{ name: 'at', title: t.time, canSort: true },
  cell: (row) => exactly(textIn(row['at'])),
};
const text = (name: string, title: string, more: Partial<Column> = {}): Column => ({
  ...{ name, title, canSort: true },
  cell: (row) => textIn(row[name]) || '–',
  ...more,
});

/** What happened: jobs, changes, differences between machine and configuration, and the audit log. */
export default function ActivityPage({ place: { page, words } }: { place: Place }) {
  if (page === 'revision') return <RevisionPage number={Number(words.get('number'))} />;
  return (
    <>
      <PageHead title={t.activity} />
      <div class="cards">
        <Card title={t.jobs}>
          <Table
            label={t.jobs}
            address="/api/holdfast/v1/jobs"
            topics={['jobs']}
            fields={['id', 'title', 'state', 'started', 'percent', 'estimated_end', 'steps', 'error', 'progress']}
            keyOf={(row) => textIn(row['id'])}
            empty={<p class="soft">{t.noJobHasRunYet}</p>}
            columns={[
              text('title', t.job, { canFind: true }),
              { name: 'state', title: t.state, canSort: true, cell: (row) => <JobState row={row} /> },
              { name: 'started', title: t.began, canSort: true, cell: (row) => exactly(textIn(row['started'])) },
              {
                name: 'progress',
                title: t.whatItReported,
                cell: (row) => textIn(row['error']) || progressIn(row) || '–',
              },
            ]}
          />
        </Card>
        <Card title={t.changes}>
          <Table
            label={t.changes}
            address="/api/holdfast/v1/revisions"
            topics={['revisions']}
            fields={['number', 'at', 'actor', 'title', 'comment']}
            keyOf={(row) => textIn(row['number'])}
            empty={<p class="soft">{t.nothingHasBeenChangedYet}</p>}
            columns={[
              {
                ...{ name: 'title', title: t.change, canFind: true, canSort: true },
                cell: (row) => (
                  <a href={link('activity', 'revision', { number: textIn(row['number']) })}>{textIn(row['title'])}</a>
                ),
              },
              text('actor', t.by),
              time,
              text('comment', t.why),
            ]}
          />
        </Card>
        <Drift />
        <Card title={t.auditLog}>
          <Table
            label={t.auditLog}
            address="/api/holdfast/v1/audit"
            topics={['revisions']}
            fields={['number', 'at', 'actor', 'address', 'method', 'path', 'status']}
            keyOf={(row) => textIn(row['number'])}
            empty={<p class="soft">{t.noRequestHasChangedAnythingYet}</p>}
            columns={[
              text('path', t.request, {
                canFind: true,
                cell: (row) => `${textIn(row['method'])} ${textIn(row['path'])}`,
              }),
              text('status', t.answer),
              text('actor', t.by),
              text('address', t.from),
              time,
            ]}
          />
        </Card>
      </div>
    </>
  );
}

/** What a job reported last; how far it is, as long as it runs. */
function progressIn(row: Row): string {
  if (row['state'] !== 'running') return textIn(row['progress']);
  const steps = rowsIn(row['steps']).map((step) => ({ title: textIn(step['title']), state: textIn(step['state']) }));
  return progressOf({
    ...{ progress: textIn(row['progress']), percent: numberIn(row['percent']) ?? null, steps },
    estimated_end: textIn(row['estimated_end']) || null,
  });
}

function JobState({ row }: { row: Row }) {
  const state = textIn(row['state']);
  return (
    <Pill state={state === 'finished' ? 'ok' : state === 'running' ? 'off' : state === 'failed' ? 'bad' : 'warn'}>
      {state}
    </Pill>
  );
}

/** Where the machine differs from the configuration, with the request that ends it. */
function Drift() {
  const drift = useLive('drift', ['drift', 'revisions'], () => client.get('/api/holdfast/v1/drift'));
  const differing = drift.value?.filter((one) => one.drift.length > 0 || one.degraded != null) ?? [];
  const heal = async (subsystem: string) => {
    try {
      await client.post('/api/holdfast/v1/drift/{subsystem}/heal', { path: { subsystem } });
      notify(t.isAsConfiguredAgain(subsystem));
    } catch (error) {
      notify(refusalOf(error).sentence, 'refused');
    }
    touch('drift', 'problems', 'machine');
  };
  return (
    <Card title={t.differencesFromTheConfiguration}>
      {drift.value === undefined ? (
        <Waiting refused={drift.refused} what={t.theDifferences} />
      ) : differing.length === 0 ? (
        <p class="soft">{t.theMachineIsAsConfiguredSubsystems(drift.value.length)}</p>
      ) : (
        <Scroller label={t.differencesFromTheConfiguration}>
          <table>
            <tbody>
              {differing.map(({ subsystem, drift: some, degraded }) => (
                <tr key={subsystem}>
                  <td>{subsystem}</td>
                  <td class="wrap">{[degraded, ...some].filter((one) => one != null).join('; ')}</td>
                  <td class="num">
                    <button type="button" onClick={() => void heal(subsystem)}>
                      {t.heal}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </Card>
  );
}

/** One change, field by field, and the way back. */
function RevisionPage({ number }: { number: number }) {
  const revision = useLive(`revision ${number}`, [], () =>
    client.get('/api/holdfast/v1/revisions/{number}', { path: { number } }),
  );
  if (revision.value === undefined) return <Waiting refused={revision.refused} what={t.theChange} />;
  const { title, actor, at, comment, revertible, changes } = revision.value;
  return (
    <>
      <PageHead
        up={[link('activity'), t.activity]}
        title={title}
        about={
          <>
            {t.changeBy(number, actor, exactly(at))}
            {comment == null ? '' : ` · ${comment}`}
          </>
        }
      >
        <button type="button" class="primary" disabled={!revertible} onClick={() => void undo(number)}>
          {t.undo}
        </button>
      </PageHead>
      {!revertible && <p class="soft">{t.itCannotBeTakenBackIt}</p>}
      <div class="cards">
        {changes.map((one) => (
          <ChangedRecord key={`${one.resource} ${one.id}`} change={one} />
        ))}
      </div>
    </>
  );
}

type Changed = components['schemas']['RevisionDiff']['changes'][number];

/** A record before and after a change. Of one that was made or removed, fields without a value are left out. */
function ChangedRecord({ change: { resource, id, what, fields } }: { change: Changed }) {
  const form = useLive(`form ${resource}`, [], () => formOf(resource)).value;
  const rows = Object.entries(rowIn(fields))
    .map(([wire, values]) => {
      const { before, after } = rowIn(values);
      const title = form?.fields.find((field) => field.wire === wire)?.title ?? wire;
      return { wire, title, before: shown(before, null), after: shown(after, null), values: [before, after] };
    })
    .filter(({ before, after }) => before !== '–' || after !== '–');
  const named = rows.find(({ wire }) => wire === form?.name_field)?.values;
  const name = [named?.[1], named?.[0]].map(textIn).find((one) => one !== '') ?? String(id);
  const title =
    form === undefined ? `${resource} ${id}` : `${capital(form.title)} ${form.kind === 'settings' ? '' : name}`;
  return (
    <section class="card">
      <div class="head">
        <h2>
          <a href={link(entryOf(resource), 'record', { of: resource, key: String(id) })}>{title}</a>{' '}
          <small>{what}</small>
        </h2>
      </div>
      <Rows
        label={title}
        rows={rows}
        keyOf={({ wire }) => wire}
        columns={[
          { title: t.field, cell: (row: Side) => row.title },
          ...(what === 'created' ? [] : [{ title: t.before, isLong: true, cell: (row: Side) => row.before }]),
          ...(what === 'removed' ? [] : [{ title: t.after, isLong: true, cell: (row: Side) => row.after }]),
        ]}
      />
    </section>
  );
}

interface Side {
  readonly wire: string;
  readonly title: string;
  readonly before: string;
  readonly after: string;
}

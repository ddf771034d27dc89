import { entries, entryOf, formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { now } from '../base/contact.ts';
import { capital, until, when } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link, type Place } from '../base/route.ts';
import { Card, Waiting } from '../parts/common.tsx';
import { Named } from '../parts/named.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RecordTable } from '../parts/record-table.tsx';
import { Resources } from '../parts/resources.tsx';
import { Rows } from '../parts/rows.tsx';
import { taskNames } from '../parts/task-names.ts';
import { plural } from '../texts/base/format.ts';
import * as t from '../texts/pages/area.ts';

/** The page made by hand that most people look for in an area. */
const makers: Readonly<Record<string, readonly [page: string, title: string]>> = {
  block: ['new-target', t.aDiskForAClient],
  protection: ['new-replication', t.replicateToAnotherMachine],
  accounts: ['join', t.joinADomain],
  system: ['new-certificate', t.newCertificate],
};

/** Everything that belongs to an entry of the menu: its lists, its settings, and what it can do. */
export default function AreaPage({ place: { entry } }: { place: Place }) {
  const title = entries.find(({ name }) => name === entry)?.title ?? t.nothingIsHere;
  const made = makers[entry];
  return (
    <>
      <PageHead title={title}>
        {entry === 'system' && (
          <>
            <a class="btn" href={link('system', 'migrate')}>
              {t.moveFromAnOldAppliance}
            </a>
            <a class="btn" href={link('overview', 'first-hour')}>
              {t.theFirstHour}
            </a>
          </>
        )}
        {made !== undefined && (
          <a class="btn primary" href={link(entry, made[0])}>
            {made[1]}
          </a>
        )}
      </PageHead>
      {entry === 'protection' && <Schedules />}
      {main[entry] !== undefined && <Main {...main[entry]} />}
      <div class="more">
        <Resources entry={entry} />
      </div>
    </>
  );
}

/** The list that most people look for in an area. */
const main: Readonly<Record<string, MainProps>> = {
  block: { path: 'services/iscsi/target' },
  accounts: { path: 'account/users', only: 'bsdusr_builtin=false' },
  system: { path: 'services/services' },
};

interface MainProps {
  readonly path: string;
  readonly only?: string;
}

function Main({ path, only }: MainProps) {
  const form = useLive(`form ${path}`, [], () => formOf(path));
  if (form.value === undefined) return <Waiting refused={form.refused} what={t.whatThereIs} />;
  const { kind, commands, title } = form.value;
  const canCreate = kind === 'records' && commands.some(({ verb }) => verb === 'create');
  return (
    <Card
      title={capital(plural(title))}
      beside={canCreate && <a href={link(entryOf(path), 'record', { of: path, new: '1' })}>{t.newIt(title)}</a>}
    >
      <div class="brief">
        <RecordTable form={form.value} only={only} />
      </div>
    </Card>
  );
}

/** What runs next to protect the data. */
function Schedules() {
  const schedules = useLive('schedules', ['revisions'], () =>
    client.get('/api/holdfast/v1/schedules', { query: { limit: 100 } }),
  );
  const due = schedules.value?.filter(({ resource }) => entryOf(resource) === 'protection');
  return (
    <Card title={t.whatRunsNext}>
      {due === undefined ? (
        <Waiting refused={schedules.refused} what={t.theSchedules} />
      ) : due.length === 0 ? (
        <p class="soft">{t.nothingHasAScheduleYet}</p>
      ) : (
        <Rows
          label={t.whatRunsNext}
          rows={due}
          keyOf={({ resource, id }) => `${resource} ${id}`}
          columns={[
            {
              title: t.task,
              cell: ({ resource, id }) => (
                <a href={link('protection', 'record', { of: resource, key: String(id) })}>
                  {taskNames[resource] ?? resource} <Named path={resource} value={id} />
                </a>
              ),
            },
            { title: t.nextRun, cell: ({ next }) => (next === null ? '–' : when(next, now.value)) },
            { title: t.inIt, isSoft: true, cell: ({ next }) => (next === null ? '' : until(next, now.value)) },
            { title: t.schedule, isSoft: true, cell: ({ schedule }) => <code>{schedule}</code> },
          ]}
        />
      )}
    </Card>
  );
}

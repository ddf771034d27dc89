import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { formOf } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { bytes, count } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/pool-maker.ts';
import { asCommand } from './asking.ts';
import { Waiting } from './common.tsx';
import { Field } from './fields.tsx';
import { SelectField } from './labelled.tsx';
import { type DataKind, groupsOf, type Layout, type LayoutDisk, layoutsOf, proposed } from './layouts.ts';
import { RequestForm } from './request-form.tsx';
import { initialValues } from './values.ts';

interface FreeDisk extends LayoutDisk {
  readonly serial: string;
  readonly model: string;
}

const names: Readonly<Record<DataKind, string>> = {
  stripe: t.stripe,
  mirror: t.mirror,
  raidz: 'RAID-Z1',
  raidz2: 'RAID-Z2',
  raidz3: 'RAID-Z3',
};

const further = ['encryption', 'encryption_inirand', 'dedup'];

/** A new pool: which disks, how they stand in for each other, and what that leaves for data. */
export function PoolMaker({ done, beside }: { done(name: string): void; beside?: ComponentChildren }) {
  const form = useLive('form of volumes', [], () => formOf('storage/volume'));
  const disks = useLive('free disks', ['machine'], () => client.get('/api/holdfast/v1/disks'));
  const name = useSignal('tank');
  const left = useSignal<readonly string[]>([]);
  const chosen = useSignal<DataKind | undefined>(undefined);
  const spares = useSignal(0);
  const more = useSignal<Readonly<Record<string, unknown>>>({});
  if (form.value === undefined || disks.value === undefined)
    return <Waiting refused={form.refused ?? disks.refused} what={t.theDisks} />;
  const { fields } = form.value;
  const free: readonly FreeDisk[] = disks.value.filter(({ used_by: use }) => use == null);
  const taken = disks.value.filter(({ used_by: use }) => use != null);
  const used = free.filter((one) => !left.value.includes(one.name));
  const layouts = layoutsOf(used, spares.value);
  const kind = chosen.value ?? proposed(used.length - spares.value);
  const layout = layouts.find((one) => one.kind === kind) ?? layouts[0];
  const body = {
    volume_name: name.value,
    layout: layout === undefined ? [] : groupsOf(layout),
    ...more.value,
  };
  const nameField = fields.find(({ wire }) => wire === 'volume_name');
  const values = { ...initialValues(fields, undefined), ...more.value };
  return (
    <RequestForm
      asked={{ method: 'POST', address: '/api/v1.0/storage/volume/', body, etag: undefined }}
      shown={body}
      command={asCommand(form.value, 'create', '', body, fields)}
      known={['volume_name', ...further]}
      send={t.makeThePool(name.value)}
      report={t.createdPool(name.value)}
      isIncomplete={layout === undefined || name.value === ''}
      done={() => done(name.value)}
      beside={beside}
    >
      {(problems) => (
        <>
          {nameField !== undefined && (
            <Field
              field={{ ...nameField, title: t.nameOfThePool }}
              value={name.value}
              problems={problems['volume_name'] ?? []}
              isNew={true}
              set={(value) => (name.value = String(value ?? ''))}
            />
          )}
          <fieldset class="field plain">
            <legend>{t.disks}</legend>
            {free.length === 0 && <p class="err">{t.noDiskIsFreePutOne}</p>}
            <div class="bays">
              {free.map((disk) => (
                <label key={disk.name} class="bay pickable">
                  <span class="row">
                    <b>{disk.name}</b>
                    <input
                      type="checkbox"
                      checked={!left.value.includes(disk.name)}
                      onChange={({ currentTarget: { checked } }) => {
                        left.value = checked
                          ? left.value.filter((one) => one !== disk.name)
                          : [...left.value, disk.name];
                      }}
                    />
                  </span>
                  <span class="soft">{bytes(disk.size)}</span>
                  <span class="soft">{[disk.model, disk.serial].filter((one) => one !== '').join(' · ')}</span>
                </label>
              ))}
            </div>
            {taken.length > 0 && (
              <p class="help">{t.notFree(taken.map((one) => `${one.name} (${one.used_by ?? ''})`).join(', '))}</p>
            )}
          </fieldset>
          <SelectField
            id="spares"
            label={t.spares}
            value={String(spares.value)}
            set={(value) => (spares.value = Number(value))}
            help={t.aSpareTakesThePlaceOf}
          >
            {[0, 1, 2].map((one) => (
              <option key={one} value={String(one)}>
                {one === 0 ? t.none : count(one, t.disk)}
              </option>
            ))}
          </SelectField>
          <Layouts {...{ layouts }} chosen={layout?.kind} choose={(one) => (chosen.value = one)} />
          <details>
            <summary>{t.moreEncryptionDeduplication(further.length)}</summary>
            {fields
              .filter(({ wire }) => further.includes(wire))
              .map((field) => (
                <Field
                  key={field.wire}
                  {...{ field }}
                  value={values[field.wire]}
                  problems={problems[field.wire] ?? []}
                  isNew={true}
                  set={(value) => (more.value = { ...more.value, [field.wire]: value })}
                />
              ))}
            <p class="help">
              {t.aPoolWithALogOr(
                <a href={link('storage', 'record', { of: 'storage/volume', new: '1', by: 'hand' })}>
                  {t.formWithGroups}
                </a>,
              )}
            </p>
          </details>
        </>
      )}
    </RequestForm>
  );
}

interface LayoutsProps {
  readonly layouts: readonly Layout[];
  readonly chosen: DataKind | undefined;
  choose(kind: DataKind): void;
}

/** The layouts of the chosen disks side by side, drawn to the same scale. */
function Layouts({ layouts, chosen, choose }: LayoutsProps) {
  if (layouts.length === 0) return <p class="soft">{t.chooseAtLeastOneDiskThat}</p>;
  return (
    <fieldset class="field plain">
      <legend>{t.layout}</legend>
      <div class="picks">
        {layouts.map((layout) => (
          <label key={layout.kind} class="pick layout">
            <input type="radio" name="layout" checked={layout.kind === chosen} onChange={() => choose(layout.kind)} />
            <span>
              <b>{names[layout.kind]}</b>
              <span class={`soft ${layout.bearable === 0 ? 'bad' : ''}`}> {bearing(layout)}</span>
            </span>
            <span class="num">
              <b>{bytes(layout.usable)}</b> <span class="soft">{t.usable}</span>
            </span>
            <Drawn layout={layout} />
          </label>
        ))}
      </div>
      <div class="key">
        <span>
          <i class="d" />
          {t.data}
        </span>
        <span>
          <i class="h" />
          {t.copiesOrParityAndZFSsReserve}
        </span>
        <span>
          <i class="f" />
          {t.notUsableTheDiskIsLarger}
        </span>
      </div>
    </fieldset>
  );
}

/** How many disks may fail, as a sentence. */
function bearing({ kind, groups, bearable, atBest }: Layout): string {
  if (bearable === 0) return groups.flat().length === 1 ? t.theDiskMustNotFail : t.noDiskMayFail;
  const any = bearable === 1 ? t.anyOneDiskMayFail : t.anyDisksMayFail(bearable);
  if (groups.length === 1) return `${any}.`;
  return t.upToIfIn(
    any,
    atBest,
    bearable === 1 ? t.theyAre : t.noMoreThanAre(bearable),
    bearable === 1 ? 'different' : t.oneOfThe,
    kind === 'mirror' ? 'pairs' : 'groups',
  );
}

/** The groups with their disks, each as wide as it is large and filled by what its space is for. */
function Drawn({ layout: { kind, groups, spares, usable, unused, redundancy } }: { layout: Layout }) {
  const largest = Math.max(...groups.flat().map(({ size }) => size), ...spares.map(({ size }) => size));
  const share = usable / Math.max(1, usable + redundancy);
  const label = [
    groups.map((group) => group.map(({ name }) => name).join(' ')).join(' | '),
    ...(spares.length === 0 ? [] : [t.spareNames(spares.map(({ name }) => name).join(' '))]),
  ].join('; ');
  return (
    <span class="drawn">
      <span
        class="groups"
        role="img"
        aria-label={`${groups.length === 1 ? t.oneGroup : t.groups(groups.length)}: ${label}`}
      >
        {groups.map((group, index) => {
          const even = kind === 'stripe' ? undefined : Math.min(...group.map(({ size }) => size));
          return (
            <span key={index} class="set">
              {group.map((disk) => (
                <DrawnDisk key={disk.name} disk={disk} largest={largest} counts={even ?? disk.size} share={share} />
              ))}
            </span>
          );
        })}
        {spares.length > 0 && (
          <span class="set aside">
            {spares.map((disk) => (
              <DrawnDisk key={disk.name} disk={disk} largest={largest} counts={0} share={0} />
            ))}
          </span>
        )}
      </span>
      {spares.length > 0 && <span class="soft">{t.spare(spares.map(({ name }) => name).join(', '))}</span>}
      {unused > 0 && (
        <span class="soft warn">{t.theDisksDifferInSizeOf(bytes(unused), unused === 1 ? t.is : t.are)}</span>
      )}
    </span>
  );
}

/** `counts` is what its group uses of the disk, in bytes; `share` the part of that for data. */
function DrawnDisk({
  disk,
  largest,
  counts,
  share,
}: {
  disk: LayoutDisk;
  largest: number;
  counts: number;
  share: number;
}) {
  const part = (size: number) => `${(100 * size) / Math.max(1, disk.size)}%`;
  return (
    <i title={`${disk.name}: ${bytes(disk.size)}`} style={{ height: `${Math.max(8, (34 * disk.size) / largest)}px` }}>
      <i class="h" style={{ height: part(counts * (1 - share)) }} />
      <i class="d" style={{ height: part(counts * share) }} />
    </i>
  );
}

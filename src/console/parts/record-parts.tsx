/** What stands around a form: the problems of a record, and what else can be done with it. */
import { entryOf, type Form } from '../base/catalogue.ts';
import { client } from '../base/client.ts';
import { capital } from '../base/format.ts';
import { useLive } from '../base/live.ts';
import { link } from '../base/route.ts';
import * as t from '../texts/parts/record-parts.ts';
import { ProblemNote } from './problem-note.tsx';

interface RecordProblemsProps {
  readonly about: string;
  /** Parts of the machine that are made from the record. */
  readonly subsystems?: readonly string[];
}

/** What is wrong with a record, and with what is made from it. */
export function RecordProblems({ about, subsystems = [] }: RecordProblemsProps) {
  const { value = [] } = useLive(`problems of ${about} ${subsystems}`, ['problems'], async () => {
    const all = await client.get('/api/holdfast/v1/problems');
    return all.filter((one) => one.about === about || subsystems.some((name) => one.about === `subsystem/${name}`));
  });
  return (
    <>
      {value.map((one) => (
        <ProblemNote key={one.id} problem={one} />
      ))}
    </>
  );
}

/** Every command on a record but those that the form is. */
export function RecordCommands({ form, recordKey }: { form: Form; recordKey: string }) {
  const some = form.commands.filter(
    ({ verb, on_record: on, method }) => (on || form.kind === 'settings') && method !== 'GET' && verb !== 'set',
  );
  if (some.length === 0) return null;
  return (
    <section class="card commands">
      <h2>{t.whatElseCanBeDone}</h2>
      <ul>
        {some.map(({ verb, title, final }) => (
          <li key={verb}>
            <a
              class={final || verb === 'delete' ? 'bad' : ''}
              href={link(entryOf(form.path), 'command', { of: form.path, key: recordKey, verb })}
            >
              {capital(verb.replaceAll('-', ' '))}…
            </a>
            <span class="soft">{title}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

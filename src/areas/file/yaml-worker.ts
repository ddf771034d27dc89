import { parentPort } from 'node:worker_threads';
import { commentedYaml, mostSections, type Packed, packed, parsedYaml, yamlOf } from './text.ts';
import type { YamlTask } from './yaml.ts';

parentPort?.once('message', (task: YamlTask) => {
  parentPort?.postMessage(
    'texts' in task
      ? packedTexts(task.texts)
      : 'comments' in task
        ? commentedYaml(task.document, task.comments, task.head)
        : yamlOf(task.document),
  );
});

function packedTexts(texts: readonly string[]): readonly Packed[] {
  let left = mostSections;
  return texts.map((text) => {
    const one = packed(parsedYaml(text), left);
    left -= one.sections.length;
    return one;
  });
}

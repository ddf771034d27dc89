/**
 * What happens when the output cannot be written. A reader that ends first, such as `head`, is no fault: `ended` is called
 * without a message. Anything else, such as a full disk, is one.
 */
export function onBrokenOutput(ended: () => void): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.exitCode = 1;
      process.stderr.write(`holdfast: The output could not be written: ${error.message}\n`);
    }
    ended();
  });
  // There is nowhere to report that messages cannot be written.
  process.stderr.on('error', () => {});
}

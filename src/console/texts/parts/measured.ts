export const lastHour = 'Last hour';
export const lastDay = 'Last day';
export const lastWeek = 'Last week';
export const lastMonth = 'Last month';
export const lastYear = 'Last year';
export const lastFiveYears = 'Last five years';
export const measured = 'Measured';
export const time = 'Time';
export const whatWasMeasured = 'what was measured';
export const nothingWasMeasuredYetTheFirst = 'Nothing was measured yet. The first values are there after a minute.';
export const throughput = 'Throughput';
export const latency = 'Latency';
export const warmestDisk = 'Warmest disk';
export const spaceOf = (pool: string | number) => `Space of ${pool}`;
export const itIsNotForecastYetWhen = 'It is not forecast yet when the pool is full: five days have to be known.';
export const atThePaceOfTheLast = (days: string | number, perDay: string | number) =>
  `At the pace of the last ${days} (${perDay} a day)`;
export const day = 'day';
export const thePoolDoesNotBecomeFull = (pace: string | number) => `${pace}, the pool does not become full.`;
export const thePoolIsFullOn = (pace: string | number, format: string | number) =>
  `${pace}, the pool is full on ${format}.`;
export const ms = (part: string | number) => `${part} ms`;

/** A chart over time (uPlot) in the colours of the page, in the zone that was chosen; dragging chooses a range. The same as a table for those who cannot see it. */
import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme, VisuallyHidden } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { barWidthPx } from './bar-width.ts';
import classes from './chart.module.css';
import { useZone } from './preferences.tsx';
import { absolute, clockTime, dayName } from './time.ts';

export interface Series {
  readonly label: string;
  readonly colour: string;
  readonly values: readonly (number | null)[];
  /** Bars stand on those before them. */
  readonly kind: 'bars' | 'line';
  readonly dash?: readonly number[];
}

interface ChartProps {
  readonly label: string;
  /** Seconds since 1970, in order. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly from: number;
  readonly to: number;
  readonly bucketSeconds: number;
  readonly format: (value: number) => string;
  /** A line across, such as what was promised. */
  readonly mark?: { readonly value: number; readonly label: string };
  readonly onRange?: ((from: number, to: number) => void) | undefined;
  readonly height?: number;
}

export function Chart(props: ChartProps) {
  const { label, times, series, height = 180 } = props;
  const frame = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  const zone = useZone();
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const chart = new uPlot(
      optionsOf(props, { width: element.clientWidth, height, zone, dark: scheme === 'dark' }),
      dataOf(times, series),
      element,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [props, scheme, zone, times, series, height]);
  return (
    <figure className={classes.figure}>
      <div ref={frame} className={classes.chart} aria-hidden="true" />
      <VisuallyHidden>
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th>Time</th>
              {series.map((each) => (
                <th key={each.label}>{each.label}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.slice(-READ_MAX).map((at, index) => (
              <tr key={at}>
                <th>{absolute(new Date(at * 1_000), zone)}</th>
                {series.map((each) => (
                  <td key={each.label}>{each.values.slice(-READ_MAX)[index] ?? '–'}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </figure>
  );
}

/** Rows of the table: more are read aloud by nobody. */
const READ_MAX = 60;

/** uPlot knows no stacks: each series of bars is drawn with those below it added, the highest first. */
function dataOf(times: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  const sums = times.map(() => 0);
  const drawn = series.map(({ kind, values }) =>
    kind === 'line'
      ? [...values]
      : values.map((value, index) => {
          sums[index] = (sums[index] ?? 0) + (value ?? 0);
          return sums[index]!;
        }),
  );
  return [[...times], ...drawn] as uPlot.AlignedData;
}

function optionsOf(
  { series, from, to, bucketSeconds, format, mark, onRange }: ChartProps,
  { width, height, zone, dark }: { width: number; height: number; zone: string; dark: boolean },
): uPlot.Options {
  const line = dark ? '#2c323a' : '#e3e7ec';
  const words = dark ? '#a3adb8' : '#5b6470';
  const axis = {
    stroke: words,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
    font: '11px "Inter Variable", sans-serif',
  };
  // By itself uPlot takes the least distance of two points for the width of a bar, and a single point for the whole of the chart.
  const bars: uPlot.Series.PathBuilder = (chart, ...rest) =>
    uPlot.paths.bars!({
      size: [
        0.9,
        barWidthPx({
          bucketSeconds,
          spanSeconds: to + bucketSeconds - from,
          widthPx: chart.over.clientWidth,
        }),
      ],
      align: 1,
    })(chart, ...rest);
  return {
    width,
    height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), zone),
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
    legend: { show: true, live: true },
    scales: {
      x: { time: true, range: [from, to + bucketSeconds] },
      y: {
        range: (_chart, _low, high) => [0, Math.max(high * 1.1, mark === undefined ? 1 : mark.value * 1.15)],
      },
    },
    axes: [
      { ...axis, values: (_chart, seconds) => seconds.map((at) => timeWords(at, zone, to - from)) },
      { ...axis, size: 78, values: (_chart, values) => values.map(format) },
    ],
    series: [
      {
        label: 'Time',
        value: (_chart, seconds) =>
          seconds === null
            ? ''
            : new Intl.DateTimeFormat('en-GB', {
                timeZone: zone,
                dateStyle: 'medium',
                timeStyle: 'short',
              }).format(seconds * 1_000),
      },
      ...series.map(
        ({ label, colour, kind, dash, values }): uPlot.Series => ({
          label,
          stroke: colour,
          width: kind === 'line' ? 1.5 : 0,
          ...(kind === 'bars' && { fill: colour, paths: bars }),
          ...(dash && { dash: [...dash] }),
          points: { show: kind === 'line' && values.length < 3 },
          spanGaps: true,
          value: (_chart, _drawn, _series, index) => (index === null ? '' : formatted(values[index], format)),
        }),
      ),
    ],
    bands: bandsOf(series),
    hooks: {
      // Without an instant under the pointer there are names alone.
      setLegend: [(chart) => chart.root.toggleAttribute('data-hovered', chart.legend.idx !== null)],
      draw: [
        (chart) => {
          if (!mark) return;
          const y = chart.valToPos(mark.value, 'y', true);
          const { ctx, bbox } = chart;
          ctx.save();
          ctx.strokeStyle = dark ? '#ff8a4c' : '#d55e00';
          ctx.setLineDash([4, 4]);
          ctx.beginPath();
          ctx.moveTo(bbox.left, y);
          ctx.lineTo(bbox.left + bbox.width, y);
          ctx.stroke();
          ctx.restore();
        },
      ],
      setSelect: [
        (chart) => {
          const { left, width: chosen } = chart.select;
          if (chosen < 4 || !onRange) return;
          onRange(chart.posToVal(left, 'x'), chart.posToVal(left + chosen, 'x'));
        },
      ],
    },
  };
}

const DAY_SECONDS = 86_400;

function timeWords(seconds: number, zone: string, span: number): string {
  const at = new Date(seconds * 1_000);
  const time = clockTime(at, zone, { seconds: false });
  return span > DAY_SECONDS && time === '00:00' ? dayName(at, zone) : time;
}

function formatted(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

/** Fills each bar only down to the one below it. */
function bandsOf(series: readonly Series[]): uPlot.Band[] {
  const bars = series
    .map(({ kind }, index) => (kind === 'bars' ? index + 1 : 0))
    .filter((index) => index > 0);
  return bars.slice(1).map((index, each) => ({ series: [index, bars[each]!] }));
}

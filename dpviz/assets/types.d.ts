// Types of the data and events that scripts share. A script names those that it uses:
//
//   /** @import { Layer, Scene } from "./types.d.ts" */

/** Bytes of `dpviz.plots.scene.pack`. */
export type Packed = Uint8Array<ArrayBuffer>;

export type Numbers =
  | Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer> | Int8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer> | Int16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Int32Array<ArrayBuffer>;

export interface NumberArray {
  data: Numbers;
  /** Rows first, then marks. */
  shape: number[];
}

export type Pair = [number, number];
export type Point = readonly number[];
/** Component c of mark i. */
export type Reader = (i: number, c?: number) => number;

// ---- A picture, as dpviz/plots/scene.py packs it ----

export type Kind = "points" | "marks" | "circles" | "arrows" | "segments" | "trails" | "heat" | "lines" | "bars" | "bands"
  | "grid" | "cursor" | "ensemble";
export type Role = "exact" | "released" | "noise" | "public" | "violation" | "cluster" | "reference";
export type Audience = "curator" | "released" | "public" | "noise";

export interface Layer {
  name: string;
  kind: Kind;
  role: Role;
  audience: Audience;
  arrays: Record<string, NumberArray>;
  /** The row that each frame shows; -1: none. */
  rows: number[];
  symbol: string;
  size: number;
  dash: boolean;
  fill: number;
  names: string[];
  legend: boolean;
  shown: boolean;
  isolate: boolean;
  hue: number;
  pick: string;
  total: number;
  glides?: "" | "index" | "place";
  ids?: (number | string)[];
  hub?: string;
  label?: string;
  /** The page's own arrays, while a drawing stands in their place. */
  given?: Record<string, NumberArray>;
}

export interface Axis {
  label: string;
  unit: string;
  view: Pair;
  values: Pair;
  ticks: boolean;
  log: boolean;
  whole: boolean;
  names: string[];
  ends: Pair | null;
}

export interface Scene {
  title: string;
  alt: string;
  caption: string;
  hash: string;
  x: Axis;
  y: Axis;
  layers: Layer[];
  /** Label and detail of each step. */
  frames: [string, string][];
  start_frame: number;
  equal: boolean;
  scrubber: boolean;
  group_names: string[];
  pace: number;
  eased?: boolean;
  solid: Pair | null;
  place?: Pair;
  stage?: StageWords;
}

export interface Measure {
  value: number;
  text: string;
  /** [times this ε, low, middle, high], ascending; none: one run's. */
  law: [number, number, number, number][];
}

export interface Strip {
  label: string;
  unit: string;
  short: string;
  low: number;
  high: number;
  lines: [number, string][];
  log: boolean;
}

/** The words beside a picture on the stage. */
export interface StageWords {
  finding: string;
  lede: string;
  verdict: "proved" | "claimed" | "broken";
  guarantee: string;
  risk: Measure | null;
  risk_label: string;
  strip: Strip | null;
  loss: Measure | null;
}

// ---- The live picture ----

/** Room around the box on a stage, CSS pixels. */
export interface Margins {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Box extends Size {
  left: number;
  top: number;
}

/** A drawing that the page keeps: see dpviz/ui/data/drawing.py. */
export interface Drawing {
  id: string;
  number: number;
  classes: string | number[];
  undo: boolean;
  most: number;
}

/** Options of a picture; the top of picture.js describes them. */
export interface Options {
  key?: string;
  height?: number;
  fits?: boolean;
  scroller?: Element | null;
  surround?: Element | null;
  stage?: boolean;
  size?: Size | null;
  phone?: boolean;
  named?: boolean;
  whole?: boolean;
  plain?: boolean;
  coarse?: boolean;
  frame?: number | null;
  follow?: string;
  selected?: number | null;
  picks?: number;
  select?: { region: Pair[] | null; number: number };
  inspected?: { number: number; lines: string[] };
  drawing?: Drawing | null;
  arrive?: boolean;
}

/** Details of the events of the picture, the stage and the slider, by name. */
export interface DpvizEvents {
  "dpviz:drawn": CustomEvent<{ key?: string; stage: StageWords | null }>;
  "dpviz:frame": CustomEvent<{
    key?: string; frame: number; frames: number; label: string; detail: string; ease: boolean; stage: StageWords | null;
  }>;
  "dpviz:playing": CustomEvent<{ key?: string; playing: boolean }>;
  "dpviz:step": CustomEvent<number>;
  "dpviz:selected": CustomEvent<number | null>;
  "dpviz:picked": CustomEvent<[string, number, number | null]>;
  "dpviz:region": CustomEvent<[number, Pair[]] | null>;
  "dpviz:sketched": CustomEvent<[string, number, number[], boolean]>;
  "dpviz:turned": CustomEvent<[number, number, number]>;
  "dpviz:audience": CustomEvent<string>;
  "dpviz:count": CustomEvent<number>;
  "dpviz:finding": CustomEvent<{ text: string; who: string }>;
}

declare global {
  /** Style sheets by name, in a script for a page without a server: see dpviz/assets/__init__.py. */
  const SHEETS: Record<string, string>;
  interface HTMLElementEventMap extends DpvizEvents {}
  interface DocumentEventMap extends DpvizEvents {}
  interface ShadowRootEventMap extends DpvizEvents {}
}

// ---- A component of Streamlit ----

/** What Streamlit gives a component with every update. */
export interface Given<Data = unknown> {
  data: Data;
  key: string;
  name: string;
  parentElement: HTMLElement | ShadowRoot;
  setStateValue(name: string, value: unknown): void;
  setTriggerValue(name: string, value: unknown): void;
}
